#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/context.hpp"
#include "dataset/extract/member_place.hpp"
#include "dataset/samples/sample_lister.hpp"

/// What an extract would write, found out before it writes.
namespace shardkit {

struct ExtractNeed {
  std::uint64_t samples = 0;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;       ///< contents
  std::uint64_t disk_bytes = 0;  ///< in blocks of 4 KiB
  std::uint64_t unlabelled = 0;  ///< samples without label and without original path
  std::uint64_t unnamed = 0;     ///< samples whose class has a label but no name
  std::uint64_t left_out = 0;    ///< members that belong to no sample

  void add_file(std::uint64_t size);
  void add(const ExtractNeed& other);
};

/// Called for each file that the shard gives.
using ExtractFile = std::function<void(const ListedMember& member, const std::string& place)>;

/// Goes through one shard. Throws Error{corrupt}, with the member's name, for one that must not be written.
ExtractNeed survey_shard(const SampleLister& lister, const MemberPlaces& places, const ShardFile& shard,
                         const ExtractFile& file);

/// Throws Error{no_space} when the file system that `target` lies on, or will, has less room than `need`. `present`
/// says how much of it is there already; it is asked only when the room is short.
void check_room(const std::string& target, const ExtractNeed& need, const std::function<ExtractNeed()>& present);

}  // namespace shardkit
