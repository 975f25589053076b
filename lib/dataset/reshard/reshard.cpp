#include "dataset/reshard/reshard.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "catalog/swapped_operands.hpp"
#include "core/command_text.hpp"
#include "core/error.hpp"
#include "core/field_tree.hpp"
#include "core/hash.hpp"
#include "core/prng.hpp"
#include "core/remedies.hpp"
#include "core/units.hpp"
#include "dataset/bucket/output_location.hpp"
#include "dataset/checks/apart.hpp"
#include "dataset/reshard/sample_filter.hpp"
#include "dataset/reshard/sample_table.hpp"
#include "dataset/samples/sample_lister.hpp"
#include "dataset/sharding/shard_cutter.hpp"
#include "formats/plan_file.hpp"
#include "formats/shard_index.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"
#include "io/temporary_folder.hpp"
#include "system/limits.hpp"

namespace shardkit::dataset {
namespace {

void check(const ReshardOptions& options) {
  check(options.sizes);
  if (options.sort && options.shuffle) {
    throw usage_error("--sort and --shuffle exclude each other");
  }
  if (parse_renames(options.rename).contains(std::string(kLabelExtension)) && options.merge_classes)
    throw usage_error("--merge-classes writes .cls members, which --rename would rename");
  if (!split_rule(options).column.empty()) {
    throw usage_error("--group-by column:NAME needs a table, which only convert has; use key:REGEX or dir");
  }
  if (options.sample) wanted_samples(*options.sample, 0);
}

/// Options that shape the output, as plan and manifest keep them.
std::map<std::string, std::string> plan_options(ReshardOptions options, const std::string& set,
                                                const ReshardInputs& inputs) {
  set_defaults(options.sizes);
  std::map<std::string, std::string> texts = planned_texts(options);
  texts["order"] = options.sort ? "key" : options.shuffle ? "shuffled" : "input";
  texts.merge(split_texts(options, set));
  if (options.split.empty() && !options.sample) texts.erase("seed");
  texts.insert(inputs.made_with.begin(), inputs.made_with.end());
  return texts;
}

/// The classes that the inputs' manifests name, with their samples here. Samples of classes that share a label are
/// separated by their original paths, if indexes have them. A label without a name gets its number as name if others
/// have names; without any name there are no classes.
std::vector<formats::ManifestClass> plan_classes(const ReshardInputs& inputs, const SampleTable& table,
                                                 const SampleOrder& order, const Context& context) {
  if (inputs.classes.empty()) return {};
  std::map<std::uint64_t, std::vector<std::string>> names = names_by_label(inputs.classes);
  std::map<std::uint64_t, std::vector<std::uint64_t>> samples;  // of a label, by class
  for (const auto& [label, of_label] : names) samples[label].resize(of_label.size());
  for (const std::uint32_t sample : order) {
    const std::optional<std::uint64_t> label = table.label(sample);
    if (!label) continue;
    const std::vector<std::string>& of_label = names[*label];
    std::vector<std::uint64_t>& counts = samples[*label];
    if (counts.empty()) counts.resize(1);
    if (of_label.size() < 2) {
      ++counts[0];
      continue;
    }
    context.throw_if_stopped();
    const formats::MovedSample line = table.read(sample);  // from disk
    ++counts[class_of(inputs.tars[line.input], line, of_label).value_or(0)];
  }
  std::vector<formats::ManifestClass> classes;
  for (const auto& [label, counts] : samples) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const std::vector<std::string>& of_label = names[label];
      classes.push_back({of_label.empty() ? fmt::to_string(label) : of_label[i], label, counts[i]});
    }
  }
  return classes;
}

