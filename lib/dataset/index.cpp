#include "dataset/index.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "catalog/shard_set.hpp"
#include "core/error.hpp"
#include "dataset/shard_indexer.hpp"
#include "dataset/shard_verifier.hpp"
#include "io/publish.hpp"
#include "sync/task_group.hpp"
#include "system/limits.hpp"

namespace shardkit {
namespace {

void refuse_converted_set(const ShardSet& set) {
  const auto refuse = [](const std::string& path) {
    throw Error(ErrorCode::conflict,
                fmt::format("'{}' was written by shardctl convert and also knows original paths and classes; there is "
                            "nothing to index. Remove it if the shards are no longer those that convert wrote",
                            path),
                path);
  };
  if (set.manifest && !set.manifest->plan_hash.empty()) refuse(set.manifest_path);
  for (const ExpectedShard& expected : find_expectations(set)) {
    if (expected.index && !expected.index->plan.empty()) refuse(expected.index_path);
  }
}

/// A manifest of a part of the folder would make strangers of the other shards.
void refuse_subset(const ShardSet& set) {
  if (!set.manifest) return;
  std::set<std::string_view> named;
  for (const ShardFile& shard : set.shards) named.insert(shard.name);
  for (const ManifestShard& listed : set.manifest->shards) {
    if (named.contains(listed.name)) continue;
    throw Error(ErrorCode::conflict,
                fmt::format("'{}' also lists '{}', which is not named here; index the whole folder '{}'",
                            set.manifest_path, listed.name, set.folder),
                set.manifest_path);
  }
}

ManifestShard index_one(FileSystem& files, const ShardSet& set, const ShardFile& shard, Context& ctx) {
  AtomicFile file(files, join_path(set.folder, shard_index_path(shard.name)));
  const ShardSummary summary = index_shard(shard.path, shard.name, file, ctx);
  file.commit();
  return {shard.name, summary.samples, summary.bytes, summary.xxh3_128};
}

std::vector<ManifestShard> index_all(FileSystem& files, const ShardSet& set, unsigned threads, Context& ctx) {
  std::vector<ManifestShard> entries(set.shards.size());
  std::atomic<std::size_t> next{0};
  TaskGroup group(ctx.stop_token());
  for (std::size_t i = 0; i < std::min<std::size_t>(threads, entries.size()); ++i) {
    group.spawn([&](const std::stop_token& stop) {
      for (std::size_t shard = next++; shard < entries.size() && !stop.stop_requested(); shard = next++) {
        entries[shard] = index_one(files, set, set.shards[shard], ctx);
        ctx.progress().items.fetch_add(1, std::memory_order_relaxed);
      }
    });
  }
  group.wait();
  ctx.throw_if_stopped();
  return entries;
}

}  // namespace

IndexResult index(const IndexOptions& options, Context& ctx) {
  const auto start = std::chrono::steady_clock::now();
  const ShardSet set = resolve_shards(options.shards);
  if (set.folder.empty()) {
    throw Error(ErrorCode::usage, "the shards lie in several folders; index each folder by itself");
  }
  refuse_converted_set(set);
  refuse_subset(set);

  IndexResult result;
  for (const ShardFile& shard : set.shards) result.bytes += shard.bytes;
  ctx.progress().start("index", set.shards.size(), result.bytes);
  const auto files = posix_file_system();
  const std::string state = join_path(set.folder, kStateFolder);
  files->create_directories(state);
  remove_stale_temps(*files, state);

  Manifest manifest;
  manifest.shards = index_all(*files, set, thread_count(options.threads), ctx);
  for (const ManifestShard& shard : manifest.shards) {
    manifest.samples += shard.samples;
    manifest.bytes += shard.bytes;
  }
  result.manifest = join_path(set.folder, kManifestName);
  publish(*files, result.manifest, as_bytes(write_manifest(manifest)));

  result.shards = manifest.shards.size();
  result.samples = manifest.samples;
  result.bytes = manifest.bytes;
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  result.bytes_per_second = static_cast<double>(result.bytes) / elapsed.count();
  return result;
}

void IndexOptions::describe(FieldVisitor& v) {
  v.field({"SHARDS", Unit::none, "folders, tars, brace patterns, list files or wids indexes", Role::positional},
          shards);
  v.field({"threads", Unit::count, "shards read at a time; default: the CPUs this process may use", Role::option, "N"},
          threads);
}

void IndexResult::describe(FieldVisitor& v) {
  v.field({"shards", Unit::count, "shards indexed"}, shards);
  v.field({"samples", Unit::count, "samples found in them"}, samples);
  v.field({"bytes", Unit::bytes, "size of the shards"}, bytes);
  v.field({"bytes_per_second", Unit::bytes_per_second, "size of the shards over wall time"}, bytes_per_second);
  v.field({"manifest", Unit::none, "the manifest that was written"}, manifest);
}

}  // namespace shardkit
