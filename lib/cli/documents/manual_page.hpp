#pragma once

#include <vector>

#include "cli/documents/documents.hpp"

namespace shardkit::cli {

/// Manual pages in section 1: one for the program, "shardctl.1", one per group, "shardctl-cache.1", one per verb,
/// "shardctl-convert.1", "shardctl-cache-ls.1", and one per shared topic, "shardctl-stores.1".
std::vector<NamedText> manual_pages(const App& app);

}  // namespace shardkit::cli
