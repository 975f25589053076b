#include "dataset/sharding/shard_target.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "core/command_text.hpp"
#include "core/error.hpp"

namespace shardkit::dataset {
namespace {

/// Of a whole file.
Hash128 file_hash(const std::string& path) {
  Xxh3Stream hash;
  io::FileSource(path).stream_all([&](Bytes piece) { hash.update(piece); });
  return hash.digest();
}

}  // namespace

void append_skipped(const std::string& index_path, std::vector<formats::IndexSkip>& skipped) {
  io::FileSource index(index_path);
  formats::ShardIndexVisitor visitor;
  visitor.skip = [&](formats::IndexSkip&& skip) { skipped.push_back(std::move(skip)); };
  formats::read_shard_index(index, index_path, visitor);
}

ShardTarget::ShardTarget(io::FileSystem& files, std::string folder, bool dry_run)
    : files_(files), folder_(std::move(folder)), dry_run_(dry_run) {
  while (std::filesystem::exists(state_path(formats::plan_name(number_ + 1)))) ++number_;
}

void ShardTarget::prepare() {
  refuse_foreign();
  if (dry_run_) return;
  is_new_ = !std::filesystem::exists(folder_);
  files_.create_directories(io::join_path(folder_, formats::kStateFolder));
  io::remove_stale_temps(files_, folder_);
  io::remove_stale_temps(files_, io::join_path(folder_, formats::kStateFolder));
}

void ShardTarget::remove_if_empty() const {
  std::error_code not_empty;
  if (is_new_ && std::filesystem::remove(state_path(""), not_empty)) std::filesystem::remove(folder_, not_empty);
}

void ShardTarget::refuse_foreign() const {
  if (number_ > 0 || has_plan() || !std::filesystem::exists(folder_)) return;
  if (!std::filesystem::is_directory(folder_)) {
    throw Error(ErrorCode::conflict, At{folder_}, "'{}' is not a folder; choose an empty folder", folder_);
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::string name = entry.path().filename();
    if (name.starts_with('.') || name == "lost+found") continue;
    if (const std::string plan =
            io::join_path(entry.path(), io::join_path(formats::kStateFolder, formats::plan_name(0)));
        std::filesystem::exists(plan)) {
      io::FileSource file(plan);
      const auto options = formats::PlanReader(file, plan).head().options;
      const auto split = options.find("split");
      throw Error(ErrorCode::conflict, At{folder_},
                  "'{}' contains the set '{}' of an earlier run: {}choose an empty folder", folder_, name,
                  split == options.end() ? "" : fmt::format("repeat its --split {}, or ", split->second));
    }
    throw Error(
        ErrorCode::conflict, At{folder_},
        "'{}' contains other files, such as '{}'; choose an empty folder. Is the order right? The target comes last",
        folder_, name);
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
  const std::string path = plan_path();
  if (!has_plan()) {
    io::AtomicFile file(files_, path);
    write(file);
    keep_earlier_manifest();
    if (file.commit_new()) {
      open_plan();
      return remove_given_up();
    }
  }
  open_plan();
  io::AtomicFile scratch(files_, path);  // never committed
  write(scratch);
  scratch.flush();
  compare_plan(scratch.temp_path(), identity);
}

void ShardTarget::compare_plan(const std::string& path, FileIdentity identity) const {
  if (file_hash(plan_path()) == file_hash(path)) return;
  io::FileSource file(path);
  const formats::PlanReader now(file, path);
  if (plan_->head().start && !now.head().start && now.head().inputs.empty()) {
    throw Error(ErrorCode::conflict, At{folder_},
                "'{}' has shards that convert --append added: run this command with --append", folder_);
  }
  const auto [difference, may_be_added] = plan_difference(*plan_, now, identity);
  if (difference.empty()) return plan_->check_bytes();
  if (plan_->head().start) {
    throw Error(
        ErrorCode::conflict, At{folder_},
        "another --append into '{}' is not finished: {}; run it with the original source, or discard it: `rm {}`, then "
        "run convert --append again",
        folder_, difference, shell_word(plan_path()));
  }
  const bool is_finished = now.head().inputs.empty() && std::filesystem::exists(path_of(formats::kManifestName));
  const bool only_times = difference.ends_with("was modified since") && now.head().inputs.empty() &&
                          plan_difference(*plan_, now, FileIdentity::size).text.empty();
  throw Error(ErrorCode::conflict, At{folder_}, "'{}' contains {} of another plan: {}; {}choose an empty folder{}",
              folder_, is_finished ? "a finished set" : "shards", difference,
              only_times                    ? "sizes are equal: if only times differ, add --identity size, or "
              : is_finished && may_be_added ? "add new files with --append, or "
                                            : "",
              is_finished ? "" : ", or remove this one");
}

void ShardTarget::begin_append() {
  if (!has_plan()) return;
  open_plan();
  if (!plan_->head().inputs.empty()) {
    throw Error(ErrorCode::conflict, At{folder_},
                "'{}' was made by reshard, but --append needs a set made by convert; convert the new files into a "
                "separate folder and join both sets with `shardctl reshard`",
                folder_);
  }
  const std::string manifest = path_of(formats::kManifestName);
  if (!std::filesystem::exists(manifest) ||
      formats::read_manifest(io::read_text_file(manifest), manifest).plan_hash != to_hex(plan_->hash())) {
    return;
  }
  start_ = formats::PlanStart{plan_->first_shard() + plan_->shards().size(), plan_->hash()};
  plan_.reset();
  ++number_;
}

void ShardTarget::cancel_append() {
  --number_;
  open_plan();
}

/// Shards behind the last planned one: of an --append that was given up.
void ShardTarget::remove_given_up() const {
  if (!start_) return;
  std::vector<std::string> stale;
  for (const std::string& folder : {folder_, state_path("")}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string name = entry.path().filename();
      const std::optional<std::uint64_t> number = formats::shard_number(plan_->head().name, name);
      if (number && *number >= plan_->first_shard() + plan_->shards().size()) stale.push_back(entry.path());
    }
  }
  for (const std::string& path : stale) files_.remove(path);
}

void ShardTarget::refuse_superseded() const {
  if (!std::filesystem::exists(state_path(formats::plan_name(number_ + 1)))) return;
  throw Error(ErrorCode::conflict, At{folder_},
              "convert --append added to '{}' while this command ran; run it again with --append", folder_);
}

std::vector<std::string> ShardTarget::earlier_plans() const {
  std::vector<std::string> paths;
  for (std::uint64_t i = 0; i < number_; ++i) paths.push_back(state_path(formats::plan_name(i)));
  return paths;
}

std::string ShardTarget::earlier_manifest_path() const {
  return state_path(fmt::format("manifest-{}.json", number_ - 1));
}

/// A copy, because --append publishes a manifest in its place.
void ShardTarget::keep_earlier_manifest() const {
  if (!start_ || std::filesystem::exists(earlier_manifest_path())) return;
  io::publish(files_, earlier_manifest_path(), as_bytes(io::read_text_file(path_of(formats::kManifestName))));
}

std::optional<formats::Manifest> ShardTarget::earlier_manifest() const {
  if (!start_) return std::nullopt;
  std::string path = earlier_manifest_path();
  if (!std::filesystem::exists(path)) path = path_of(formats::kManifestName);  // there is no copy yet
  return formats::read_manifest(io::read_text_file(path), path);
}

void ShardTarget::require_earlier_shards(bool recheck) const {
  const std::optional<formats::Manifest> earlier = earlier_manifest();
  if (!earlier) return;
  for (const formats::ManifestShard& shard : earlier->shards) {
    const std::string path = path_of(shard.name);
    std::error_code error;
    const bool is_there = std::filesystem::exists(path, error);
    if (is_there && std::filesystem::file_size(path, error) == shard.bytes &&
        (!recheck || file_hash(path) == shard.xxh3_128)) {
      continue;
    }
    throw Error(is_there ? ErrorCode::corrupt : ErrorCode::not_found, At{path},
                "shard '{}' of the set is {}; repair the set first: `shardctl verify {}` lists what is wrong", path,
                is_there ? "damaged" : "missing", shell_word(folder_));
  }
}

void ShardTarget::refuse_other_options(formats::PlanHead head) const {
  if (!start_) return;
  io::FileSource file(earlier_plans().back());
  formats::PlanHead before = formats::PlanReader(file, earlier_plans().back()).head();
  for (formats::PlanHead* plan : {&before, &head}) {
    plan->options.erase("keys");           // one rule for names that need no other
    plan->options.erase("source_folder");  // follows from where the files are
  }
  const std::string difference = option_difference(before, head);
  if (difference.empty()) return;
  throw Error(ErrorCode::conflict, At{folder_}, "--append needs the options that '{}' was made with: {}", folder_,
              difference);
}

formats::Manifest ShardTarget::whole_manifest(const std::optional<formats::Manifest>& earlier,
                                              const formats::Manifest& added) const {
  if (!earlier) return added;
  formats::Manifest whole = formats::join_manifests(*earlier, added);
  whole.skipped -= std::min(whole.skipped, start_->readmitted);
  return whole;
}

bool ShardTarget::has_plan() const { return std::filesystem::exists(plan_path()); }

void ShardTarget::open_plan() {
  plan_file_ = std::make_unique<io::FileSource>(plan_path());
  plan_ = std::make_unique<formats::PlanReader>(*plan_file_, plan_path());
  start_ = plan_->head().start;
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
  if (summary.plan != to_hex(plan_->hash()) || summary.name != name) return std::nullopt;
  if (summary.samples == 0) return summary;
  const std::string path = path_of(name);
  if (::stat(path.c_str(), &info) != 0 || static_cast<std::uint64_t>(info.st_size) != summary.bytes)
    return std::nullopt;
  if (recheck && !(file_hash(path) == summary.xxh3_128)) return std::nullopt;
  return summary;
}

void ShardTarget::reopen(std::size_t shard) {
  const std::string name = plan_->shard_name(shard);
  const std::string manifest = path_of(formats::kManifestName);
  if (start_) io::publish(files_, manifest, as_bytes(io::read_text_file(earlier_manifest_path())));
  std::vector<std::string> stale = {path_of(name), io::join_path(folder_, formats::shard_index_path(name))};
  if (!start_) stale.push_back(manifest);
  for (const std::string& path : stale) {
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
      shorter.insert(shard->name);
      append_skipped(io::join_path(folder_, formats::shard_index_path(shard->name)), skipped);
    }
    if (shard->samples == 0) continue;
    manifest.shards.push_back(*shard);
    manifest.samples += shard->samples;
    manifest.bytes += shard->bytes;
  }
  manifest.skipped = skipped.size();
  if (const auto on_bad = manifest.options.find("on_bad");
      manifest.skipped > 0 && head.inputs.empty() && on_bad != manifest.options.end() && on_bad->second == "fail") {
    on_bad->second = "skip";  // of a later run than the one that made the plan
  }
  std::map<std::string, std::uint64_t> left_out = left_out_by_class(shorter, skipped);
  for (const formats::ManifestClass& item : head.classes) {
    manifest.classes.push_back({item.name, item.label, item.samples - left_out[item.name]});
  }
  return manifest;
}

}  // namespace shardkit::dataset
