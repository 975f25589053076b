#include "dataset/extract/extract_survey.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include <fmt/format.h>
#include <sys/statvfs.h>

#include "core/error.hpp"
#include "core/units.hpp"

namespace shardkit {
namespace {

constexpr std::uint64_t kDiskBlock = 4096;

[[noreturn]] void refuse(const ShardFile& shard, const std::string& name, std::uint64_t offset, std::string_view why) {
  throw Error(ErrorCode::corrupt,
              fmt::format("member '{}' of shard '{}' is not extracted: {}; nothing was written", name, shard.path, why),
              shard.path, offset);
}

/// Members that belong to no sample are not extracted; those that mean harm end it.
void check_other(const ShardFile& shard, const TarEntry& entry) {
  if (entry.type == TarType::hard_link || entry.type == TarType::symbolic_link) {
    refuse(shard, entry.name, entry.header_offset, "it is a link");
  }
  if (entry.type == TarType::directory) return;
  if (const auto path = contained_path(entry.name); !path) {
    refuse(shard, entry.name, entry.header_offset, path.error().what());
  }
}

std::filesystem::path nearest_existing(const std::string& path) {
  std::filesystem::path folder = std::filesystem::absolute(path).lexically_normal();
  std::error_code ignored;
  while (!std::filesystem::exists(folder, ignored) && folder.has_relative_path()) folder = folder.parent_path();
  return folder;
}

std::uint64_t left_after(std::uint64_t need, std::uint64_t present) { return need - std::min(need, present); }

}  // namespace

void ExtractNeed::add_file(std::uint64_t size) {
  ++files;
  bytes += size;
  disk_bytes += (size + kDiskBlock - 1) / kDiskBlock * kDiskBlock;
}

void ExtractNeed::add(const ExtractNeed& other) {
  samples += other.samples;
  files += other.files;
  bytes += other.bytes;
  disk_bytes += other.disk_bytes;
  unlabelled += other.unlabelled;
  unnamed += other.unnamed;
  left_out += other.left_out;
}

ExtractNeed survey_shard(const SampleLister& lister, const MemberPlaces& places, const ShardFile& shard,
                         const ExtractFile& file) {
  ExtractNeed need;
  ListingVisitor visitor;
  visitor.sample = [&](ListedSample&& sample) {
    ++need.samples;
    if (sample.path.empty()) {
      need.unlabelled += sample.label ? 0 : 1;
      need.unnamed += sample.label && !places.knows_class(*sample.label) ? 1 : 0;
    }
    for (const ListedMember& member : sample.members) {
      const Result<std::string> place = places.place(sample, member);
      if (!place) refuse(shard, member.name, member.offset, place.error().what());
      if (place->empty()) continue;
      need.add_file(member.size);
      file(member, *place);
    }
    return true;
  };
  visitor.other = [&](TarEntry&& entry) {
    check_other(shard, entry);
    need.left_out += entry.type == TarType::directory ? 0 : 1;
  };
  visitor.finding = [&](const TarFinding& finding) {
    throw Error(ErrorCode::corrupt,
                fmt::format("shard '{}' cannot be extracted whole, at byte {}: {}; `shardctl verify` tells all that is "
                            "wrong with it",
                            shard.path, finding.offset, finding.text),
                shard.path, finding.offset);
  };
  lister.list(shard, visitor);
  return need;
}

void check_room(const std::string& target, const ExtractNeed& need, const std::function<ExtractNeed()>& present) {
  const std::string folder = nearest_existing(target);
  struct statvfs info {};
  if (::statvfs(folder.c_str(), &info) != 0) throw system_error(errno, "look at the free space of", folder);
  const std::uint64_t free = static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
  const bool counts_files = info.f_files > 0;  // some file systems make inodes as they need them
  const auto fits = [&](std::uint64_t bytes, std::uint64_t files) {
    return bytes <= free && (!counts_files || files <= info.f_favail);
  };
  if (fits(need.disk_bytes, need.files)) return;
  const ExtractNeed there = present();
  const std::uint64_t bytes = left_after(need.disk_bytes, there.disk_bytes);
  const std::uint64_t files = left_after(need.files, there.files);
  if (fits(bytes, files)) return;
  throw Error(ErrorCode::no_space,
              fmt::format("{} in {} are still to be written, and the file system of '{}' has room for {} in {}",
                          format_size(bytes), format_count(files, "file"), folder, format_size(free),
                          counts_files ? format_count(info.f_favail, "file") : "any number of files"),
              target);
}

}  // namespace shardkit
