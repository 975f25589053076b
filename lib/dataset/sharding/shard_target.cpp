#include "dataset/sharding/shard_target.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "core/error.hpp"

namespace shardkit::dataset {
namespace {

constexpr const char* kPlanName = "plan";

/// Of a whole file.
Hash128 file_hash(const std::string& path) {
  Xxh3Stream hash;
  io::FileSource(path).stream_all([&](Bytes piece) { hash.update(piece); });
  return hash.digest();
}

std::string option_difference(const formats::PlanHead& before, const formats::PlanHead& now) {
  const std::string absent = "not given";
  std::map<std::string, std::pair<std::string, std::string>> values;
  for (const auto& [name, value] : before.options) values[name] = {value, absent};
  for (const auto& [name, value] : now.options) values.try_emplace(name, absent, "").first->second.second = value;
  values["name"] = {before.name, now.name};
  for (const auto& [name, value] : values) {
    if (formats::planned_value(name, value.first) != formats::planned_value(name, value.second))
      return fmt::format("option {} was {}, is {}", name, value.first, value.second);
  }
  return {};
}

/// Throws Error{io} for a class folder that the source had: it may come back.
void refuse_gone_folder(const formats::PlanHead& before, const formats::PlanHead& now) {
  for (const formats::PlanClass& was : before.classes) {
    if (std::ranges::find(now.classes, was.name, &formats::PlanClass::name) != now.classes.end()) continue;
    throw Error(ErrorCode::io,
                fmt::format("class folder '{}' of the plan is gone: is all of the source mounted? Run the same command "
                            "again when it is back; without it, choose an empty target",
                            was.name),
                was.name);
  }
}

std::string class_difference(const formats::PlanHead& before, const formats::PlanHead& now) {
  if (!now.listed && now.classes.size() < before.classes.size()) refuse_gone_folder(before, now);
  std::map<std::string_view, const formats::PlanClass*> gone;
  for (const formats::PlanClass& was : before.classes) gone.emplace(was.name, &was);
  for (const formats::PlanClass& is : now.classes) {
    const auto found = gone.find(is.name);
    if (found == gone.end()) return fmt::format("class '{}' is new", is.name);
    const formats::PlanClass& was = *found->second;
    if (was.label != is.label) return fmt::format("class '{}' had label {}, has {}", is.name, was.label, is.label);
    if (was.samples != is.samples) {
      return fmt::format("class '{}' had {} images, has {}", is.name, was.samples, is.samples);
    }
    gone.erase(found);
  }
  return gone.empty() ? std::string() : fmt::format("class '{}' is gone", gone.begin()->first);
}

/// The file without what `identity` leaves out.
formats::PlannedFile identified(formats::PlannedFile file, FileIdentity identity) {
  if (identity == FileIdentity::mtime) return file;
  file.mtime_ns = 0;
  file.version.reset();
  return file;
}

bool is_same(const formats::PlannedSample& one, const formats::PlannedSample& other, FileIdentity identity) {
  if (identity == FileIdentity::mtime) return one == other;
  const auto reduced = [&](formats::PlannedSample sample) {
    sample.image = identified(std::move(sample.image), identity);
    for (formats::PlannedFile& file : sample.sidecars) file = identified(std::move(file), identity);
    return sample;
  };
  return reduced(one) == reduced(other);
}

std::string sample_difference(const formats::PlanReader& before, const formats::PlanReader& now,
                              FileIdentity identity) {
  formats::PlannedSample was;
  formats::PlannedSample is;
  for (std::size_t shard = 0; shard < std::min(before.shards().size(), now.shards().size()); ++shard) {
    auto old_samples = before.read_shard(shard);
    auto new_samples = now.read_shard(shard);
    while (true) {
      const bool had = old_samples.next(was);
      const bool has = new_samples.next(is);
      if (had != has) return fmt::format("shard {} has another number of samples", shard);
      if (!had) break;
      if (is_same(was, is, identity)) continue;
      const std::string path = formats::image_path(now.head(), is);
      if (formats::image_path(before.head(), was) != path) return fmt::format("'{}' is where another file was", path);
      if (was.image.size != is.image.size) {
        return fmt::format("'{}' had {} bytes, has {}", path, was.image.size, is.image.size);
      }
      if (identified(was.image, identity) != identified(is.image, identity))
        return fmt::format("'{}' was modified since", path);
      if (was.json != is.json) return fmt::format("the .json of '{}' is another: its row has changed", path);
      return fmt::format("the side-cars of '{}' are others", path);
    }
  }
  return {};
}

std::string input_difference(const formats::PlanHead& before, const formats::PlanHead& now) {
  for (std::size_t i = 0; i < std::max(before.inputs.size(), now.inputs.size()); ++i) {
    if (i >= now.inputs.size()) return fmt::format("input '{}' is gone", before.inputs[i].name);
    if (i >= before.inputs.size()) return fmt::format("input '{}' is new", now.inputs[i].name);
    const formats::PlanInput& was = before.inputs[i];
    const formats::PlanInput& is = now.inputs[i];
    if (was.name != is.name) return fmt::format("input '{}' is where '{}' was", is.name, was.name);
    if (was.bytes != is.bytes) return fmt::format("input '{}' had {} bytes, has {}", is.name, was.bytes, is.bytes);
    if (was != is) return fmt::format("input '{}' was modified since", is.name);
  }
  return {};
}

/// One line that says in what two plans differ, first of all in options. Empty where only the reasons differ for which
/// files were left out: these are for people.
std::string plan_difference(const formats::PlanReader& before, const formats::PlanReader& now, FileIdentity identity) {
  std::string text = option_difference(before.head(), now.head());
  if (text.empty()) text = input_difference(before.head(), now.head());
  if (text.empty()) text = class_difference(before.head(), now.head());
  const auto& was = before.head().skipped;
  const auto& is = now.head().skipped;
  // Files that were left out may be deleted.
  if (text.empty() && !std::ranges::includes(was, is, {}, &formats::IndexSkip::path, &formats::IndexSkip::path))
    text = "other files cannot be read";
  if (text.empty() && !now.head().inputs.empty()) text = "an input's index now tells something else";
  if (text.empty()) text = sample_difference(before, now, identity);
  return text;
}

void append_skipped(const std::string& index_path, std::vector<formats::IndexSkip>& skipped) {
  io::FileSource index(index_path);
  formats::ShardIndexVisitor visitor;
  visitor.skip = [&](formats::IndexSkip&& skip) { skipped.push_back(std::move(skip)); };
  formats::read_shard_index(index, index_path, visitor);
}

}  // namespace

ShardTarget::ShardTarget(io::FileSystem& files, std::string folder, bool dry_run)
    : files_(files), folder_(std::move(folder)), dry_run_(dry_run) {}

void ShardTarget::prepare() {
  refuse_foreign();
  if (dry_run_) return;
  files_.create_directories(io::join_path(folder_, formats::kStateFolder));
  io::remove_stale_temps(files_, folder_);
  io::remove_stale_temps(files_, io::join_path(folder_, formats::kStateFolder));
}

void ShardTarget::refuse_foreign() const {
  if (has_plan() || !std::filesystem::exists(folder_)) return;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::string name = entry.path().filename();
    if (name.starts_with('.') || name == "lost+found") continue;
    throw Error(ErrorCode::conflict,
                fmt::format("'{}' holds '{}', which no convert or reshard of this plan made; choose an empty folder",
                            folder_, name),
                folder_);
  }
}

