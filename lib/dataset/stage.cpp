#include "dataset/stage.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <sys/statvfs.h>

#include "core/error.hpp"
#include "dataset/stage_copier.hpp"
#include "io/publish.hpp"
#include "sync/task_group.hpp"
#include "system/limits.hpp"

namespace shardkit {
namespace {

/// While one copy waits for the disk others go on.
constexpr std::uint64_t kLeastConcurrency = 4;

std::uint64_t free_bytes(const std::string& folder) {
  struct statvfs info {};
  if (::statvfs(folder.c_str(), &info) != 0) throw system_error(errno, "look at the free space of", folder);
  return static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
}

void check_limit(std::uint64_t need, const StageOptions& options) {
  if (!options.limit || need <= *options.limit) return;
  throw Error(ErrorCode::no_space,
              fmt::format("{} are needed, and --limit allows {}; raise it or stage a smaller set", format_size(need),
                          format_size(*options.limit)),
              options.target);
}

/// Throws Error{no_space} when what is still to come exceeds the disk.
void check_free_space(const StageTarget& target, const std::vector<StageFile>& wanted, std::uint64_t need) {
  for (const StageFile& file : wanted) need -= std::min(file.object.size, target.bytes_present(file));
  const std::uint64_t free = free_bytes(target.folder());
  if (need <= free) return;
  throw Error(ErrorCode::no_space,
              fmt::format("{} more are needed, and the file system of '{}' has {} left", format_size(need),
                          target.folder(), format_size(free)),
              target.folder());
}

void copy_all(StageCopier& copier, const std::vector<StageFile>& wanted, std::uint64_t concurrency, Context& ctx) {
  std::atomic<std::size_t> next{0};
  TaskGroup group(ctx.stop_token());
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(concurrency, wanted.size()); ++i) {
    group.spawn([&](const std::stop_token& stop) {
      for (std::size_t at = next++; at < wanted.size(); at = next++) {
        copier.bring(wanted[at], stop);
        ++ctx.progress().items;
      }
    });
  }
  group.wait();
  ctx.throw_if_stopped();
}

/// A loader that opens *.tar would read these as well.
void warn_of_strangers(const StageTarget& target, const std::vector<StageFile>& wanted, Context& ctx) {
  std::set<std::string> names;
  for (const StageFile& file : wanted) names.insert(file.object.name);
  for (const auto& entry : std::filesystem::directory_iterator(target.folder())) {
    const std::string name = entry.path().filename();
    if (!name.ends_with(".tar") || name.starts_with('.') || names.contains(name)) continue;
    ctx.warn("extra_shard", fmt::format("'{}' is no part of the set, but readers of *.tar will take it for one",
                                        entry.path().string()));
  }
}

StageResult result_of(const StagedMarker& marker) {
  StageResult result;
  result.files = marker.files;
  result.bytes = marker.bytes;
  result.bytes_reused = marker.bytes;
  result.verified = marker.verified;
  result.manifest_xxh3_128 = to_hex(marker.manifest);
  return result;
}

StagedMarker marker_of(const ObjectSource& source, const StageSet& set, const std::vector<StageFile>& wanted) {
  StagedMarker marker{source.location(), set.has_manifest() ? "checksum" : "size", set.hash(), wanted.size(), 0};
  for (const StageFile& file : wanted) marker.bytes += file.object.size;
  if (set.has_manifest()) {
    ++marker.files;
    marker.bytes += set.manifest_text().size();
  }
  return marker;
}

void check_options(const StageOptions& options) {
  if (options.concurrency && *options.concurrency == 0) {
    throw Error(ErrorCode::usage, "--concurrency 0 copies nothing; give 1 or more");
  }
}

/// A copy into the source or below it would stage itself.
void check_apart(const std::string& source, const std::string& target) {
  const std::string place = std::filesystem::weakly_canonical(target);
  if (place == source || place.starts_with(source + "/")) {
    throw Error(ErrorCode::usage, fmt::format("the target '{}' lies in the source; choose another folder", target),
                target);
  }
}

}  // namespace

void StageOptions::describe(FieldVisitor& v) {
  v.field({"SRC", Unit::none, "folder that holds the shards, their manifest and indexes", Role::positional}, source);
  v.field({"DST", Unit::none, "folder to copy them to, on a local disk", Role::positional}, target);
  v.field({"manifest", Unit::none,
           "hold the bytes against this manifest instead of SRC/manifest.json; none copies all files of SRC and checks "
           "their sizes only",
           Role::option, "FILE|none"},
          manifest);
  v.field({"limit", Unit::bytes, "fail before anything is copied when the set is larger"}, limit);
  v.field({"concurrency", Unit::count, "files copied at once; default: one per usable core, at least 4"}, concurrency);
}

void StageResult::describe(FieldVisitor& v) {
  v.field({"files", Unit::count, "files of the set: shards, indexes and manifest"}, files);
  v.field({"bytes", Unit::bytes, "bytes of these files"}, bytes);
  v.field({"bytes_fetched", Unit::bytes, "bytes read from the source"}, bytes_fetched);
  v.field({"bytes_reused", Unit::bytes, "bytes that were in the target already"}, bytes_reused);
  v.field({"bytes_per_second", Unit::bytes_per_second, "fetched bytes over the time from start to durable"},
          bytes_per_second);
  v.field({"retries", Unit::count, "files fetched a second time because their bytes were wrong"}, retries);
  v.field({"verified", Unit::none, "what the copy was held against: checksum (of the manifest) or size"}, verified);
  v.field({"manifest_xxh3_128", Unit::none, "XXH3-128 of the manifest, as the marker names it"}, manifest_xxh3_128);
}

StageResult stage(const StageOptions& options, Context& ctx) {
  const auto source = open_object_source(options.source);
  check_apart(source->location(), options.target);
  return stage_on(*posix_file_system(), *source, options, ctx);
}

StageResult stage_on(FileSystem& files, ObjectSource& source, const StageOptions& options, Context& ctx,
                     std::uint64_t part_bytes) {
  const auto start = std::chrono::steady_clock::now();
  check_options(options);
  const StageSet set(source, options.manifest);
  StageTarget target(files, options.target);
  const std::vector<ObjectInfo> foreign = set.foreign_indexes(source);
  if (const auto done = target.complete(set.hash(), foreign)) return result_of(*done);
  const std::vector<StageFile> wanted = set.files(source);
  const StagedMarker marker = marker_of(source, set, wanted);
  check_limit(marker.bytes, options);
  ctx.progress().start("wait for another stage into the same folder");
  target.lock(ctx.stop_token());
  if (const auto done = target.complete(set.hash(), foreign)) return result_of(*done);

  check_free_space(target, wanted, marker.bytes);
  target.adopt(set.hash(), wanted);
  ctx.progress().start("copy", wanted.size(), marker.bytes);
  StageCopier copier(files, source, target, ctx, part_bytes);
  const std::uint64_t concurrency =
      options.concurrency.value_or(std::max<std::uint64_t>(kLeastConcurrency, usable_threads()));
  copy_all(copier, wanted, concurrency, ctx);
  warn_of_strangers(target, wanted, ctx);
  target.finish(set.manifest_text(), marker, wanted);

  StageResult result = result_of(marker);
  result.bytes_fetched = copier.bytes_fetched() + set.manifest_text().size();
  result.bytes_reused = copier.bytes_reused();
  result.retries = copier.retries();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  result.bytes_per_second = static_cast<double>(result.bytes_fetched) / elapsed.count();
  return result;
}

}  // namespace shardkit
