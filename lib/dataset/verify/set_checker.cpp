#include "dataset/verify/set_checker.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/units.hpp"
#include "dataset/indexes/reader_indexes.hpp"
#include "formats/plan_file.hpp"
#include "formats/tar_scanner.hpp"
#include "io/publish.hpp"

namespace shardkit::dataset {
namespace {

class RepeatFinder final : public formats::TarHandler {
 public:
  RepeatFinder(const std::vector<std::uint64_t>& hashes, std::vector<ShardReport>& reports) : reports_(reports) {
    for (const std::uint64_t hash : hashes) first_.emplace(hash, Position{});
  }

  void start(std::size_t shard) { shard_ = shard; }
  bool entry(const formats::TarEntry& entry) override {
    if (const auto done = grouper_.add(entry)) note(*done);
    return false;
  }
  void finding(const formats::TarFinding&) override {}
  void finish() {
    if (const auto last = grouper_.finish()) note(*last);
  }

 private:
  struct Position {
    bool seen = false;
    std::string key;
    std::size_t shard = 0;
    std::uint64_t offset = 0;
    std::set<std::string> extensions;  ///< of all its members in this shard so far
  };

  void note(const formats::IndexSample& sample) {
    const auto found = first_.find(xxh3_64(as_bytes(sample.key)));
    if (found == first_.end()) return;
    Position& first = found->second;
    std::set<std::string> extensions;
    for (const formats::IndexMember& member : sample.members) extensions.insert(member.extension);
    if (!std::exchange(first.seen, true)) {
      first = {true, sample.key, shard_, sample.offset, std::move(extensions)};
    } else if (first.key == sample.key) {
      const auto is_there = [&](const std::string& extension) { return first.extensions.contains(extension); };
      const ProblemCode code = first.shard != shard_                       ? ProblemCode::duplicate_key
                               : std::ranges::any_of(extensions, is_there) ? ProblemCode::repeated_member
                                                                           : ProblemCode::split_sample;
      if (first.shard == shard_) first.extensions.merge(extensions);
      reports_[shard_].log.add(
          code, sample.offset, sample.key,
          fmt::format("first in '{}' at byte {}", reports_[first.shard].log.shard(), first.offset));
    }
  }

  std::vector<ShardReport>& reports_;
  std::unordered_map<std::uint64_t, Position> first_;
  formats::SampleGrouper grouper_;
  std::size_t shard_ = 0;
};

/// Reads the shards' headers again and notes every further sample whose key's hash is in `hashes` and whose key really
/// is the same: split_sample or repeated_member within a shard, duplicate_key across shards. Shards that cannot be read
/// are skipped.
void note_repeated_keys(const catalog::ShardSet& set, const std::vector<std::uint64_t>& hashes,
                        std::vector<ShardReport>& reports, Context& context) {
  RepeatFinder finder(hashes, reports);
  context.progress().start("look for repeated keys", set.shards.size());
  for (std::size_t i = 0; i < set.shards.size(); ++i) {
    finder.start(i);
    try {
      formats::scan_tar(*set.inputs->open(set.shards[i].path), finder, context);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled) throw;
    }
    finder.finish();
    ++context.progress().items;
  }
}

/// Keys of which the repeated occurrences are looked up and named; those beyond are counted.
constexpr std::size_t kMostRepeatedKeys = VerifyResult::kMostProblems;

}  // namespace

void KeyTable::add(const std::vector<std::uint64_t>& hashes) {
  const std::scoped_lock lock(mutex_);
  for (const std::uint64_t hash : hashes) buckets_[hash >> (64U - kBucketBits)].push_back(hash);
}

KeyTable::Repeated KeyTable::repeated(std::size_t limit) {
  Repeated result;
  for (std::vector<std::uint64_t>& hashes : buckets_) {
    std::sort(hashes.begin(), hashes.end());
    for (auto item = hashes.begin(); item != hashes.end();) {
      const auto next = std::find_if(item, hashes.end(), [&](std::uint64_t hash) { return hash != *item; });
      if (next - item > 1 && ++result.total <= limit) result.hashes.push_back(*item);
      item = next;
    }
  }
  return result;
}