void ShardTarget::adopt_plan(const std::function<void(ByteSink&)>& write, FileIdentity identity) {
  if (dry_run_) {
    dry_plan_ = std::make_unique<io::AtomicFile>(files_, std::filesystem::temp_directory_path() / "shardkit-plan");
    write(*dry_plan_);
    dry_plan_->flush();
    if (has_plan()) {
      open_plan();
      return compare_plan(dry_plan_->temp_path(), identity);
    }
    plan_file_ = std::make_unique<io::FileSource>(dry_plan_->temp_path());
    plan_ = std::make_unique<formats::PlanReader>(*plan_file_, dry_plan_->temp_path());
    return;
  }
  const std::string path = state_path(kPlanName);
  if (!has_plan()) {
    io::AtomicFile file(files_, path);
    write(file);
    if (file.commit_new()) return open_plan();
  }
  open_plan();
  io::AtomicFile scratch(files_, path);  // never committed
  write(scratch);
  scratch.flush();
  compare_plan(scratch.temp_path(), identity);
}

void ShardTarget::compare_plan(const std::string& path, FileIdentity identity) const {
  if (file_hash(state_path(kPlanName)) == file_hash(path)) return;
  io::FileSource now(path);
  const std::string difference = plan_difference(*plan_, formats::PlanReader(now, path), identity);
  if (difference.empty()) return plan_->check_bytes();
  throw Error(ErrorCode::conflict,
              fmt::format("'{}' holds shards of another plan: {}; choose an empty folder, or remove this one", folder_,
                          difference),
              folder_);
}

