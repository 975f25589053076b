#include "dataset/reshard/reshard.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/prng.hpp"
#include "core/units.hpp"
#include "dataset/reshard/reshard_plan.hpp"
#include "dataset/reshard/sample_filter.hpp"
#include "dataset/reshard/sample_gatherer.hpp"
#include "dataset/reshard/sample_table.hpp"
#include "dataset/reshard/shard_source.hpp"
#include "dataset/sharding/shard_target.hpp"
#include "system/limits.hpp"

namespace shardkit::dataset {
namespace {

void check(const ReshardOptions& options) {
  check(options.sizes);
  if (options.sort && options.shuffle) {
    throw Error(ErrorCode::usage, "--sort and --shuffle contradict each other");
  }
}

/// A folder of shards that is being made.
struct OutputSet {
  OutputSet(io::FileSystem& files, std::string name_, const std::string& folder)
      : name(std::move(name_)), target(files, folder) {}

  std::string name;  ///< in the split; empty without one
  ConvertTarget target;
  SampleOrder order;
  PlannedRest rest;  ///< of its plan
};

class Resharding {
 public:
  Resharding(const ReshardOptions& options, Context& ctx, io::FileSystem& files)
      : options_(options),
        ctx_(ctx),
        files_(files),
        rule_(split_rule(options)),
        kinds_(parse_foreign_kinds(options.index)) {
    check(options);
    if (rule_.shares.empty()) sets_.push_back(std::make_unique<OutputSet>(files, "", options.target));
    if (!rule_.shares.empty()) refuse_sets_in_set(ConvertTarget(files, options.target));
    for (const SplitShare& share : rule_.shares) {
      sets_.push_back(std::make_unique<OutputSet>(files, share.name, io::join_path(options.target, share.name)));
    }
  }

  ReshardResult run() {
    const ExtensionMap extensions(options_.rename);
    std::optional<SampleDraw> draw;
    if (options_.sample) draw.emplace(*options_.sample);
    if (options_.in_parts()) {
      part_ = parse_part(options_.part.empty() ? "auto" : options_.part, options_.parts, system::process_environment());
    }
    cores_ = system::thread_count(options_.threads);

    const auto start = std::chrono::steady_clock::now();
    find_inputs();
    const SampleFilter filter(options_, inputs_.classes);
    for (const auto& set : sets_) set->target.prepare();
    // What is only needed until the end of the run: unpacked inputs and, until plans are made, the list of samples.
    const std::string scratch = sets_.front()->target.state_path("");
    unpack_inputs(inputs_, scratch, cores_, files_, ctx_);
    make_plans(filter, extensions, draw, scratch);
    const std::chrono::duration<double> scan = std::chrono::steady_clock::now() - start;
    result_.phases_seconds.scan = scan.count();

    find_rest();
    for (const auto& set : sets_) write_set(*set);
    warn_of_dropped();
    return std::move(result_);
  }

 private:
  void find_inputs() {
    std::vector<std::string> folders;
    for (const auto& set : sets_) folders.push_back(set->target.folder());
    inputs_ = find_reshard_inputs(options_.inputs, folders,
                                  std::make_shared<catalog::Inputs>(options_.access, ctx_.stop_token()));
    result_.inputs = inputs_.tars.size();
  }

