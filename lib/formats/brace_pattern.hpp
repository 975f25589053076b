#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace shardkit {

inline constexpr std::size_t kMostExpansions = 1'000'000;

/// Expands braces as bash and Python's braceexpand do: "x-{000..146}.tar" (padded with zeros when an end of the range
/// is), "{0..10..2}" with a step, "{train,val}-{0..9}.tar", one group inside another. Braces with neither ".." nor a
/// comma inside stand for themselves. Text without braces gives itself.
/// Throws Error{usage} for a brace without its partner and for more than `limit` names.
std::vector<std::string> expand_braces(std::string_view pattern, std::size_t limit = kMostExpansions);

}  // namespace shardkit