bool ShardTarget::has_plan() const { return std::filesystem::exists(state_path(kPlanName)); }

void ShardTarget::open_plan() {
  plan_file_ = std::make_unique<io::FileSource>(state_path(kPlanName));
  plan_ = std::make_unique<formats::PlanReader>(*plan_file_, state_path(kPlanName));
}

std::optional<formats::ShardSummary> ShardTarget::finished(std::size_t shard, bool recheck) const {
  const std::string name = plan_->shard_name(shard);
  const std::string index_path = io::join_path(folder_, formats::shard_index_path(name));
  struct stat info {};
  if (::stat(index_path.c_str(), &info) != 0) return std::nullopt;
  formats::ShardSummary summary;
  try {
    io::FileSource index(index_path);
    summary =
        recheck ? formats::read_shard_index(index, index_path, {}) : formats::read_shard_summary(index, index_path);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::corrupt) return std::nullopt;  // written again
    throw;
  }
  if (summary.plan != to_hex(plan_->hash()) || summary.shard != name) return std::nullopt;
  if (summary.samples == 0) return summary;
  const std::string path = path_of(name);
  if (::stat(path.c_str(), &info) != 0 || static_cast<std::uint64_t>(info.st_size) != summary.bytes)
    return std::nullopt;
  if (recheck && !(file_hash(path) == summary.xxh3_128)) return std::nullopt;
  return summary;
}

void ShardTarget::reopen(std::size_t shard) {
  const std::string name = plan_->shard_name(shard);
  for (const std::string& path :
       {path_of(formats::kManifestName), path_of(name), io::join_path(folder_, formats::shard_index_path(name))}) {
    if (std::filesystem::exists(path)) files_.remove(path);
  }
  files_.sync_directory(folder_);
  files_.sync_directory(state_path(""));
}

std::map<std::string, std::uint64_t> ShardTarget::left_out_by_class(
    const std::set<std::string_view>& shorter, const std::vector<formats::IndexSkip>& skipped) const {
  const formats::PlanHead& head = plan_->head();
  std::map<std::string, std::uint64_t> left_out;
  std::set<std::string_view> paths;
  for (std::size_t i = head.skipped.size(); i < skipped.size(); ++i) {
    const std::string_view path = skipped[i].path;
    paths.insert(path);
    if (!head.listed) ++left_out[std::string(path.substr(0, path.find('/')))];
  }
  if (!head.listed || paths.empty()) return left_out;
  // Paths in a list do not name the class: the plan's lines do.
  for (std::size_t shard = 0; shard < plan_->shards().size(); ++shard) {
    if (!shorter.contains(plan_->shard_name(shard))) continue;
    formats::PlanReader::ShardReader reader = plan_->read_shard(shard);
    for (formats::PlannedSample sample; reader.next(sample);) {
      if (sample.class_index && paths.contains(formats::image_path(head, sample)))
        ++left_out[head.classes[*sample.class_index].name];
    }
  }
  return left_out;
}

formats::Manifest ShardTarget::manifest_of(const std::vector<std::optional<formats::ShardSummary>>& shards,
                                           std::vector<formats::IndexSkip>& skipped) const {
  const formats::PlanHead& head = plan_->head();
  formats::Manifest manifest;
  manifest.options = head.options;
  manifest.plan_hash = to_hex(plan_->hash());
  skipped = head.skipped;
  std::set<std::string_view> shorter;
  for (const std::optional<formats::ShardSummary>& shard : shards) {
    if (shard->skipped > 0) {
      shorter.insert(shard->shard);
      append_skipped(io::join_path(folder_, formats::shard_index_path(shard->shard)), skipped);
    }
    if (shard->samples == 0) continue;
    manifest.shards.push_back({shard->shard, shard->samples, shard->bytes, shard->xxh3_128});
    manifest.samples += shard->samples;
    manifest.bytes += shard->bytes;
  }
  manifest.skipped = skipped.size();
  if (const auto on_bad = manifest.options.find("on_bad");
      manifest.skipped > 0 && head.inputs.empty() && on_bad != manifest.options.end() && on_bad->second == "fail") {
    on_bad->second = "skip";  // of a later run than the one that made the plan
  }
  std::map<std::string, std::uint64_t> left_out = left_out_by_class(shorter, skipped);
  for (const formats::PlanClass& item : head.classes) {
    manifest.classes.push_back({item.name, item.label, item.samples - left_out[item.name]});
  }
  return manifest;
}

}  // namespace shardkit::dataset
