#include "dataset/verify.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "catalog/shard_set.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "dataset/key_table.hpp"
#include "dataset/shard_verifier.hpp"
#include "sync/task_group.hpp"
#include "system/limits.hpp"

namespace shardkit {
namespace {

/// Keys of which the repeated occurrences are looked up and named; those beyond are counted.
constexpr std::size_t kMostRepeatedKeys = VerifyResult::kMostProblems;

/// One verify from resolved shards to result.
class Verification {
 public:
  Verification(const VerifyOptions& options, Context& ctx)
      : options_(options),
        ctx_(ctx),
        threads_(thread_count(options.threads)),
        set_(resolve_shards(options.shards)),
        expected_(find_expectations(set_)),
        set_log_("") {
    result_.strict = options.strict;
    result_.depth = choose_depth();
    for (const ShardFile& shard : set_.shards) reports_.emplace_back(shard.name);
    if (set_.manifest) {
      for (const ManifestClass& item : set_.manifest->classes) labels_.push_back(item.label);
      std::sort(labels_.begin(), labels_.end());
    }
  }

  VerifyResult run() {
    const auto start = std::chrono::steady_clock::now();
    for (const ShardFile& shard : set_.shards) result_.bytes += shard.bytes;
    ctx_.progress().start("verify", set_.shards.size(), result_.bytes);
    verify_shards();
    check_repeated_keys();
    check_labels();
    compare_shard_lists();
    sum_up();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    result_.bytes_per_second = static_cast<double>(result_.bytes) / elapsed.count();
    return std::move(result_);
  }

 private:
  VerifyDepth choose_depth() const;
  void verify_shards();
  void add_to_set(ShardReport& report);
  void check_repeated_keys();
  void check_labels();
  void check_class_counts();
  void compare_shard_lists();
  void sum_up();
  void collect(ProblemLog& log);
  void describe_checks();

