#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace shardkit::formats {

inline constexpr std::size_t kMostExpansions = 1'000'000;

/// Expands braces as bash and Python's braceexpand do: "x-{000..146}.tar" (padded with zeros when an end of the range
/// is), "{train,val}-{0..9}.tar", one group inside another, but no steps. Braces with neither ".." nor a
/// comma inside stand for themselves. Text without braces gives itself.
/// Throws Error{usage} for a brace without its partner and for more than `limit` names.
std::vector<std::string> expand_braces(std::string_view pattern, std::size_t limit = kMostExpansions);

/// The other way round: neighbours in which one number of equal width counts up by one become one pattern,
/// "x-000.tar", "x-001.tar" to "x-{000..001}.tar". The order stays.
std::vector<std::string> collapse_names(const std::vector<std::string>& names);

}  // namespace shardkit::formats
