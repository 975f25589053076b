#include <map>
#include <string_view>

#include <fmt/format.h>

#include "dataset/sharding/convert_target.hpp"

namespace shardkit {
namespace {

std::string option_difference(const PlanHead& before, const PlanHead& now) {
  const auto text = [](const std::map<std::string, std::string>& options, const std::string& name) {
    const auto found = options.find(name);
    return found == options.end() ? std::string("not given") : found->second;
  };
  if (before.name != now.name) return fmt::format("option name was {}, is {}", before.name, now.name);
  for (const auto& [name, value] : now.options) {
    const std::string old = text(before.options, name);
    if (old != value) return fmt::format("option {} was {}, is {}", name, old, value);
  }
  for (const auto& [name, value] : before.options) {
    if (!now.options.contains(name)) return fmt::format("option {} was {}, is not given", name, value);
  }
  return {};
}

std::string class_difference(const PlanHead& before, const PlanHead& now) {
  std::map<std::string_view, const PlanClass*> gone;
  for (const PlanClass& was : before.classes) gone.emplace(was.name, &was);
  for (const PlanClass& is : now.classes) {
    const auto found = gone.find(is.name);
    if (found == gone.end()) return fmt::format("class '{}' is new", is.name);
    const PlanClass& was = *found->second;
    if (was.label != is.label) return fmt::format("class '{}' had label {}, has {}", is.name, was.label, is.label);
    if (was.samples != is.samples) {
      return fmt::format("class '{}' had {} images, has {}", is.name, was.samples, is.samples);
    }
    gone.erase(found);
  }
  return gone.empty() ? std::string() : fmt::format("class '{}' is gone", gone.begin()->first);
}

std::string sample_difference(const PlanReader& before, const PlanReader& now) {
  PlannedSample was;
  PlannedSample is;
  for (std::size_t shard = 0; shard < std::min(before.shards().size(), now.shards().size()); ++shard) {
    auto old_samples = before.read_shard(shard);
    auto new_samples = now.read_shard(shard);
    while (true) {
      const bool had = old_samples.next(was);
      const bool has = new_samples.next(is);
      if (had != has) return fmt::format("shard {} has another number of samples", shard);
      if (!had) break;
      if (was == is) continue;
      const std::string path = image_path(now.head(), is);
      if (image_path(before.head(), was) != path) return fmt::format("'{}' is where another file was", path);
      if (was.image.size != is.image.size) {
        return fmt::format("'{}' had {} bytes, has {}", path, was.image.size, is.image.size);
      }
      if (was.image != is.image) return fmt::format("'{}' was modified since", path);
      if (was.json != is.json) return fmt::format("the .json of '{}' is another: its row has changed", path);
      return fmt::format("the side-cars of '{}' are others", path);
    }
  }
  return {};
}

std::string input_difference(const PlanHead& before, const PlanHead& now) {
  for (std::size_t i = 0; i < std::max(before.inputs.size(), now.inputs.size()); ++i) {
    if (i >= now.inputs.size()) return fmt::format("input '{}' is gone", before.inputs[i].name);
    if (i >= before.inputs.size()) return fmt::format("input '{}' is new", now.inputs[i].name);
    const PlanInput& was = before.inputs[i];
    const PlanInput& is = now.inputs[i];
    if (was.name != is.name) return fmt::format("input '{}' is where '{}' was", is.name, was.name);
    if (was.bytes != is.bytes) return fmt::format("input '{}' had {} bytes, has {}", is.name, was.bytes, is.bytes);
    if (was != is) return fmt::format("input '{}' was modified since", is.name);
  }
  return {};
}

}  // namespace

std::string plan_difference(const PlanReader& before, const PlanReader& now) {
  std::string text = option_difference(before.head(), now.head());
  if (text.empty()) text = input_difference(before.head(), now.head());
  if (text.empty()) text = class_difference(before.head(), now.head());
  if (text.empty() && before.head().skipped != now.head().skipped) text = "other files cannot be read";
  if (text.empty() && !now.head().inputs.empty()) text = "an input's index now tells something else";
  if (text.empty()) text = sample_difference(before, now);
  return text.empty() ? "the plan file is damaged" : text;
}

}  // namespace shardkit
