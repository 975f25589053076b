#include "dataset/index.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
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

/// Collects an index's lines into writes of a useful size.
class BufferedSink final : public ByteSink {
 public:
  explicit BufferedSink(ByteSink& sink) : sink_(sink) {}
  void write(Bytes bytes) override {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    if (buffer_.size() >= kFull) flush();
  }
  void flush() {
    sink_.write(buffer_);
    buffer_.clear();
  }

 private:
  static constexpr std::size_t kFull = 256U * 1024U;
  ByteSink& sink_;
  std::vector<std::byte> buffer_;
};

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

ManifestShard index_one(FileSystem& files, const ShardSet& set, const ShardFile& shard, Context& ctx) {
  AtomicFile file(files, join_path(set.folder, shard_index_path(shard.name)));
  BufferedSink sink(file);
  const ShardSummary summary = index_shard(shard.path, shard.name, sink, ctx);
  sink.flush();
  file.commit();
  return {shard.name, summary.samples, summary.bytes, summary.xxh3_128};
}

std::vector<ManifestShard> index_all(FileSystem& files, const ShardSet& set, std::uint64_t threads, Context& ctx) {
  std::vector<ManifestShard> entries(set.shards.size());
  std::atomic<std::size_t> next{0};
  TaskGroup group(ctx.stop_token());
  for (std::uint64_t i = 0; i < std::clamp<std::uint64_t>(threads, 1, entries.size()); ++i) {
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

  IndexResult result;
  for (const ShardFile& shard : set.shards) result.bytes += shard.bytes;
  ctx.progress().start("index", set.shards.size(), result.bytes);
  const auto files = posix_file_system();
  const std::string state = join_path(set.folder, kStateFolder);
  files->create_directories(state);
  remove_stale_temps(*files, state);

  Manifest manifest;
  manifest.shards = index_all(*files, set, options.threads.value_or(usable_threads()), ctx);
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
