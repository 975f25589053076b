#include "dataset/sharding/plan_difference.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/command_text.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "core/units.hpp"

namespace shardkit::dataset {

namespace {

/// Each --field of a JSON array.
std::string fields_as_typed(const std::string& array) {
  std::string text;
  if (!array.empty()) {
    for (const nlohmann::json& field : nlohmann::json::parse(array, nullptr, false)) {
      if (field.is_string())
        text += fmt::format("{}--field {}", text.empty() ? "" : " ", shell_word(field.get_ref<const std::string&>()));
    }
  }
  return text.empty() ? "no --field" : text;
}

/// An option of a plan as people type it: "--size 64MiB" of "size_bytes", "no --group-by" of an empty value.
std::string as_typed(std::string name, std::string value) {
  if (name == "shuffle" && value == "none") return "--no-shuffle";
  if (name == "order")
    return value == "key" ? "--sort" : value == "shuffled" ? "--shuffle" : "neither --sort nor --shuffle";
  if (name == "fields") return fields_as_typed(value);
  if (name.ends_with("_bytes")) {
    name.resize(name.rfind('_'));
    if (const auto bytes = parse_count(value)) value = exact_size(*bytes);
  }
  const bool is_option = name != "order" && name != "source_folder" && name != "set";
  if (is_option) std::ranges::replace(name.insert(0, "--"), '_', '-');
  if (value.empty()) return "no " + name;
  return value == "yes" ? name : fmt::format("{} {}", name, value);
}

/// Throws Error{io} for a class folder that the source had: it may come back.
void refuse_gone_folder(const formats::PlanHead& before, const formats::PlanHead& now) {
  const bool fewer = now.classes.size() < before.classes.size();
  for (const formats::ManifestClass& was : before.classes) {
    const auto is = std::ranges::find(now.classes, was.name, &formats::ManifestClass::name);
    if (is == now.classes.end() ? !fewer : is->samples > 0 || was.samples == 0) continue;
    throw Error(ErrorCode::io, At{was.name},
                "class folder '{}' of the plan {}: is all of the source mounted? Run the same command again when it is "
                "back; to go without it, {}",
                was.name, is == now.classes.end() ? "no longer exists" : "has no images now",
                before.start ? "add --discard to this command, which removes what the unfinished --append wrote"
                             : "choose an empty target");
  }
}

std::string class_difference(const formats::PlanHead& before, const formats::PlanHead& now) {
  if (!now.listed) refuse_gone_folder(before, now);
  std::map<std::string_view, const formats::ManifestClass*> gone;
  for (const formats::ManifestClass& was : before.classes) gone.emplace(was.name, &was);
  for (const formats::ManifestClass& is : now.classes) {
    const auto found = gone.find(is.name);
    if (found == gone.end()) return fmt::format("class '{}' is new", is.name);
    const formats::ManifestClass& was = *found->second;
    if (was.label != is.label) return fmt::format("class '{}' had label {}, has {}", is.name, was.label, is.label);
    if (was.samples != is.samples)
      return fmt::format("class '{}' had {} images, has {}", is.name, was.samples, is.samples);
    gone.erase(found);
  }
  if (gone.empty()) return {};
  return fmt::format("class '{}' no longer exists", gone.begin()->first);
}

std::string input_difference(const formats::PlanHead& before, const formats::PlanHead& now) {
  for (std::size_t i = 0; i < std::max(before.inputs.size(), now.inputs.size()); ++i) {
    if (i >= now.inputs.size()) return fmt::format("input '{}' no longer exists", before.inputs[i].name);
    if (i >= before.inputs.size()) return fmt::format("input '{}' is new", now.inputs[i].name);
    const formats::PlanInput& was = before.inputs[i];
    const formats::PlanInput& is = now.inputs[i];
    if (was.name != is.name) return fmt::format("input '{}' is at the position of '{}'", is.name, was.name);
    if (was.bytes != is.bytes) return fmt::format("input '{}' had {} bytes, has {}", is.name, was.bytes, is.bytes);
    if (was != is) return fmt::format("input '{}' was modified since", is.name);
  }
  return {};
}

/// Hashes of the paths of all images of a plan, in ascending order.
std::vector<std::uint64_t> path_hashes(const formats::PlanReader& plan) {
  std::vector<std::uint64_t> hashes;
  formats::PlannedSample sample;
  for (std::size_t shard = 0; shard < plan.shards().size(); ++shard) {
    for (auto samples = plan.read_shard(shard); samples.next(sample);)
      hashes.push_back(xxh3_64(as_bytes(formats::image_path(plan.head(), sample))));
  }
  std::ranges::sort(hashes);
  return hashes;
}

std::string first_path_of(const formats::PlanReader& plan, const std::vector<std::uint64_t>& hashes) {
  formats::PlannedSample sample;
  for (std::size_t shard = 0; shard < plan.shards().size(); ++shard) {
    for (auto samples = plan.read_shard(shard); samples.next(sample);) {
      std::string path = formats::image_path(plan.head(), sample);
      if (std::ranges::binary_search(hashes, xxh3_64(as_bytes(path)))) return path;
    }
  }
  return {};
}

/// `found`, with the images of `before` that `now` lacks; one that is renamed is gone and new.
PlanDifference with_gone_files(PlanDifference found, const formats::PlanReader& before,
                               const formats::PlanReader& now) {
  const std::vector<std::uint64_t> was = path_hashes(before);
  const std::vector<std::uint64_t> is = path_hashes(now);
  std::vector<std::uint64_t> gone;
  std::ranges::set_difference(was, is, std::back_inserter(gone));
  if (gone.empty() && is.size() > was.size()) found.files = SourceFiles::added;
  if (gone.empty()) return found;
  found.files = SourceFiles::gone;
  found.text +=
      fmt::format("; {} of the plan {} no longer in the source, the first is '{}'", format_count(gone.size(), "image"),
                  gone.size() == 1 ? "is" : "are", first_path_of(before, gone));
  return found;
}

/// The difference between two samples that are not the same.
PlanDifference sample_difference(const formats::PlanReader& before, const formats::PlannedSample& was,
                                 const formats::PlanReader& now, const formats::PlannedSample& is,
                                 FileIdentity identity) {
  const std::string path = formats::image_path(now.head(), is);
  if (formats::image_path(before.head(), was) != path)
    return with_gone_files({fmt::format("'{}' is at the position of another file", path)}, before, now);
  if (was.image.size != is.image.size)
    return {fmt::format("'{}' had {} bytes, has {}", path, was.image.size, is.image.size)};
  if (identity == FileIdentity::mtime && was.image != is.image)
    return {.text = fmt::format("'{}' was modified since", path), .is_time = true};
  if (was.group != is.group) return {fmt::format("'{}' belongs to another group", path)};
  if (was.json != is.json) return {fmt::format("the .json of '{}' is different: its row has changed", path)};
  return {fmt::format("the side-cars of '{}' are different", path)};
}

std::optional<PlanDifference> first_other_sample(const formats::PlanReader& before, const formats::PlanReader& now,
                                                 FileIdentity identity) {
  const auto compared = identity == FileIdentity::mtime ? &formats::SampleLine::text : &formats::SampleLine::identity;
  formats::SampleLine old_line;
  formats::SampleLine new_line;
  formats::PlannedSample was;
  formats::PlannedSample is;
  for (std::size_t shard = 0; shard < std::min(before.shards().size(), now.shards().size()); ++shard) {
    auto old_samples = before.read_shard(shard);
    auto new_samples = now.read_shard(shard);
    while (true) {
      const bool had = old_samples.next(was);
      const bool has = new_samples.next(is);
      if (had != has)
        return with_gone_files({fmt::format("shard {} has a different number of samples", shard)}, before, now);
      if (!had) break;
      formats::write_sample_line(before.head(), was, old_line);
      formats::write_sample_line(now.head(), is, new_line);
      if (old_line.*compared != new_line.*compared) return sample_difference(before, was, now, is, identity);
    }
  }
  return std::nullopt;
}

}  // namespace

std::string option_difference(const formats::PlanHead& before, const formats::PlanHead& now) {
  std::map<std::string, std::pair<std::string, std::string>> values;
  for (const auto& [name, value] : before.options) values[name].first = value;
  for (const auto& [name, value] : now.options) values[name].second = value;
  values["name"] = {before.name, now.name};
  std::vector<std::string> was;
  std::vector<std::string> is;
  for (const auto& [name, value] : values) {
    if (formats::planned_value(name, value.first) == formats::planned_value(name, value.second)) continue;
    was.push_back(as_typed(name, value.first));
    is.push_back(as_typed(name, value.second));
  }
  if (was.empty()) return {};
  return fmt::format("the earlier run used {}, but this one asks for {}", fmt::join(was, " and "),
                     fmt::join(is, " and "));
}

std::optional<PlanDifference> plan_difference(const formats::PlanReader& before, const formats::PlanReader& now,
                                              FileIdentity identity) {
  if (const auto text = option_difference(before.head(), now.head()); !text.empty()) return PlanDifference{text};
  if (const auto text = input_difference(before.head(), now.head()); !text.empty()) return PlanDifference{text};
  const std::string classes = class_difference(before.head(), now.head());
  if (!now.head().inputs.empty()) return PlanDifference{classes.empty() ? "an input's index has changed" : classes};
  if (!classes.empty()) return with_gone_files({classes}, before, now);
  const auto& was = before.head().skipped;
  const auto& is = now.head().skipped;
  // Files that were left out may be deleted.
  if (!std::ranges::includes(was, is, {}, &formats::IndexSkip::path, &formats::IndexSkip::path))
    return with_gone_files({"other files cannot be read", SourceFiles::added}, before, now);
  return first_other_sample(before, now, identity);
}

}  // namespace shardkit::dataset
