#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace shardkit::formats {

inline constexpr std::size_t kMostExpansions = 1'000'000;

/// Expands braces like bash and Python's braceexpand: "x-{000..146}.tar" (zero-padded if an end of the range is),
/// "{train,val}-{0..9}.tar", nested groups, but no steps. Braces with neither ".." nor a comma inside are literal. Text
/// without braces is returned unchanged. Throws Error{usage} for an unmatched brace and for more than `limit` names.
std::vector<std::string> expand_braces(std::string_view pattern, std::size_t limit = kMostExpansions);

/// The inverse: adjacent names in which one number of equal width counts up by one become one pattern, "x-000.tar",
/// "x-001.tar" to "x-{000..001}.tar". The order stays.
std::vector<std::string> collapse_names(const std::vector<std::string>& names);

}  // namespace shardkit::formats
