#include "dataset/sharding/earlier_samples.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "catalog/image_folder.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "dataset/sharding/bad_files.hpp"
#include "dataset/sharding/planner.hpp"

namespace shardkit::dataset {
namespace {

/// Files of a finished shard that are not as its plan has them.
struct Deviations {
  std::set<std::string> left_out;
  catalog::FileStates bad;  ///< of these, as they were when they were read
  catalog::FileStates corrected;
};

std::vector<formats::IndexSkip> skipped_by(const ShardTarget& target, const std::string& shard) {
  const std::string index = io::join_path(target.folder(), formats::shard_index_path(shard));
  std::vector<formats::IndexSkip> skipped;
  try {
    io::OutputFiles& files = target.files();
    if (formats::read_shard_summary(*files.open(index), index).skipped > 0) append_skipped(files, index, skipped);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::corrupt && error.code() != ErrorCode::not_found) throw;
    throw Error(error.code(), At{index},
                "'{}' is {}: --append needs the indexes of old shards, because they list the files that were left out; "
                "the same command without --append writes it again",
                index, error.code() == ErrorCode::corrupt ? "damaged" : "missing");
  }
  return skipped;
}

Deviations deviations_of(const ShardTarget& target, const std::string& shard) {
  Deviations found;
  for (formats::IndexSkip& skip : skipped_by(target, shard)) found.left_out.insert(std::move(skip.path));
  for (BadFile& file : bad_files_of(target.files(), target.folder(), shard)) {
    if (!file.seen.state) continue;
    (file.state == BadState::corrected ? found.corrected : found.bad).emplace(file.path, *file.seen.state);
  }
  return found;
}

/// As in the shard, from the record of its run.
void correct(const formats::PlanHead& head, const Deviations& found, formats::PlannedSample& sample) {
  if (found.corrected.empty()) return;
  const auto correct_file = [&](formats::PlannedFile& file) {
    const auto seen = found.corrected.find(formats::file_path(head, sample, file));
    if (seen != found.corrected.end()) static_cast<catalog::FileState&>(file) = seen->second;
  };
  correct_file(sample.image);
  for (formats::PlannedFile& file : sample.sidecars) correct_file(file);
}

[[noreturn]] void refuse_changed(const std::string& first, std::uint64_t all) {
  throw Error(
      ErrorCode::conflict, At{first},
      "{} of the set {} changed: the image, its label, another file of it or its row in a table; the first is '{}'. "
      "--append leaves old shards as they are: restore the files, or convert into an empty folder. If only "
      "times differ, add --identity size",
      format_count(all, "sample"), all == 1 ? "has" : "have", first);
}

[[noreturn]] void refuse_key(const std::string& path, const std::string& key) {
  throw Error(ErrorCode::conflict, At{path},
              "the new file '{}' would have the key '{}', which a sample of the set has: their names differ only in "
              "the extension or in characters that keys do not have; rename the new file",
              path, key);
}

[[noreturn]] void refuse_json(const std::string& path, char of_set) {
  throw Error(ErrorCode::conflict, At{path},
              "the samples of the set have {} as .json, but that of the new image '{}' would be {}: give --append a "
              "table of the same kind, or convert into an empty folder",
              of_set == '\0' ? "nothing" : "one row", path,
              of_set == '\0' ? "made of the table" : "a list, because it has several rows");
}

}  // namespace

void EarlierSamples::add(const ShardTarget& target, const std::string& folder) {
  if (target.added()) {
    for (const std::string& path : target.added()->plans_of_set()) add_plan(path, target, folder);
  }
  if (target.has_plan()) {  // it is not finished, but its labels are fixed
    for (const formats::ManifestClass& item : target.plan().head().classes) labels_.emplace(item.name, item.label);
  }
  std::ranges::sort(entries_, {}, [](const Entry& entry) { return std::tuple(entry.path.high, entry.path.low); });
  std::ranges::sort(keys_);
  std::ranges::sort(groups_);
  groups_.erase(std::ranges::unique(groups_).begin(), groups_.end());
  ++sets_;
}

std::optional<std::size_t> EarlierSamples::set_of(std::uint64_t group) const {
  const auto found = std::ranges::lower_bound(groups_, group, {}, &std::pair<std::uint64_t, std::size_t>::first);
  return found == groups_.end() || found->first != group ? std::nullopt : std::optional(found->second);
}

void EarlierSamples::add_plan(const std::string& path, const ShardTarget& target, const std::string& folder) {
  const auto file = target.files().open(path);
  const formats::PlanReader plan(*file, path);
  for (const formats::ManifestClass& item : plan.head().classes) labels_.emplace(item.name, item.label);
  for (const formats::IndexSkip& skip : plan.head().skipped) left_out_.insert(skip.path);
  for (std::size_t shard = 0; shard < plan.shards().size(); ++shard) add_shard(plan, shard, target, folder);
}

