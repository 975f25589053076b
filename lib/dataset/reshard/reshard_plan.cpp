#include "dataset/reshard/reshard_plan.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.hpp"
#include "core/units.hpp"
#include "dataset/sharding/shard_cutter.hpp"
#include "formats/plan_file.hpp"
#include "system/limits.hpp"

namespace shardkit::dataset {
namespace {

std::string place(const formats::MovedSample& sample, const ReshardInputs& inputs) {
  return fmt::format("'{}' at byte {}", inputs.tars[sample.input].path, sample.members.front().offset);
}

[[noreturn]] void refuse(const formats::MovedSample& first, const formats::MovedSample& second, std::uint64_t keys,
                         const ReshardInputs& inputs) {
  const std::string more = keys > 1 ? fmt::format(" ({} in all are there twice)", format_count(keys, "key")) : "";
  const std::string remedy = first.input == second.input
                                 ? "its members are no neighbours, or it was written twice; mend that tar"
                                 : "--mark-duplicates keeps both under keys of their own";
  throw Error(ErrorCode::conflict,
              fmt::format("key '{}' is in {} and in {}{}: {}", second.key, place(first, inputs), place(second, inputs),
                          more, remedy),
              inputs.tars[second.input].path, second.members.front().offset);
}

class Settler {
 public:
  Settler(SampleTable& table, const ReshardInputs& inputs, bool mark) : table_(table), inputs_(inputs), mark_(mark) {}

  /// True when samples were marked.
  bool run(Context& ctx) {
    std::vector<std::uint32_t> order(table_.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto hash = [this](std::uint32_t sample) { return table_.record(sample).key_hash; };
    unsigned compared = 0;
    std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
      if (++compared % 65536 == 0) ctx.throw_if_stopped();  // ten million take seconds
      return hash(a) != hash(b) ? hash(a) < hash(b) : a < b;
    });
    for (auto begin = order.begin(); begin != order.end();) {
      const auto end =
          std::find_if(begin, order.end(), [&](std::uint32_t other) { return hash(other) != hash(*begin); });
      if (end - begin > 1) settle(std::span(begin, end));
      begin = end;
    }
    if (repeated_keys_ > 0) refuse(table_.read(refused_.first), table_.read(refused_.second), repeated_keys_, inputs_);
    for (const std::uint32_t sample : to_mark_) table_.mark(sample);
    return !to_mark_.empty();
  }

 private:
  /// Samples whose keys have one hash: nearly always one key.
  void settle(std::span<const std::uint32_t> samples) {
    std::map<std::string, std::vector<std::uint32_t>> by_key;
    for (const std::uint32_t sample : samples) by_key[table_.read(sample).key].push_back(sample);
    for (const auto& [key, same] : by_key) {
      if (same.size() == 1) continue;
      std::set<std::uint64_t> tars;
      for (const std::uint32_t sample : same) tars.insert(table_.read(sample).input);
      if (mark_ && tars.size() == same.size()) {
        to_mark_.insert(to_mark_.end(), same.begin(), same.end());
      } else {
        const auto pair = pair_to_name(same);
        if (repeated_keys_++ == 0 || pair.first < refused_.first) refused_ = pair;
      }
    }
  }

  /// Two of one tar where marks were asked for: samples of several tars would have got them.
  std::pair<std::uint32_t, std::uint32_t> pair_to_name(const std::vector<std::uint32_t>& same) const {
    const auto input = [this](std::uint32_t sample) { return table_.read(sample).input; };
    const auto twins = mark_ ? std::ranges::adjacent_find(same, {}, input) : same.end();
    return twins == same.end() ? std::pair(same[0], same[1]) : std::pair(twins[0], twins[1]);
  }

  SampleTable& table_;
  const ReshardInputs& inputs_;
  bool mark_;
  std::vector<std::uint32_t> to_mark_;
  std::pair<std::uint32_t, std::uint32_t> refused_;  ///< of the repeated keys that in input order comes first
  std::uint64_t repeated_keys_ = 0;
};

}  // namespace

void settle_duplicate_keys(SampleTable& table, const ReshardInputs& inputs, bool mark, Context& ctx) {
  ctx.progress().start("compare keys", table.size());
  // A marked key may meet one that was there before: then only an error is honest.
  if (Settler(table, inputs, mark).run(ctx)) Settler(table, inputs, false).run(ctx);
}

namespace {

/// Options that shape the output, as plan and manifest keep them.
std::map<std::string, std::string> plan_options(const ReshardOptions& options, const std::string& set,
                                                const ReshardInputs& inputs) {
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
  texts.merge(split_texts(options, set));
  if (options.sample) number("seed", options.seed);
  flag("drop_bad", options.drop_bad);
  flag("mark_duplicates", options.mark_duplicates);
  list("rename", options.rename);
  texts.insert(inputs.made_with.begin(), inputs.made_with.end());
  return texts;
}

/// The classes that the inputs' manifests name, with their samples here. Samples of classes that share a label are told
/// apart by their original paths, as far as indexes know them. A label that none names is called by its number where
/// others have names; without any name there are no classes.
std::vector<formats::PlanClass> plan_classes(const ReshardInputs& inputs, const SampleTable& table,
                                             const SampleOrder& order, const Context& ctx) {
  if (inputs.classes.empty()) return {};
  std::map<std::uint64_t, std::vector<std::string>> names = names_by_label(inputs.classes);
  std::map<std::uint64_t, std::vector<std::uint64_t>> samples;  // of a label, by class
  for (const auto& [label, of_label] : names) samples[label].resize(of_label.size());
  for (const std::uint32_t sample : order) {
    const std::uint64_t label = table.record(sample).label;
    if (label == kNoLabel) continue;
    const std::vector<std::string>& of_label = names[label];
    std::vector<std::uint64_t>& counts = samples[label];
    if (counts.empty()) counts.resize(1);
    if (of_label.size() > 1) ctx.throw_if_stopped();  // a line is read from disk
    ++counts[of_label.size() > 1 ? formats::class_of_path(table.read(sample), of_label) : 0];
  }
  std::vector<formats::PlanClass> classes;
  for (const auto& [label, counts] : samples) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const std::vector<std::string>& of_label = names[label];
      classes.push_back({of_label.empty() ? fmt::to_string(label) : of_label[i], label, counts[i]});
    }
  }
  return classes;
}

void refuse_larger_than_memory(const SampleTable& table, const SampleOrder& order) {
  const std::uint64_t most = system::usable_memory() / 2;
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
  formats::PlanHead head{
      options.sizes.name, plan_options(options, set, inputs), plan_classes(inputs, table, order, ctx), {}, {}};
  for (const ReshardInput& input : inputs.tars) head.inputs.push_back(input.identity);
  const ShardCut cut = cut_shards(
      order.size(), [&](std::uint64_t i) { return table.tar_bytes(order[i]); }, options.sizes);
  ReshardPlanned planned;
  planned.oversized = cut.oversized;
  formats::PlanWriter writer(sink, head);
  std::size_t next = 0;
  for (const std::uint64_t samples : cut.samples) {
    writer.begin_shard();
    for (std::uint64_t i = 0; i < samples; ++i) {
      const formats::MovedSample sample = table.read(order[next++]);
      writer.add_line(formats::moved_sample_line(sample), formats::moved_sample_identity(sample),
                      formats::moved_sample_tar_bytes(sample));
      if (sample.key != sample.source_key) ++planned.renamed;
      ++ctx.progress().items;
    }
    ctx.throw_if_stopped();
  }
  writer.finish();
  return planned;
}

}  // namespace shardkit::dataset