  void make_plans(const SampleFilter& filter, const ExtensionMap& extensions, const std::optional<SampleDraw>& draw,
                  const std::string& scratch) {
    SampleTable table(files_, scratch);
    SampleGatherer gatherer(inputs_, filter, extensions, table, ctx_);
    gatherer.run(cores_);
    report_ignored(gatherer.ignored());
    settle_duplicate_keys(table, inputs_, options_.mark_duplicates, ctx_);

    SampleOrder order = input_order(table);
    if (draw) {
      const std::uint64_t count = draw->count(order.size());
      if (draw->wanted() > order.size()) {
        ctx_.warn("sample_short", fmt::format("--sample {} takes all: there are {}", *options_.sample,
                                              format_count(order.size(), "sample")));
      }
      order = draw_samples(table, std::move(order), count, options_.seed);
    }
    result_.input_samples = gatherer.found();
    result_.skipped = gatherer.found() - order.size();
    ctx_.progress().start("plan", order.size());
    divide(table, std::move(order));
    ReshardPlanned sum;
    for (const auto& set : sets_) {
      const ReshardPlanned planned = make_plan(*set, table);
      sum.renamed += planned.renamed;
      sum.oversized += planned.oversized;
      set->order = {};
    }
    result_.renamed = sum.renamed;
    if (sum.oversized > 0) {
      ctx_.warn("sample_over_shard_size", fmt::format("{} larger than --size: each gets a shard of its own",
                                                      format_count(sum.oversized, "sample")));
    }
  }

  void divide(const SampleTable& table, SampleOrder order) {
    if (order.empty()) {
      throw Error(ErrorCode::not_found, "no sample is left to write: the filters leave out all");
    }
    if (rule_.shares.empty()) {
      sets_.front()->order = std::move(order);
      return;
    }
    const auto facts = [&](std::uint32_t sample) {
      const SampleRecord& record = table.record(sample);
      return SplitFacts{record.key_hash, record.label};
    };
    std::vector<SampleOrder> orders = split_samples(std::move(order), rule_, facts, ctx_);
    for (std::size_t i = 0; i < sets_.size(); ++i) {
      refuse_empty_set(sets_[i]->name, orders[i]);
      sets_[i]->order = std::move(orders[i]);
    }
  }

  ReshardPlanned make_plan(OutputSet& set, const SampleTable& table) {
    if (options_.sort) sort_by_key(table, set.order, ctx_);
    if (options_.shuffle) {
      Prng prng(*options_.shuffle);
      shuffle(std::span(set.order), prng);
    }
    ReshardPlanned planned;
    set.target.adopt_plan([&](ByteSink& sink) {
      planned = write_reshard_plan(options_, set.name, inputs_, table, set.order, sink, ctx_);
    });
    return planned;
  }

  void report_ignored(std::uint64_t ignored) {
    result_.ignored_members = ignored;
    if (ignored == 0) return;
    ctx_.warn(
        "members_ignored",
        fmt::format("{} of the inputs left out: metadata, hidden files, links or names without an extension, which "
                    "readers of shards do not see either",
                    format_count(ignored, "member")));
  }

  /// All sets share one file system: the room is checked for all of them before the first byte of a shard.
  void find_rest() {
    std::uint64_t bytes = 0;
    for (const auto& set : sets_) {
      set->rest = still_to_write(set->target, part_, options_.recheck, ctx_);
      bytes += set->rest.bytes;
    }
    std::uint64_t unpacked = 0;
    for (const ReshardInput& input : inputs_.tars) unpacked += input.unpacked ? input.unpacked->bytes() : 0;
    check_room(options_.target, bytes,
               unpacked == 0 ? std::string()
                             : fmt::format(" beside the {} of unpacked inputs that lie there until the end",
                                           format_size(unpacked)));
  }

  void write_set(OutputSet& set) {
    const formats::PlanReader& plan = set.target.plan();
    ShardSource source(plan, inputs_, options_.drop_bad, cores_);
    const PlannedReport report =
        write_planned_shards({set.target, source, part_, cores_, "reshard", kinds_}, set.rest, files_, ctx_);
    result_.add(set.name, report);
    result_.dropped += report.skipped.size();
    list_skipped(result_.dropped_samples, report.skipped);
  }

  void warn_of_dropped() {
    if (result_.dropped == 0) return;
    ctx_.warn("samples_dropped", fmt::format("{} left out by --drop-bad; the result and the indexes say why",
                                             format_count(result_.dropped, "sample")));
  }