void SetChecker::add(ShardReport& report) {
  keys_.add(std::exchange(report.key_hashes, {}));
  const auto labels = std::exchange(report.samples_by_label, {});
  const std::scoped_lock lock(mutex_);
  for (const auto& [label, samples] : labels) samples_by_label_[label] += samples;
  for (const auto& [name, kind] : report.kinds) samples_by_kind_[name] += kind.samples;
}

void SetChecker::finish(bool labels_compared, Context& context) {
  check_keys(context);
  check_labels(labels_compared);
  check_kinds();
  check_texts();
  for (const std::string& conflict : compare_labels(manifests_).conflicts)
    log_.add(ProblemCode::label_conflict, std::nullopt, "", conflict);
  check_plans();
  note_states(context);
  if (set_.folder.empty()) return;
  for (std::size_t i = 0; i < set_.shards.size(); ++i) by_name_.emplace(set_.shards[i].name, i);
  compare_indexes();
}

bool SetChecker::is_whole() const {
  if (std::ranges::any_of(reports_, &ShardReport::damaged)) return false;
  if (!set_.manifest) return true;
  const auto listed =
      std::ranges::count_if(expected_, [](const auto& expected) { return expected.manifest != nullptr; });
  const auto all = static_cast<std::size_t>(listed);
  return all == set_.manifest->shards.size() && all == set_.shards.size();
}

std::optional<VerifyClasses> SetChecker::classes() const {
  if (samples_by_label_.empty()) return std::nullopt;
  const auto [fewest, most] =
      std::ranges::minmax_element(samples_by_label_, {}, [](const auto& item) { return item.second; });
  return VerifyClasses{samples_by_label_.size(), samples_by_label_.rbegin()->first, fewest->second, most->second};
}

void SetChecker::check_keys(Context& context) {
  const KeyTable::Repeated repeated = keys_.repeated(kMostRepeatedKeys);
  if (repeated.total == 0) return;
  note_repeated_keys(set_, repeated.hashes, reports_, context);
  if (const std::uint64_t more = repeated.total - repeated.hashes.size(); more > 0) {
    log_.add(ProblemCode::duplicate_key, std::nullopt, "",
             fmt::format("{} not looked up", format_count(more, "more key")), more);
  }
}

void SetChecker::check_labels(bool labels_compared) {
  if (samples_by_label_.empty()) return;
  for (ShardReport& report : reports_) {
    const SampleKind& unlabeled = report.unlabeled;
    if (unlabeled.samples == 0 || labels_compared) continue;
    report.log.add(ProblemCode::missing_label, unlabeled.first_offset, unlabeled.first_key, {}, unlabeled.samples);
  }
  if (!is_whole()) return;  // a subset contains fewer of each class
  if (set_.manifest) check_class_counts();
  check_label_gaps();
}

void SetChecker::check_class_counts() {
  std::map<std::uint64_t, std::uint64_t> expected;  // a class map may give several classes one label
  std::map<std::uint64_t, std::string> names;
  for (const formats::ManifestClass& item : set_.manifest->classes) {
    expected[item.label] += item.samples;
    names[item.label] += fmt::format("{}'{}'", names[item.label].empty() ? "" : ", ", item.name);
  }
  for (const auto& [label, count] : expected) {
    const auto found = samples_by_label_.find(label);
    const std::uint64_t samples = found == samples_by_label_.end() ? 0 : found->second;
    if (samples == count) continue;
    log_.add(ProblemCode::class_count, std::nullopt, "",
             fmt::format("class {} (label {}): {} samples, expected {}", names[label], label, samples, count));
  }
}

