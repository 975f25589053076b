#pragma once

#include <string_view>

namespace shardkit::report {

/// The style sheet of every page.
extern const std::string_view kStyle;

}  // namespace shardkit::report
