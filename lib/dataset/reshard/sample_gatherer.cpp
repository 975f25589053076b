#include "dataset/reshard/sample_gatherer.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "catalog/shard_scan.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "dataset/reshard/hard_links.hpp"
#include "dataset/reshard/tar_samples.hpp"
#include "dataset/samples/shard_tasks.hpp"
#include "formats/portable_name.hpp"
#include "formats/shard_index.hpp"
#include "formats/ustar.hpp"
#include "io/file.hpp"

namespace shardkit {
namespace {

constexpr unsigned kFewestReaders = 8;         // on a slow source one waits most of the time
constexpr std::size_t kLongestExtension = 60;  // leaves a key room for a hash and a mark

/// Where in its tar the sample starts, for messages.
std::uint64_t first_offset(const MovedSample& sample) {
  std::uint64_t first = sample.members.front().offset;
  for (const MovedMember& member : sample.members) first = std::min(first, member.offset);
  return first;
}

}  // namespace

void SampleGatherer::run(unsigned threads) {
  std::uint64_t bytes = 0;
  for (const ReshardInput& input : inputs_.tars) bytes += input.tar_bytes();
  ctx_.progress().start("look for samples", inputs_.tars.size(), bytes);
  for_each_shard(inputs_.tars.size(), std::max(threads, kFewestReaders), ctx_, [this](std::size_t input, std::size_t) {
    if (!read_index(input)) read_headers(input);
    ++ctx_.progress().items;
  });
  table_.close();
  if (found_ > 0) return;
  throw Error(ErrorCode::not_found, fmt::format("there is no sample in {}; `shardctl ls` shows what there is",
                                                format_count(inputs_.tars.size(), "input")));
}

/// False when there is no index that can be used.
bool SampleGatherer::read_index(std::size_t input) {
  const ReshardInput& tar = inputs_.tars[input];
  const std::string path = join_path(parent_folder(tar.path), shard_index_path(tar.identity.name));
  if (tar.unpacked || !std::filesystem::exists(path)) return false;
  Gathered gathered(table_);
  ShardIndexVisitor visitor;
  visitor.sample = [&](IndexSample&& line) {
    MovedSample sample;
    sample.input = input;
    sample.source_key = std::move(line.key);
    sample.label = line.label;
    sample.path = std::move(line.path);
    for (IndexMember& member : line.members) {
      sample.members.push_back({std::move(member.extension), member.offset, member.size, member.xxh3});
    }
    keep(std::move(sample), gathered);
    if (gathered.found % 1024 == 0) ctx_.throw_if_stopped();
  };
  try {
    FileSource source(path);
    if (read_shard_summary(source, path).bytes != tar.tar_bytes()) return false;
    read_shard_index(source, path, visitor);
  } catch (const Error& error) {
    if (error.path() != path || (error.code() != ErrorCode::corrupt && error.code() != ErrorCode::unsupported)) throw;
    ctx_.warn("index_unusable", fmt::format("{}; the tar was read instead", error.what()));
    return false;
  }
  take(input, std::move(gathered));
  ctx_.progress().bytes.fetch_add(tar.tar_bytes(), std::memory_order_relaxed);
  return true;
}

void SampleGatherer::read_headers(std::size_t input) {
  const ReshardInput& tar = inputs_.tars[input];
  std::map<std::uint64_t, LinkedContent> links;
  while (true) {
    Gathered gathered(table_);
    TarSamples samples(tar.tar(), tar.path, links, [&](MovedSample&& sample) {
      sample.input = input;
      keep(std::move(sample), gathered);
    });
    scan_shard(tar.tar(), samples, ctx_);
    if (!samples.needs_links()) {
      samples.finish();
      gathered.ignored += samples.ignored();
      gathered.lacks_end = samples.lacks_end();
      return take(input, std::move(gathered));
    }
    links = resolve_hard_links(tar.tar(), tar.path, ctx_);
  }
}

void SampleGatherer::take(std::size_t input, Gathered&& gathered) {
  if (gathered.lacks_end) {
    ctx_.warn(
        "end_of_archive_missing",
        fmt::format("shard '{}' has no end-of-archive blocks: if it was cut off, the members after that are missing",
                    inputs_.tars[input].path));
  }
  found_ += gathered.found;
  ignored_ += gathered.ignored;
  table_.take(input, std::move(gathered.batch));
}

void SampleGatherer::keep(MovedSample&& sample, Gathered& gathered) const {
  gathered.ignored += std::erase_if(sample.members, [](const MovedMember& member) { return member.extension.empty(); });
  if (sample.members.empty()) return;
  if (is_stray_name(sample.source_key)) {
    gathered.ignored += sample.members.size();
    return;
  }
  ++gathered.found;
  if (!filter_.keeps(sample)) return;
  settle_members(sample);
  std::size_t longest = 0;
  for (const MovedMember& member : sample.members) longest = std::max(longest, member.extension.size());
  sample.key = portable_moved_key(sample.source_key, kTarNameLimit - 1 - longest);
  gathered.batch.add(sample);
}

/// Output extensions in output order, checked.
void SampleGatherer::settle_members(MovedSample& sample) const {
  const std::uint64_t offset = first_offset(sample);
  const auto fail = [&](ErrorCode code, const std::string& text) {
    const std::string& path = inputs_.tars[sample.input].path;
    throw Error(code, fmt::format("sample '{}' of shard '{}', at byte {}: {}", sample.source_key, path, offset, text),
                path, offset);
  };
  for (MovedMember& member : sample.members) {
    member.extension = extensions_(member.extension);
    if (member.extension.size() > kLongestExtension) {
      fail(ErrorCode::unsupported,
           fmt::format("the extension '{}' is longer than {} bytes; give it another with --rename", member.extension,
                       kLongestExtension));
    }
    if (member.size >= kTarSizeLimit) {
      fail(ErrorCode::unsupported,
           fmt::format("its member '{}' has {} bytes; members of portable shards stay below 8 GiB", member.extension,
                       member.size));
    }
  }
  std::ranges::sort(sample.members, {}, &MovedMember::extension);
  const auto twice = std::ranges::adjacent_find(sample.members, {}, &MovedMember::extension);
  if (twice != sample.members.end()) {
    fail(ErrorCode::corrupt, fmt::format("two members have the extension '{}', of which readers keep one or none; "
                                         "leave the sample out with --key, or give one another with --rename",
                                         twice->extension));
  }
}

}  // namespace shardkit