  const VerifyOptions& options_;
  Context& ctx_;
  const unsigned threads_;
  const ShardSet set_;
  const std::vector<ExpectedShard> expected_;
  std::vector<std::uint64_t> labels_;  ///< that the manifest knows
  std::vector<ShardReport> reports_;   ///< by shard
  ProblemLog set_log_;                 ///< what no single shard is to blame for
  KeyTable keys_;
  std::mutex labels_mutex_;
  std::map<std::uint64_t, std::uint64_t> samples_by_label_;
  VerifyResult result_;
};

VerifyDepth Verification::choose_depth() const {
  const auto has_hash = [](const ExpectedShard& expected) { return expected_hash(expected).has_value(); };
  const bool comparable = set_.manifest || std::all_of(expected_.begin(), expected_.end(), has_hash);
  if (options_.depth == VerifyDepth::auto_) return comparable ? VerifyDepth::checksum : VerifyDepth::structure;
  if (options_.depth == VerifyDepth::checksum && !comparable) {
    throw Error(ErrorCode::not_found,
                fmt::format("there are no checksums to compare with: neither a {} beside the shards nor an index for "
                            "each; `shardctl index SHARDS` makes them from the shards as they are now",
                            kManifestName),
                set_.folder.empty() ? set_.shards.front().path : set_.folder);
  }
  return options_.depth;
}

void Verification::verify_shards() {
  std::atomic<std::size_t> next{0};
  const auto work = [&](const std::stop_token& stop) {
    for (std::size_t i = next++; i < set_.shards.size() && !stop.stop_requested(); i = next++) {
      ShardReport& report = reports_[i];
      verify_shard(set_.shards[i], expected_[i], result_.depth == VerifyDepth::checksum, labels_, report, ctx_);
      add_to_set(report);
      ctx_.progress().items.fetch_add(1, std::memory_order_relaxed);
    }
  };
  TaskGroup group(ctx_.stop_token());
  for (std::size_t i = 0; i < std::min<std::size_t>(threads_, set_.shards.size()); ++i) group.spawn(work);
  group.wait();
  ctx_.throw_if_stopped();
}

/// What is needed across shards leaves the report, so that thousands of shards do not each keep theirs.
void Verification::add_to_set(ShardReport& report) {
  keys_.add(std::exchange(report.key_hashes, {}));
  const auto labels = std::exchange(report.samples_by_label, {});
  const std::scoped_lock lock(labels_mutex_);
  for (const auto& [label, samples] : labels) samples_by_label_[label] += samples;
}

void Verification::check_repeated_keys() {
  const KeyTable::Repeated repeated = keys_.repeated(kMostRepeatedKeys);
  if (repeated.total == 0) return;
  note_repeated_keys(set_, repeated.hashes, reports_, ctx_);
  if (const std::uint64_t more = repeated.total - repeated.hashes.size(); more > 0) {
    set_log_.add(ProblemCode::duplicate_key, std::nullopt, "",
                 fmt::format("{} not looked up", format_count(more, "more key")), more);
  }
}

void Verification::check_labels() {
  if (samples_by_label_.empty()) return;
  for (ShardReport& report : reports_) {
    if (report.unlabelled == 0) continue;
    report.log.add(ProblemCode::missing_label, report.first_unlabelled_offset, report.first_unlabelled, {},
                   report.unlabelled);
  }
  check_class_counts();
}

/// Only where all shards of the manifest were read: a subset holds fewer of each class.
void Verification::check_class_counts() {
  if (!set_.manifest) return;
  const auto listed = static_cast<std::size_t>(std::count_if(
      expected_.begin(), expected_.end(), [](const ExpectedShard& expected) { return expected.manifest != nullptr; }));
  if (listed != set_.manifest->shards.size()) return;
  std::map<std::uint64_t, std::uint64_t> expected;  // a class map may give several classes one label
  std::map<std::uint64_t, std::string> names;
  for (const ManifestClass& item : set_.manifest->classes) {
    expected[item.label] += item.samples;
    names[item.label] += fmt::format("{}'{}'", names[item.label].empty() ? "" : ", ", item.name);
  }
  for (const auto& [label, count] : expected) {
    const auto found = samples_by_label_.find(label);
    const std::uint64_t samples = found == samples_by_label_.end() ? 0 : found->second;
    if (samples == count) continue;
    set_log_.add(ProblemCode::class_count, std::nullopt, "",
                 fmt::format("class {} (label {}): {} samples, expected {}", names[label], label, samples, count));
  }
}

void Verification::compare_shard_lists() {
  if (!set_.manifest) return;
  std::set<std::string_view> there;
  for (std::size_t i = 0; i < set_.shards.size(); ++i) {
    there.insert(set_.shards[i].name);
    if (expected_[i].manifest == nullptr) reports_[i].log.add(ProblemCode::extra_shard, std::nullopt, "");
  }
  if (!set_.of_folder) return;  // shards named one by one are a subset on purpose
  for (const ManifestShard& shard : set_.manifest->shards) {
    if (there.count(shard.name) > 0) continue;
    ProblemLog log(shard.name);
    log.add(ProblemCode::missing_shard, std::nullopt, "");
    collect(log);
  }
}

void Verification::collect(ProblemLog& log) {
  result_.errors += log.errors();
  result_.warnings += log.warnings();
  for (Problem& problem : log.take()) {
    if (result_.problems.size() < VerifyResult::kMostProblems) result_.problems.push_back(std::move(problem));
  }
}

void Verification::sum_up() {
  result_.shards = set_.shards.size();
  for (ShardReport& report : reports_) {
    result_.samples += report.samples;
    result_.members += report.members;
    collect(report.log);
  }
  collect(set_log_);
  result_.problems_total = result_.errors + result_.warnings;
  describe_checks();
}

void Verification::describe_checks() {
  const auto count = [&](auto matches) {
    return format_count(static_cast<std::uint64_t>(std::count_if(expected_.begin(), expected_.end(), matches)),
                        "shard");
  };
  result_.checked.push_back(fmt::format("headers, names, samples and labels of {}, keys across them",
                                        format_count(set_.shards.size(), "shard")));
  if (set_.manifest) {
    result_.checked.push_back(fmt::format("sizes and counts of {} against {}",
                                          count([](const ExpectedShard& e) { return e.manifest != nullptr; }),
                                          set_.manifest_path));
  }
  result_.checked.push_back(
      fmt::format("indexes of {}", count([](const ExpectedShard& e) { return !e.index_path.empty(); })));
  if (result_.depth == VerifyDepth::checksum) {
    result_.checked.push_back(fmt::format("every byte of {} by XXH3-128",
                                          count([](const ExpectedShard& e) { return expected_hash(e).has_value(); })));
  } else {
    result_.checked.push_back("no content: images were not read or decoded");
  }
}

}  // namespace

void VerifyOptions::describe(FieldVisitor& v) {
  v.field({"SHARDS", Unit::none, "folders, tars, brace patterns, list files or wids indexes", Role::positional},
          shards);
  v.field({"depth", Unit::none,
           "what to check: headers and samples, or every byte too; auto does so where there are checksums"},
          depth);
  v.field({"strict", Unit::none, "count warnings as findings"}, strict);
  v.field({"threads", Unit::count, "shards read at a time; default: the CPUs this process may use", Role::option, "N"},
          threads);
}

void VerifyResult::describe(FieldVisitor& v) {
  v.field({"depth", Unit::none, "what was really checked"}, depth);
  v.field({"checked", Unit::none, "the same in words"}, checked);
  v.field({"shards", Unit::count, "shards read"}, shards);
  v.field({"samples", Unit::count, "samples found in them"}, samples);
  v.field({"members", Unit::count, "tar members found in them"}, members);
  v.field({"bytes", Unit::bytes, "size of the shards"}, bytes);
  v.field({"bytes_per_second", Unit::bytes_per_second, "size of the shards over wall time"}, bytes_per_second);
  v.field({"problems_total", Unit::count, "problems found, errors and warnings"}, problems_total);
  v.field({"errors", Unit::count, "problems by which readers lose or confuse data"}, errors);
  v.field({"warnings", Unit::count, "problems over which some reader stumbles"}, warnings);
  v.field({"problems", Unit::none, "the problems, repetitions within a shard in one line, at most 10,000 lines"},
          problems);
}

VerifyResult verify(const VerifyOptions& options, Context& ctx) { return Verification(options, ctx).run(); }

}  // namespace shardkit
