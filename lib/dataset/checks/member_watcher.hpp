#pragma once

#include "core/bytes.hpp"
#include "formats/sample_name.hpp"
#include "formats/tar_parser.hpp"

namespace shardkit {

/// Looks at the content of a shard's members while the shard is read, once, from start to end. One shard, one thread.
class MemberWatcher {
 public:
  virtual ~MemberWatcher() = default;

  /// A regular member of a sample. True to be given its content.
  virtual bool begin(const TarEntry& entry, const SampleName& name) = 0;
  /// The next piece of the content asked for, never empty.
  virtual void piece(Bytes bytes) = 0;
  /// All of it was given. Does not come for a member that the end of the archive cuts.
  virtual void end() = 0;
};

}  // namespace shardkit
