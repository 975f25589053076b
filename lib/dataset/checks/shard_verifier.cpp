#include "dataset/checks/shard_verifier.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "catalog/shard_scan.hpp"
#include "core/error.hpp"
#include "io/publish.hpp"
#include "sync/task_group.hpp"

namespace shardkit::dataset {
namespace {

constexpr std::size_t kLookUps = 32;  // at a time

/// Runs `work`; an Error other than a stop becomes a problem.
template <class Work>
bool guarded(ProblemLog& log, ProblemCode code, Work work) {
  try {
    work();
    return true;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) throw;
    log.add(code, error.offset(), "", error.what());
    return false;
  }
}

std::string difference(std::uint64_t found, std::uint64_t expected, std::string_view unit) {
  return fmt::format("{} {}, expected {}", found, unit, expected);
}

void compare_with_manifest(const catalog::ShardFile& shard, const formats::ManifestShard& expected,
                           ShardReport& report) {
  if (shard.bytes != expected.bytes) {
    report.log.add(ProblemCode::shard_size, std::nullopt, "", difference(shard.bytes, expected.bytes, "bytes"));
  }
  if (report.samples != expected.samples) {
    report.log.add(ProblemCode::sample_count, std::nullopt, "",
                   difference(report.samples, expected.samples, "samples"));
  }
}

/// The index against the manifest, or against the shard itself where there is no manifest.
void compare_with_index(const catalog::ShardFile& shard, const ExpectedShard& expected, ShardReport& report) {
  const formats::ShardSummary& index = *expected.index;
  const auto note = [&](const std::string& detail) {
    report.log.add(ProblemCode::index_mismatch, std::nullopt, "", detail);
  };
  if (index.shard != shard.name) note(fmt::format("it is the index of '{}'", index.shard));
  if (expected.manifest != nullptr) {
    if (!(index.xxh3_128 == expected.manifest->xxh3_128)) note("it holds another checksum than the manifest");
  } else {
    if (index.bytes != shard.bytes) note(difference(shard.bytes, index.bytes, "bytes"));
    if (index.samples != report.samples) note(difference(report.samples, index.samples, "samples"));
  }
}

/// XXH3-64 of a member's content; empty when the file ends before it does.
std::optional<std::uint64_t> hash_member(ByteSource& shard, const formats::IndexMember& member) {
  Xxh3Stream64 hash;
  const std::uint64_t got = shard.stream(member.offset, member.size, [&](Bytes piece) { hash.update(piece); });
  return got < member.size ? std::nullopt : std::optional(hash.digest());
}

/// After the whole tar's hash was wrong: names the samples that changed.
void find_damaged_samples(catalog::Inputs& inputs, const catalog::ShardFile& shard, const std::string& index_path,
                          ShardReport& report, Context& ctx) {
  const auto file = inputs.open(shard.path);
  const auto index = inputs.open(index_path);
  std::uint64_t damaged = 0;
  formats::ShardIndexVisitor visitor;
  visitor.sample = [&](formats::IndexSample&& sample) {
    ctx.throw_if_stopped();
    for (const formats::IndexMember& member : sample.members) {
      if (hash_member(*file, member) == member.xxh3) continue;
      ++damaged;
      report.log.add(ProblemCode::sample_checksum, member.offset, sample.key, sample.key + "." + member.extension);
    }
  };
  formats::read_shard_index(*index, index_path, visitor);
  report.log.add(ProblemCode::checksum, std::nullopt, "",
                 damaged > 0 ? fmt::format("{} members differ by their own checksums", damaged)
                             : "all samples' contents are as written; the damage lies in headers or padding");
}

void check_hash(catalog::Inputs& inputs, const catalog::ShardFile& shard, const ExpectedShard& expected,
                const Hash128& found, ShardReport& report, Context& ctx) {
  const auto hash = expected_hash(expected);
  if (!hash || *hash == found) return;
  const bool index_fits = expected.index && expected.index->xxh3_128 == *hash;
  const bool named = index_fits && guarded(report.log, ProblemCode::index_damaged, [&] {
                       find_damaged_samples(inputs, shard, expected.index_path, report, ctx);
                     });
  if (!named) {
    report.log.add(ProblemCode::checksum, std::nullopt, "",
                   fmt::format("XXH3-128 {}, expected {}", to_hex(found), to_hex(*hash)));
  }
}

}  // namespace

std::vector<ExpectedShard> find_expectations(const catalog::ShardSet& set) {
  std::unordered_map<std::string_view, const formats::ManifestShard*> listed;
  if (set.manifest) {
    for (const formats::ManifestShard& shard : set.manifest->shards) listed.emplace(shard.name, &shard);
  }
  std::vector<ExpectedShard> result(set.shards.size());
  const auto look_up = [&](std::size_t at, std::size_t) {
    const catalog::ShardFile& shard = set.shards[at];
    ExpectedShard& expected = result[at];
    if (const auto entry = listed.find(shard.name); entry != listed.end()) expected.manifest = entry->second;
    const std::string path = io::join_path(io::parent_folder(shard.path), formats::shard_index_path(shard.name));
    if (!set.inputs->exists(path)) return;
    expected.index_path = path;
    try {
      expected.index = formats::read_shard_summary(*set.inputs->open(path), path);
    } catch (const Error& error) {  // verify_shard() reads it in full and says what is wrong with it
      if (error.code() == ErrorCode::cancelled) throw;
    }
  };
  sync::for_each_index(set.shards.size(), kLookUps, set.inputs->stop(), look_up);
  if (set.inputs->stop().stop_requested()) throw Error(ErrorCode::cancelled, "stopped while looking for indexes");
  return result;
}

std::optional<Hash128> expected_hash(const ExpectedShard& expected) {
  if (expected.manifest != nullptr) return expected.manifest->xxh3_128;
  if (expected.index) return expected.index->xxh3_128;
  return std::nullopt;
}

void verify_shard(catalog::Inputs& inputs, const catalog::ShardFile& shard, const ExpectedShard& expected,
                  bool read_all, const std::vector<std::uint64_t>& labels,
                  const std::vector<std::unique_ptr<MemberWatcher>>& contents, ShardReport& report, Context& ctx) {
  std::vector<MemberWatcher*> watching;
  for (const auto& content : contents) watching.push_back(content.get());
  ShardChecker checker(report, labels, std::move(watching));
  std::optional<Hash128> found;
  const bool readable = guarded(report.log, ProblemCode::unreadable, [&] {
    const auto source = inputs.open(shard.path);
    if (read_all) {
      found = catalog::read_shard(*source, checker, ctx).xxh3_128;
    } else {
      catalog::scan_shard(*source, checker, ctx);
    }
    checker.finish();
  });
  if (!readable) return;
  if (expected.manifest != nullptr) compare_with_manifest(shard, *expected.manifest, report);
  if (!expected.index_path.empty()) {
    const bool sound = guarded(report.log, ProblemCode::index_damaged, [&] {
      formats::read_shard_index(*inputs.open(expected.index_path), expected.index_path, {});
    });
    if (sound && expected.index) compare_with_index(shard, expected, report);
  }
  if (found) check_hash(inputs, shard, expected, *found, report, ctx);
}

}  // namespace shardkit::dataset
