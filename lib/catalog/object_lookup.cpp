#include "catalog/object_lookup.hpp"

#include <algorithm>
#include <atomic>

#include "core/error.hpp"
#include "sync/task_group.hpp"

namespace shardkit {

std::vector<std::optional<ObjectInfo>> find_all(ObjectSource& source, const std::vector<std::string>& names,
                                                unsigned concurrency, const std::stop_token& stop) {
  std::vector<std::optional<ObjectInfo>> found(names.size());
  std::atomic<std::size_t> next = 0;
  TaskGroup group(stop);
  const auto look = [&](const std::stop_token& ending) {
    for (std::size_t at = next++; at < names.size() && !ending.stop_requested(); at = next++) {
      found[at] = source.find(names[at]);
    }
  };
  for (std::size_t i = 0; i < std::min<std::size_t>(concurrency, names.size()); ++i) group.spawn(look);
  group.wait();
  if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "stopped while looking for objects");
  return found;
}

}  // namespace shardkit
