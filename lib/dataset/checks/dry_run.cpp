#include "dataset/checks/dry_run.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/units.hpp"
#include "system/storage.hpp"

namespace shardkit::dataset {

void DryRun::describe(FieldVisitor& v) {
  v.field({"files", Unit::count, "files that would be written"}, files);
  v.field({"shards", Unit::count, "of these: shards"}, shards);
  v.field({"bytes", Unit::bytes, "of these files"}, bytes);
  v.field({"free", Unit::bytes, "room on the file system of the target"}, free_bytes);
}

DryRun with_room(DryRun need, const std::string& target) {
  need.free_bytes = system::free_bytes(target);
  if (need.bytes <= need.free_bytes) return need;
  throw Error(ErrorCode::no_space,
              fmt::format("{} would be written, and the file system of '{}' has {} left", format_size(need.bytes),
                          target, format_size(need.free_bytes)),
              target);
}

}  // namespace shardkit::dataset