  const ReshardOptions& options_;
  Context& ctx_;
  io::FileSystem& files_;
  SplitRule rule_;
  const ForeignKinds kinds_;
  std::vector<std::unique_ptr<OutputSet>> sets_;
  std::optional<Part> part_;
  unsigned cores_ = 1;
  ReshardInputs inputs_;
  ReshardResult result_;
};

}  // namespace

ReshardResult reshard(const ReshardOptions& options, Context& ctx) {
  const auto files = io::posix_file_system();
  return reshard_on(*files, options, ctx);
}

ReshardResult reshard_on(io::FileSystem& files, const ReshardOptions& options, Context& ctx) {
  return Resharding(options, ctx, files).run();
}

void ReshardOptions::describe(FieldVisitor& v) {
  v.field({"IN", Unit::none,
           "shards to take samples from: folders, tars, patterns, list files, wids indexes, here or at s3:// or "
           "http(s):// URLs; tars may be "
           "compressed (.tar.gz, .tgz, .tar.zst, .tar.xz, .tar.bz2, .tar.lz4): each run, that is each part and each "
           "restart, first unpacks all of them beside OUT",
           Role::positional},
          inputs);
  v.field({"OUT", Unit::none, "folder for the shards: empty, or of the same reshard to go on with", Role::positional},
          target);
  sizes.describe(v);
  v.field({"shuffle", Unit::none, "put all samples in one random order of this seed (default: the inputs' order)",
           Role::option, "SEED"},
          shuffle);
  v.field({"sort", Unit::none, "put all samples in bytewise order of their keys"}, sort);
  v.field({"class", Unit::none,
           "keep samples of this class alone: its name in the inputs' manifest, or its label; may be "
           "repeated",
           Role::option, "NAME|LABEL"},
          classes);
  v.field({"key", Unit::none,
           "keep samples whose key in the input matches this pattern alone (*, ?, [...]; * also spans '/'); "
           "may be repeated: one match is enough",
           Role::option, "GLOB"},
          keys);
  v.field({"min-size", Unit::bytes, "keep samples whose members hold at least this many bytes together"}, min_size);
  v.field({"max-size", Unit::bytes, "keep samples whose members hold at most this many bytes together"}, max_size);
  v.field({"sample", Unit::none,
           "keep this many of the samples that are left, or with a decimal point this share of them; which, "
           "depends on their keys and --seed alone",
           Role::option, "N|RATIO"},
          sample);
  SplitOptions::describe(v);
  v.field({"drop-bad", Unit::none,
           "judge each image as verify --depth decode does, and leave out samples with one that it counts as an error "
           "(image_truncated, image_corrupt, image_not_an_image, image_zero_pixels, image_too_large, "
           "image_too_many_scans), and labels or texts without data (orphan_member); what is a warning stays "
           "(image_damaged, image_other_format, image_cmyk)"},
          drop_bad);
  v.field({"mark-duplicates", Unit::none,
           "give samples of several tars that share a key a mark of 8 digits each, instead of stopping"},
          mark_duplicates);
  v.field({"rename", Unit::none, "write members of one extension with another, such as jpeg=jpg; may be repeated",
           Role::option, "OLD=NEW"},
          rename);
  WriteOptions::describe(v);
  v.field({"threads", Unit::count,
           "cores to use (default: those this process may use); reads in flight follow the inputs' latency, not "
           "this"},
          threads);
  access.describe(v);
}

void ReshardResult::describe(FieldVisitor& v) {
  WrittenSets::describe(v);
  v.field({"skipped", Unit::count, "samples of the inputs that filters and --sample left out"}, skipped);
  v.field({"renamed", Unit::count, "samples of the whole output whose key is another than in the input"}, renamed);
  v.field({"dropped", Unit::count, "samples of this part that --drop-bad left out"}, dropped);
  v.field({"inputs", Unit::count, "tars that samples were taken from"}, inputs);
  v.field({"input_samples", Unit::count, "samples found in them"}, input_samples);
  v.field({"ignored_members", Unit::count, "members that belong to no sample: metadata, hidden files, symbolic links"},
          ignored_members);
  v.field({"dropped_samples", Unit::none, "at most 1000 of them"}, dropped_samples);
}

}  // namespace shardkit::dataset
