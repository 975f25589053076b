#include "dataset/reshard_plan.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.hpp"
#include "core/units.hpp"
#include "dataset/shard_cutter.hpp"
#include "formats/plan_file.hpp"
#include "system/limits.hpp"

namespace shardkit {
namespace {

/// Options that shape the output, as plan and manifest keep them.
std::map<std::string, std::string> plan_options(const ReshardOptions& options, const std::string& set) {
  std::map<std::string, std::string> texts = option_texts(options.sizes);
  const auto list = [&](const char* name, const std::vector<std::string>& values) {
    if (!values.empty()) texts[name] = fmt::format("{}", fmt::join(values, ","));
  };
  const auto number = [&](const char* name, std::optional<std::uint64_t> value) {
    if (value) texts[name] = fmt::to_string(*value);
  };
  const auto flag = [&](const char* name, bool value) {
    if (value) texts[name] = "yes";
  };
  texts["order"] = options.sort ? "key" : options.shuffle ? "shuffled" : "input";
  number("shuffle", options.shuffle);
  list("class", options.classes);
  list("key", options.keys);
  number("min_size_bytes", options.min_size);
  number("max_size_bytes", options.max_size);
  if (options.sample) texts["sample"] = *options.sample;
  list("split", options.split);
  if (!set.empty()) texts["set"] = set;
  flag("stratify", options.stratify);
  if (options.sample || !options.split.empty()) number("seed", options.seed);
  flag("drop_bad", options.drop_bad);
  flag("mark_duplicates", options.mark_duplicates);
  list("rename", options.rename);
  return texts;
}

/// The classes that the inputs' manifests name, with their samples here. A label that none names is called by its
/// number where others have names; without any name there are no classes.
std::vector<PlanClass> plan_classes(const ReshardInputs& inputs, const SampleTable& table, const SampleOrder& order) {
  if (inputs.classes.empty()) return {};
  std::map<std::uint64_t, std::uint64_t> samples;
  for (const std::uint32_t sample : order) ++samples[table.record(sample).label];
  samples.erase(kNoLabel);
  std::vector<PlanClass> classes;
  for (const ManifestClass& item : inputs.classes) {
    // Classes that share a label cannot be told apart: the first has all its samples.
    const auto counted = samples.find(item.label);
    classes.push_back({item.name, item.label, counted == samples.end() ? 0 : counted->second});
    if (counted != samples.end()) samples.erase(counted);
  }
  for (const auto& [label, count] : samples) classes.push_back({fmt::to_string(label), label, count});
  std::ranges::stable_sort(classes, {}, &PlanClass::label);
  return classes;
}

void refuse_larger_than_memory(const SampleTable& table, const SampleOrder& order) {
  const std::uint64_t most = usable_memory() / 2;
  for (const std::uint32_t number : order) {
    if (table.tar_bytes(number) <= most) continue;
    throw Error(
        ErrorCode::unsupported,
        fmt::format("sample '{}' has {}, but a sample is held in memory whole and this process may use {}; leave "
                    "it out with --max-size",
                    table.read(number).source_key, format_size(table.tar_bytes(number)), format_size(2 * most)));
  }
}

}  // namespace

ReshardPlanned write_reshard_plan(const ReshardOptions& options, const std::string& set, const ReshardInputs& inputs,
                                  const SampleTable& table, const SampleOrder& order, ByteSink& sink, Context& ctx) {
  refuse_larger_than_memory(table, order);
  PlanHead head{options.sizes.name, plan_options(options, set), plan_classes(inputs, table, order), {}, {}};
  for (const ReshardInput& input : inputs.tars) head.inputs.push_back(input.identity);
  const ShardCut cut = cut_shards(
      order.size(), [&](std::uint64_t i) { return table.tar_bytes(order[i]); }, options.sizes);
  ReshardPlanned planned;
  planned.oversized = cut.oversized;
  PlanWriter writer(sink, head);
  std::size_t next = 0;
  for (const std::uint64_t samples : cut.samples) {
    writer.begin_shard();
    for (std::uint64_t i = 0; i < samples; ++i) {
      const MovedSample sample = table.read(order[next++]);
      writer.add_line(moved_sample_line(sample), moved_sample_identity(sample), moved_sample_tar_bytes(sample));
      if (sample.key != sample.source_key) ++planned.renamed;
      ++ctx.progress().items;
    }
    ctx.throw_if_stopped();
  }
  writer.finish();
  return planned;
}

}  // namespace shardkit
