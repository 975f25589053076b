#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shardkit::dataset {

/// Throws Error{usage} if `target` is one of the `sources`, inside one or around one: the next run would read what this
/// one writes. Only folders count, also those named by their manifest; both may be addresses. `role` is what the
/// message calls a source, such as "input".
void require_apart(const std::string& target, const std::vector<std::string>& sources, std::string_view role);

}  // namespace shardkit::dataset
