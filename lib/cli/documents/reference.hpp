#pragma once

#include <vector>

#include "cli/documents/documents.hpp"

namespace shardkit::cli {

/// docs/reference, in Markdown: README.md with what all verbs share, "stores.md" and so on for shared topics, and
/// "shardctl-convert.md" and so on with options and result fields of each verb.
std::vector<NamedText> reference_pages(const std::vector<App>& apps);

}  // namespace shardkit::cli
