#include "dataset/sharding/planner.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/prng.hpp"
#include "core/units.hpp"
#include "formats/portable_name.hpp"
#include "formats/tar_header.hpp"

namespace shardkit::dataset {

Planner::Planner(const ScannedSource& source, const ShardingOptions& options, const PlanScope& scope, Context& ctx)
    : source_(source), scan_(source.scan), options_(options), scope_(scope), ctx_(ctx) {}

PlanResult Planner::write(ByteSink& sink) {
  make_order();
  make_head();
  const ShardCut shards = cut();
  ctx_.progress().start("plan", order_.size());
  formats::PlanWriter writer(sink, head_);
  std::size_t next = 0;
  std::vector<std::size_t> seen_in(head_.classes.size(), 0);  // shard number + 1
  for (std::size_t shard = 0; shard < shards.samples.size(); ++shard) {
    writer.begin_shard();
    std::uint64_t classes = 0;
    for (std::uint64_t i = 0; i < shards.samples[shard]; ++i, ++next) {
      const formats::PlannedSample sample = sample_at(order_[next]);
      writer.add(sample);
      note_sample();
      if (sample.class_index && std::exchange(seen_in[*sample.class_index], shard + 1) != shard + 1) ++classes;
    }
    count_classes(classes, shard, shards.samples.size());
    ctx_.throw_if_stopped();
  }
  result_.plan_hash = to_hex(writer.finish());
  summarise(writer.shards());
  return std::move(result_);
}

ShardCut Planner::cut() {
  ctx_.progress().start("sizes", order_.size());
  std::vector<std::uint32_t> blocks;  // a sample costs 10 us and more where there is metadata: asked for once
  blocks.reserve(order_.size());
  for (const Place& place : order_) {
    blocks.push_back(static_cast<std::uint32_t>(bytes_at(place) / formats::kTarBlock));
    note_sample();
  }
  const ShardCut cut = cut_shards(
      blocks.size(), [&](std::uint64_t i) { return std::uint64_t{blocks[i]} * formats::kTarBlock; }, options_);
  if (cut.oversized > 0) {
    ctx_.warn("sample_over_shard_size", fmt::format("{} larger than --size: each gets a shard of its own",
                                                    format_count(cut.oversized, "sample")));
  }
  return cut;
}

void Planner::make_order() {
  order_.reserve(scope_.samples ? scope_.samples->size() : scan_.images());
  std::uint32_t number = 0;
  std::size_t taken = 0;
  for (std::size_t c = 0; c < scan_.classes.size(); ++c) {
    for (std::size_t f = 0; f < scan_.classes[c].files.size(); ++f, ++number) {
      if (scope_.samples) {
        if (taken == scope_.samples->size() || (*scope_.samples)[taken] != number) continue;
        ++taken;
      }
      order_.emplace_back(c, f);
    }
  }
}

void Planner::make_head() {
  head_.name = options_.name;
  head_.options = option_texts(options_);
  head_.options.insert(scope_.options.begin(), scope_.options.end());
  head_.parts = scope_.parts;
  if (!scan_.problems.empty() && options_.on_bad != OnBad::skip) throw scan_.problems.front().error;
  if (scope_.lists_skipped) {
    for (const catalog::ScanProblem& problem : scan_.problems)
      head_.skipped.push_back({problem.path, problem.error.what()});
  }
  head_.listed = scan_.listed;
  for (std::size_t c = 0; c < source_.labels.size(); ++c) {
    head_.classes.push_back({scan_.classes[c].name, source_.labels[c], 0});
  }
  label_digits_ = formats::label_digits(head_);
  if (order_.empty()) {
    throw Error(ErrorCode::not_found, fmt::format("no readable images below '{}'", source_.root), source_.root);
  }
  if (!head_.classes.empty()) {
    for (const Place& place : order_) ++head_.classes[place.class_index()].samples;
  }
  if (options_.no_shuffle) return;
  Prng prng(options_.shuffle.value_or(0));
  shuffle(std::span(order_), prng);
}

formats::PlannedSample Planner::sample_at(const Place& place) const {
  const catalog::ScannedClass& owner = scan_.classes[place.class_index()];
  const catalog::ScannedFile& file = owner.files[place.file()];
  const std::string_view stem = formats::split_extension(owner.name_of(file)).stem;
  std::optional<std::uint32_t> class_index;
  if (!head_.classes.empty()) class_index = static_cast<std::uint32_t>(place.class_index());
  const auto planned = [&](const catalog::ScannedFile& member) {
    const std::string_view name = owner.name_of(member);
    if (member.size >= formats::kTarSizeLimit) {
      const std::string path = owner.path_of(member);
      throw Error(ErrorCode::unsupported,
                  fmt::format("'{}' has {} bytes; members of portable shards stay below 8 GiB", path, member.size),
                  path);
    }
    const std::string_view suffix = name.substr(stem.size());
    return formats::PlannedFile{std::string(suffix.starts_with('.') ? suffix.substr(1) : suffix), member.size,
                                member.mtime_ns};
  };
  formats::PlannedSample sample{class_index, file.marked, std::string(stem), planned(file), {}};
  const auto index = static_cast<std::uint32_t>(place.file());
  auto sidecar = std::ranges::lower_bound(owner.sidecars, index, {}, &catalog::ScannedSidecar::image);
  for (; sidecar != owner.sidecars.end() && sidecar->image == index; ++sidecar) {
    sample.sidecars.push_back(planned(sidecar->file));
  }
  if (source_.notes) sample.json = json_of(owner.path_of(file));
  return sample;
}

std::string Planner::json_of(const std::string& path) const {
  std::string json = source_.notes->json_of(path);
  if (json.size() > formats::kLongestPlannedJson) {
    throw Error(
        ErrorCode::unsupported,
        fmt::format("the .json of '{}' would have {} bytes, a plan holds at most {}; keep such data in a file beside "
                    "the image",
                    path, format_count(json.size()), format_count(formats::kLongestPlannedJson)),
        path);
  }
  return json;
}

/// Rows of metadata make a sample cost 10 us and more, a shard of them seconds.
void Planner::note_sample() const {
  if (++ctx_.progress().items % 4096 == 0) ctx_.throw_if_stopped();
}

std::uint64_t Planner::bytes_at(const Place& place) const {
  const formats::PlannedSample sample = sample_at(place);
  return formats::sample_tar_bytes(sample, sample.class_index ? label_digits_[*sample.class_index] : 0);
}

void Planner::count_classes(std::uint64_t classes, std::size_t shard, std::size_t shards) {
  ClassesPerShard& per_shard = result_.classes_per_shard;
  per_shard.min = shard == 0 ? classes : std::min(per_shard.min, classes);
  per_shard.max = std::max(per_shard.max, classes);
  per_shard.mean += static_cast<double>(classes) / static_cast<double>(shards);
}

void Planner::summarise(const std::vector<formats::PlanShard>& shards) {
  result_.samples = order_.size();
  result_.shards = shards.size();
  for (const formats::PlanShard& shard : shards) {
    result_.bytes += shard.bytes;
    result_.largest_shard_bytes = std::max(result_.largest_shard_bytes, shard.bytes);
  }
  result_.classes = head_.classes.size();
  result_.skipped = head_.skipped.size();
  result_.ignored_files = scan_.ignored;
  std::uint64_t largest_class = 0;
  for (const formats::PlanClass& item : head_.classes) largest_class = std::max(largest_class, item.samples);
  const ShuffleBuffer buffer =
      shuffle_buffer_for({!options_.no_shuffle, largest_class, result_.samples, result_.bytes});
  result_.shuffle_buffer_samples = buffer.samples;
  result_.shuffle_buffer_bytes = buffer.bytes;
}

}  // namespace shardkit::dataset