/// Classes of the manifest without a sample, such as in a small set of a split, are not gaps: their counts are
/// compared.
void SetChecker::check_label_gaps() {
  std::set<std::uint64_t> labels;
  for (const auto& [label, samples] : samples_by_label_) labels.insert(label);
  if (set_.manifest) {
    for (const formats::ManifestClass& item : set_.manifest->classes) labels.insert(item.label);
  }
  const std::uint64_t largest = *labels.rbegin();
  const std::uint64_t missing = largest + 1 - labels.size();
  if (missing == 0) return;
  std::uint64_t first = 0;
  while (labels.contains(first)) ++first;
  log_.add(ProblemCode::label_gap, std::nullopt, "",
           fmt::format("{} of the labels 0 to {} have none, the first is {}", missing, largest, first));
}

/// Samples with other members than most.
void SetChecker::check_kinds() {
  if (samples_by_kind_.size() < 2) return;
  const auto usual = std::ranges::max_element(samples_by_kind_, {}, [](const auto& item) { return item.second; });
  for (ShardReport& report : reports_) {
    for (const auto& [name, kind] : report.kinds) {
      if (name == usual->first) continue;
      report.log.add(ProblemCode::differing_members, kind.first_offset, kind.first_key,
                     fmt::format("this one has {}; most have {}", name.empty() ? "only a label" : name, usual->first),
                     kind.samples);
    }
  }
}

/// Texts without data, unless texts are what the set is made of.
void SetChecker::check_texts() {
  std::uint64_t texts = 0;
  std::uint64_t samples = 0;
  for (const ShardReport& report : reports_) {
    samples += report.samples;
    for (const SampleKind& text : report.texts) texts += text.samples;
  }
  if (texts_are_data(texts, samples)) return;
  for (ShardReport& report : reports_) {
    for (const SampleKind& text : report.texts)
      report.log.add(ProblemCode::orphan_member, text.first_offset, text.first_key, {}, text.samples);
  }
}

/// The lines of plans are as they were written: a run that continues or adds to the set needs them.
void SetChecker::check_plans() {
  for (const catalog::SeenSet& seen : set_.seen) {
    for (const catalog::SeenPlan& plan : seen.plans) {
      const std::string path = io::join_path(seen.folder, plan.name);
      try {
        const auto file = set_.inputs->open(path);
        formats::PlanReader(*file, path).check_bytes();
      } catch (const Error& error) {
        if (error.code() != ErrorCode::corrupt) throw;
        log_.add(ProblemCode::plan_damaged, std::nullopt, "",
                 fmt::format("'{}' has changed since it was written", path));
      }
    }
  }
}

/// What the folders lack, as their states say.
void SetChecker::note_states(Context& context) {
  for (const catalog::SeenSet& seen : set_.seen) {
    for (const catalog::Ruling& ruling : catalog::rulings(catalog::SetVerb::verify, seen)) {
      if (ruling.reaction == catalog::Reaction::warn) context.warn(ruling.code, "{}: {}", ruling.text, ruling.advice);
      if (ruling.reaction != catalog::Reaction::finding) continue;
      if (ruling.about == catalog::About::plan) {
        log_.add(ProblemCode::plan_damaged, std::nullopt, "", ruling.text);
      } else if (ruling.about == catalog::About::state && !seen.as<catalog::Incomplete>()) {
        log_.add(ProblemCode::set_unfinished, std::nullopt, "", ruling.text);
      }
      advice_.push_back(fmt::format("{}: {}", ruling.text, ruling.advice));
    }
    const std::set<std::string_view> extra(seen.extra.begin(), seen.extra.end());
    for (std::size_t i = 0; i < set_.shards.size(); ++i) {
      if (extra.contains(set_.shards[i].name) && io::parent_folder(set_.shards[i].path) == seen.folder)
        reports_[i].log.add(ProblemCode::extra_shard, std::nullopt, "");
    }
    if (const auto* lost = seen.as<catalog::Incomplete>()) {
      for (const std::string& shard : lost->missing)
        missing_.emplace_back(shard).add(ProblemCode::missing_shard, std::nullopt, "");
    }
  }
}