void EarlierSamples::add_shard(const formats::PlanReader& plan, std::size_t shard, const ShardTarget& target,
                               const std::string& folder) {
  const formats::PlanHead& head = plan.head();
  const Deviations found = deviations_of(target, plan.shard_name(shard));
  formats::PlanReader::ShardReader reader = plan.read_shard(shard);
  for (formats::PlannedSample sample; reader.next(sample);) {
    const std::string path = formats::image_path(head, sample);
    const bool is_left_out =
        found.left_out.contains(path) || std::ranges::any_of(sample.sidecars, [&](const formats::PlannedFile& side) {
          return found.left_out.contains(formats::file_path(head, sample, side));
        });
    if (is_left_out) continue;
    correct(head, found, sample);
    if (json_ == '\0' && !sample.json.empty()) json_ = sample.json.front();
    const auto label = sample.class_index ? std::optional(head.classes.at(*sample.class_index).label) : std::nullopt;
    entries_.push_back({xxh3_128(as_bytes(folder + path)), state_of(sample, label)});
    keys_.push_back(xxh3_64(as_bytes(formats::sample_key(head, sample))));
    if (!head.options.contains("split")) continue;
    const std::string_view name = sample.class_index ? head.classes.at(*sample.class_index).name : std::string_view();
    groups_.emplace_back(head.grouped ? sample.group : xxh3_64(as_bytes(formats::image_key(name, path))), sets_);
  }
  left_out_.insert(found.left_out.begin(), found.left_out.end());
  for (const auto& [bad, state] : found.bad) bad_.insert_or_assign(bad, state);
}

bool EarlierSamples::is_still_bad(const catalog::ScannedClass& owner, const catalog::ScannedFile& file) const {
  const auto found = bad_.find(owner.path_of(file));
  return found != bad_.end() && found->second == owner.state_of(file);
}

/// Of its files, row and label, but not of its key: it keeps the one that it has in the set, also where files beside it
/// that share the stem came or went.
std::uint64_t EarlierSamples::state_of(formats::PlannedSample sample, std::optional<std::uint64_t> label) const {
  sample.class_index.reset();
  sample.mark = formats::KeyMark::none;
  formats::SampleLine line;
  formats::write_sample_line({}, sample, line);
  const std::string& state = identity_ == FileIdentity::mtime ? line.text : line.identity;
  return xxh3_64(as_bytes(label ? fmt::format("{}\t{}", *label, state) : state));
}

const EarlierSamples::Entry* EarlierSamples::find(const std::string& path) const {
  const Hash128 hash = xxh3_128(as_bytes(path));
  const auto order = [](const Entry& entry) { return std::tuple(entry.path.high, entry.path.low); };
  const auto found = std::ranges::lower_bound(entries_, std::tuple(hash.high, hash.low), {}, order);
  return found != entries_.end() && found->path == hash ? &*found : nullptr;
}

void EarlierSamples::complete(ScannedSource& source, const std::string& folder, std::vector<std::string> classes,
                              bool class_map, Context& context) const {
  std::erase_if(source.scan.problems, [&](const catalog::ScanProblem& problem) {
    return left_out_.contains(problem.path) || find(folder + problem.path) != nullptr;
  });
  if (classes.empty()) {
    for (const catalog::ScannedClass& item : source.scan.classes) classes.push_back(item.name);
  }
  std::map<std::string, std::uint64_t> labels = labels_;
  std::uint64_t next = 0;
  for (const auto& [name, label] : labels) next = std::max(next, label + 1);
  for (const std::string& name : classes) {
    if (labels.try_emplace(name, next).second) ++next;
  }
  for (std::size_t i = 0; i < source.labels.size(); ++i) {
    if (!source.labels[i]) continue;
    const std::string& name = source.scan.classes[i].name;
    const auto known = labels_.find(name);
    if (!class_map && !source.scan.classes[i].label) {
      source.labels[i] = labels.at(name);
      if (known == labels_.end() && !labels_.empty()) {
        context.warn("class_added", "class '{}' is new in the set: label {}", name, labels.at(name));
      }
    } else if (known != labels_.end() && known->second != *source.labels[i]) {
      throw Error(ErrorCode::conflict, At{name},
                  "class '{}' has label {} in the set, but {} now: --append cannot change labels; use the class map or "
                  "list of the set",
                  name, known->second, *source.labels[i]);
    }
  }
}

EarlierSamples::Added EarlierSamples::added(const ScannedSource& source, const std::string& folder,
                                            const SampleOrder* within, Context& context) const {
  Added result;
  std::string changed;  // the first of them
  std::uint64_t all_changed = 0;
  std::uint32_t number = 0;
  std::size_t taken = 0;
  for (std::size_t c = 0; c < source.scan.classes.size(); ++c) {
    const catalog::ScannedClass& owner = source.scan.classes[c];
    for (std::size_t f = 0; f < owner.files.size(); ++f, ++number) {
      if (within && (taken == within->size() || (*within)[taken] != number)) continue;
      ++taken;
      const std::string path = owner.path_of(owner.files[f]);
      const formats::PlannedSample sample = planned_sample(source, c, f);
      if (const Entry* entry = find(folder + path)) {
        if (entry->state == state_of(sample, source.labels[c]) || formats::is_unread(sample.image)) continue;
        if (++all_changed == 1) changed = path;
        continue;
      }
      if (is_still_bad(owner, owner.files[f])) continue;
      if (!entries_.empty() && !sample.json.empty() && sample.json.front() != json_) refuse_json(path, json_);
      const std::string key = catalog::image_key(source.scan, owner, owner.files[f]);
      if (std::ranges::binary_search(keys_, xxh3_64(as_bytes(key)))) refuse_key(path, key);
      result.samples.push_back(number);
      result.readmitted += left_out_.contains(path) ? 1 : 0;
      for (const formats::PlannedFile& side : sample.sidecars)
        result.readmitted += left_out_.contains(side.path) ? 1 : 0;
    }
    context.throw_if_stopped();
  }
  if (all_changed > 0) refuse_changed(changed, all_changed);
  return result;
}

}  // namespace shardkit::dataset