/// With --drop-bad they are left out when they would be written: which these are depends on the machine.
void refuse_larger_than_memory(const ReshardOptions& options, const SampleTable& table, const SampleOrder& order) {
  if (options.drop_bad) return;
  const std::uint64_t most = most_sample_bytes();
  for (const std::uint32_t number : order) {
    if (table.tar_bytes(number) <= most) continue;
    throw Error(ErrorCode::unsupported,
                fmt::format("sample '{}' has {}, but a sample is kept in memory and this "
                            "process may use {}; {} leaves such samples out",
                            table.read(number).source_key, format_size(table.tar_bytes(number)), format_size(2 * most),
                            remedy::in_text(remedy::with_drop_bad(command_of(options)))));
  }
}

class Resharding {
 public:
  /// `target`: the folder in `files`.
  Resharding(const ReshardOptions& options, io::OutputFiles& files, const std::string& target, Context& context)
      : options_(options), context_(context), rule_(split_rule(options)), job_(target, options, {}, files, context) {
    check(options);
    if (rule_.shares.empty()) add_set("");
    for (const SplitShare& share : rule_.shares) add_set(share.name);
    orders_.resize(job_.sets().size());
  }

  ReshardResult run() {
    // Reading the inputs, planning, a check of the target, and the sets to write.
    context_.progress().expect_stages(3 + (options_.dry_run ? 0 : job_.sets().size()));
    context_.progress().next_stage();
    find_inputs();
    SampleFilter(options_, inputs_);  // before anything is written or unpacked
    for (OutputSet& set : job_.sets()) job_.prepare(set);
    // Files that are only needed until the end of the run: unpacked inputs and, until plans are made, the list of
    // samples.
    const std::string scratch = options_.dry_run || !job_.sets().front().files().is_local()
                                    ? io::temporary_folder()
                                    : job_.sets().front().state_path("");
    unpack_inputs(inputs_, options_, scratch, job_.cores(), *scratch_files_, context_);
    make_plans(scratch);
    job_.settle_part();
    resume();
    if (options_.dry_run) return std::move(result_);
    for (OutputSet& set : job_.sets()) write_set(set);
    if (result_.samples == 0 && result_.dropped > 0) refuse_empty_result();
    warn_of_dropped();
    return std::move(result_);
  }

 private:
  void add_set(const std::string& name) { job_.add_set(name, job_.look(name, catalog::SetVerb::convert)); }

  void find_inputs() {
    std::vector<std::string> folders;
    for (const OutputSet& set : job_.sets()) folders.push_back(set.folder());
    inputs_ = find_reshard_inputs(options_, folders, context_);
    result_.inputs = inputs_.tars.size();
    // What an earlier split chose is not chosen by the same hash again.
    if (inputs_.earlier_splits > 0) rule_.seed ^= xxh3_64(as_bytes(fmt::format("split {}", inputs_.earlier_splits)));
  }

  void make_plans(const std::string& scratch) {
    SampleTable table(*scratch_files_, scratch);
    GatheredSamples gathered = gather_samples(options_, inputs_, job_.cores(), table, context_);
    inputs_.texts_are_data = gathered.texts_are_data;
    result_.dropped = gathered.dropped.size();
    list_skipped(result_.dropped_samples, gathered.dropped);
    inputs_.left_out.insert(inputs_.left_out.end(), gathered.dropped.begin(), gathered.dropped.end());
    report_ignored(gathered.ignored);
    result_.regrouped = settle_duplicate_keys(table, gathered, inputs_, options_, context_);
    report_regrouped();
    report_replaced(gathered.replaced);

    SampleOrder order = input_order(table);
    if (options_.sample) {
      const std::uint64_t count = wanted_samples(*options_.sample, order.size());
      if (count > order.size()) {
        context_.warn("sample_short", "--sample {} takes every sample: there are only {}", *options_.sample,
                      format_count(order.size(), "sample"));
      }
      order = draw_samples(table, std::move(order), count, options_.seed);
    }
    result_.input_samples = gathered.found - result_.regrouped;
    result_.skipped = result_.input_samples - order.size() - result_.dropped;
    if (options_.salvage) {
      result_.lost_samples = gathered.lost_samples;
      result_.lost_bytes = gathered.lost_bytes;
      result_.lost_samples_known = gathered.lost_known;
    }
    context_.progress().next_stage();
    context_.progress().start("plan", order.size(), 0, "samples");
    divide(table, std::move(order));
    for (std::size_t i = 0; i < orders_.size(); ++i) make_plan(job_.sets()[i], std::move(orders_[i]), table);
    warn_of_oversized(oversized_, context_);
  }