/// Compares a shard with its index of another reader.
void SetChecker::compare_count(const formats::IndexKind& kind, const std::string& index,
                               const formats::ShardCount& count, std::size_t shard, std::uint64_t bytes) {
  const auto note = [&](std::uint64_t said, std::uint64_t is, std::string_view what) {
    if (said == is) return;
    wrong_readers_.emplace(kind.name);
    reports_[shard].log.add(ProblemCode::foreign_index, std::nullopt, "",
                            fmt::format("{} says {} {}, there are {}", index, said, what, is));
  };
  note(count.samples, reports_[shard].samples, "samples");
  note(count.bytes.value_or(bytes), bytes, "bytes");
}

/// Compares the index next to a shard with the end of its last sample. Members that readers see differently are errors
/// already.
void SetChecker::compare_shard_index(const formats::IndexKind& kind, std::size_t shard) {
  const ShardReport& report = reports_[shard];
  if (report.log.errors() > 0) return;
  compare_file(kind, kind.shard_file(set_.shards[shard].name), [&](const std::string& text, const std::string& path) {
    if (kind.read_shard != nullptr) compare_count(kind, path, kind.read_shard(text, path), shard, report.content_end);
  });
}

/// Passes the text of an index to `compare`, and compares the file with the manifest if that finds nothing wrong.
void SetChecker::compare_file(const formats::IndexKind& kind, const std::string& name,
                              const std::function<void(const std::string& text, const std::string& path)>& compare) {
  const std::string path = io::join_path(set_.folder, name);
  if (!set_.inputs->exists(path)) return;
  const std::string text = set_.inputs->text(path);
  compare(text, path);
  const auto listed = listed_.find(name);
  if (listed == listed_.end() || xxh3_128(as_bytes(text)) == listed->second) return;
  if (!wrong_readers_.emplace(kind.name).second) return;
  log_.add(ProblemCode::foreign_index, std::nullopt, "",
           fmt::format("{} does not have the bytes that {} lists", path, formats::kManifestName));
}

/// A stage may have left out some of them.
void SetChecker::compare_extras() {
  if (!set_.manifest || !set_.of_folder) return;
  for (const formats::ManifestFile& file : extras_of(*set_.manifest)) {
    const std::string path = io::join_path(set_.folder, file.name);
    const bool is_there = set_.inputs->exists(path);
    const catalog::SeenSet* seen = set_.seen_in(set_.folder);
    if (!is_there && seen != nullptr && seen->as<catalog::Partial>()) continue;
    if (is_there && xxh3_128(*set_.inputs->open(path)) == file.xxh3_128) continue;
    log_.add(ProblemCode::listed_file, std::nullopt, "",
             is_there ? fmt::format("{} does not have the bytes that {} lists", path, formats::kManifestName)
                      : fmt::format("{} is missing, but {} lists it", path, formats::kManifestName));
  }
}

void SetChecker::compare_indexes() {
  if (set_.manifest && set_.of_folder) {
    for (const formats::ManifestFile& file : set_.manifest->files) listed_.emplace(file.name, file.xxh3_128);
  }
  compare_extras();
  for (const formats::IndexKind& kind : formats::reader_index_kinds()) {
    try {
      for (std::size_t i = 0; kind.shard_file != nullptr && i < set_.shards.size(); ++i) compare_shard_index(kind, i);
      if (kind.read_set == nullptr) continue;
      compare_file(kind, kind.set_files.front(), [&](const std::string& text, const std::string& path) {
        for (const formats::ShardCount& count : kind.read_set(text, path)) {
          const auto found = by_name_.find(std::string_view(count.shard).substr(count.shard.rfind('/') + 1));
          if (found == by_name_.end()) continue;
          compare_count(kind, path, count, found->second, set_.shards[found->second].bytes);
        }
      });
    } catch (const Error& error) {
      wrong_readers_.emplace(kind.name);
      log_.add(ProblemCode::foreign_index, error.offset(), "", error.what());
    }
  }
}

}  // namespace shardkit::dataset