  void divide(const SampleTable& table, SampleOrder order) {
    if (order.empty()) {
      throw Error(ErrorCode::not_found, "nothing to write: the filters leave out all samples");
    }
    if (rule_.shares.empty()) {
      orders_.front() = std::move(order);
      return;
    }
    const auto names = names_by_label(inputs_.classes);
    const auto in_class = [&](const formats::MovedSample& line, std::optional<std::uint64_t> label) {
      const auto found = label ? names.find(*label) : names.end();
      return found != names.end() && !inputs_.tars[line.input].by_list && formats::class_of_path(line, found->second);
    };
    const auto facts = [&](std::uint32_t number) {
      SplitFacts sample{table.record(number).key_hash, table.label(number)};
      if (!rule_.group) return sample;
      const formats::MovedSample line = table.read(number);
      sample.group_hash = xxh3_64(as_bytes(rule_.group(line.key, line.path, in_class(line, sample.label))));
      return sample;
    };
    DividedSamples divided = split_samples(order, rule_, facts, context_);
    warn_of_small_classes(
        divided, rule_,
        [&](std::uint64_t label) {
          const auto found = names.find(label);
          return found == names.end() || found->second.empty() ? fmt::to_string(label) : found->second.front();
        },
        context_);
    for (std::size_t i = 0; i < orders_.size(); ++i) refuse_empty_set(rule_, i, divided);
    orders_ = std::move(divided.sets);
  }

  void make_plan(OutputSet& set, SampleOrder order, const SampleTable& table) {
    if (options_.sort) sort_by_key(table, order, context_);
    if (options_.shuffle) {
      Prng prng(*options_.shuffle);
      shuffle(std::span(order), prng);
    }
    set.adopt_plan([&](ByteSink& sink) { write_plan(set.name, table, order, sink); });
  }

  /// `order` cut into shards. Throws Error{usage} as cut_shards() does, Error{unsupported} for a sample that does not
  /// fit into memory.
  void write_plan(const std::string& set, const SampleTable& table, const SampleOrder& order, ByteSink& sink) {
    refuse_larger_than_memory(options_, table, order);
    formats::PlanHead head{options_.sizes.name,
                           plan_options(options_, set, inputs_),
                           plan_classes(inputs_, table, order, context_),
                           {},
                           {}};
    for (const ReshardInput& input : inputs_.tars) head.inputs.push_back(input.identity);
    // As in a convert with --split, only one set lists the files that the converts left out.
    if (rule_.shares.empty() || set == rule_.shares.front().name) head.skipped = inputs_.left_out;
    head.paths = table.has_paths();
    const ShardCut cut = cut_shards(
        order.size(), [&](std::uint64_t i) { return table.tar_bytes(order[i]); }, options_.sizes);
    oversized_ += cut.oversized;
    formats::PlanWriter writer(sink, head);
    std::size_t next = 0;
    for (const std::uint64_t samples : cut.samples) {
      writer.begin_shard();
      for (std::uint64_t i = 0; i < samples; ++i) {
        const formats::MovedSample sample = table.read(order[next++]);
        writer.add(sample);
        if (sample.key != sample.source_key) ++result_.renamed;
        ++context_.progress().items;
      }
      context_.throw_if_stopped();
    }
    writer.finish();
  }

  void report_ignored(std::uint64_t ignored) {
    result_.ignored_members = ignored;
    if (ignored == 0) return;
    context_.warn(
        "members_ignored",
        "{} of the inputs left out: metadata, hidden files, links or names without an extension, which readers "
        "of shards ignore too",
        format_count(ignored, "member"));
  }

  void report_regrouped() {
    if (result_.regrouped == 0) return;
    context_.warn("members_regrouped", "{} of members that were separated from their samples joined again",
                  format_count(result_.regrouped, "group"));
  }

  void report_replaced(const ReplacedMembers& replaced) {
    if (replaced.count == 0) return;
    context_.warn("members_replaced",
                  "{} replaced by a later one of the same name, as tar and Python do: of '{}' in '{}', the one at byte "
                  "{} was kept",
                  format_count(replaced.count, "member"), replaced.name, inputs_.tars[replaced.first.first].path,
                  replaced.first.second);
  }

  void resume() {
    std::uint64_t unpacked = 0;
    for (ReshardInput& input : inputs_.tars) {
      unpacked += input.unpacked ? input.unpacked->bytes() : 0;
      if (options_.dry_run) input.unpacked.reset();  // plans are all that it was needed for
    }
    job_.resume(result_, unpacked);
  }

  void write_set(OutputSet& set) {
    const auto source = shard_source(set.plan(), inputs_, options_, job_.cores());
    std::vector<formats::IndexSkip> dropped = job_.write(set, *source, result_).skipped;
    dropped.erase(dropped.begin(), dropped.begin() + static_cast<std::ptrdiff_t>(set.plan().head().skipped.size()));
    result_.dropped += dropped.size();
    list_skipped(result_.dropped_samples, dropped);
  }

  [[noreturn]] void refuse_empty_result() const {
    const std::string first = result_.dropped_samples.empty()
                                  ? std::string()
                                  : fmt::format("; the first is '{}': {}", result_.dropped_samples.front().path,
                                                result_.dropped_samples.front().reason);
    throw Error(ErrorCode::unsupported, At{options_.target}, "nothing was written: all samples were left out{}", first);
  }

  void warn_of_dropped() {
    if (result_.dropped == 0) return;
    context_.warn("samples_dropped", "{} left out by {}; the result and the indexes contain the reasons",
                  format_count(result_.dropped, "sample"),
                  !options_.salvage   ? "--drop-bad"
                  : options_.drop_bad ? "--drop-bad and --salvage"
                                      : "--salvage");
  }

  const ReshardOptions& options_;
  Context& context_;
  const std::unique_ptr<io::FileSystem> scratch_files_ = io::posix_file_system();
  SplitRule rule_;
  ConvertJob job_;
  std::vector<SampleOrder> orders_;  ///< of the sets, until their plans are made
  ReshardInputs inputs_;
  std::uint64_t oversized_ = 0;  ///< samples larger than --size
  ReshardResult result_;
};

/// A target that a reshard has begun is continued by the same command when its inputs are back.
void refuse_swapped(const ReshardOptions& options) {
  if (options.inputs.size() != 1 || catalog::is_address(options.target)) return;
  const std::string plan = io::join_path(options.target, formats::plan_path(0));
  if (std::filesystem::exists(plan)) {
    io::FileSource file(plan);
    if (!formats::PlanReader(file, plan).head().inputs.empty()) return;
  }
  ReshardOptions other = options;
  std::swap(other.inputs.front(), other.target);
  catalog::refuse_swapped(options.inputs.front(), options.target, catalog::Content::shards, command_of(other));
}

}  // namespace

std::string command_of(const ReshardOptions& options) { return command_text("shardctl reshard", options); }

ReshardResult reshard(const ReshardOptions& options, Context& context) {
  const OutputLocation location = open_output_location(options.target, options.access, context);
  refuse_swapped(options);
  require_apart(location.folder, options.inputs, "input");
  return Resharding(options, *location.files, location.folder, context).run();
}

ReshardResult reshard_on(io::OutputFiles& files, const ReshardOptions& options, Context& context) {
  refuse_swapped(options);
  require_apart(options.target, options.inputs, "input");
  return Resharding(options, files, options.target, context).run();
}

}  // namespace shardkit::dataset
