#include "dataset/convert/convert.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "catalog/image_folder.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "dataset/convert/folder_source.hpp"
#include "dataset/indexes/foreign_indexes.hpp"
#include "dataset/plan/plan.hpp"
#include "dataset/sharding/part.hpp"
#include "dataset/sharding/scanned_source.hpp"
#include "dataset/sharding/shard_target.hpp"
#include "system/limits.hpp"

namespace shardkit::dataset {
namespace {

/// One folder of shards that a convert makes.
struct ConvertSet {
  std::string name;      ///< such as train; empty where the target is the only one
  std::string source;    ///< folder of its images
  std::string path;      ///< prefix that makes paths below `source` paths below the convert's SRC
  ConvertTarget target;  ///< its plan is adopted
  PlannedRest rest;      ///< to be filled in once all plans are adopted
};

/// Finds out which sets the options ask for (the whole source, the shares of --split, or the source's own train/ and
/// val/ folders), prepares their folders and adopts a plan for each: the given one, or those made of a scan. Throws
/// Error{usage} for options that contradict each other, and what scan_source(), write_plan() and adopt_plan() throw.
std::vector<std::unique_ptr<ConvertSet>> plan_sets(const ConvertOptions& options, io::FileSystem& files, Context& ctx);

using Sets = std::vector<std::unique_ptr<ConvertSet>>;

/// A target inside the source would be scanned as a class by the next run.
void refuse_target_in_source(const std::string& source, const std::string& target) {
  namespace fs = std::filesystem;
  const fs::path from = fs::weakly_canonical(source);
  const fs::path to = fs::weakly_canonical(target);
  const auto [end, unused] = std::mismatch(from.begin(), from.end(), to.begin(), to.end());
  if (end == from.end()) {
    throw Error(ErrorCode::usage,
                fmt::format("the target '{}' lies in the source '{}'; choose a folder outside of it", target, source),
                target);
  }
}

/// A given plan fixes what these options would; a contradiction would be ignored silently.
void refuse_options_beside_plan(const ConvertOptions& options) {
  const ShardingOptions& given = options.sharding;
  const ShardingOptions none;
  if (option_texts(given) != option_texts(none) || given.name != none.name || !given.class_map.empty() ||
      given.allow_empty || given.images.path_column != none.images.path_column || !given.images.label_column.empty() ||
      !given.images.label_separator.empty() || !options.split.empty()) {
    throw Error(ErrorCode::usage,
                "--plan fixes images, samples, size, shards, order, names, labels, metadata, resizing, split and "
                "validation; give those options to `shardctl plan`");
  }
}

void copy_plan(const std::string& path, ByteSink& sink) {
  io::FileSource source(path);
  formats::PlanReader(source, path).check_bytes();
  std::vector<std::byte> block(1U << 20U);
  std::uint64_t offset = 0;
  while (const std::size_t got = source.read_at(offset, block)) {
    sink.write(Bytes(block).first(got));
    offset += got;
  }
}

class SetPlanner {
 public:
  SetPlanner(const ConvertOptions& options, io::FileSystem& files, Context& ctx)
      : options_(options), files_(files), ctx_(ctx) {}

  Sets run() {
    refuse_target_in_source(options_.source, options_.target);
    const SplitRule rule = split_rule(options_);
    if (options_.seed != 0 && rule.shares.empty()) {
      throw Error(ErrorCode::usage, "--seed is that of --split, and there is none; the order's is --shuffle SEED");
    }
    if (!options_.plan.empty()) {
      follow_plan();
    } else if (const catalog::SetFolders folders = set_folders(); !folders.names.empty()) {
      plan_folders(folders);
    } else if (!rule.shares.empty()) {
      plan_shares(rule);
    } else {
      ConvertSet& set = add("", options_.source, "");
      adopt(set, scan(options_.source, {}), {});
    }
    return std::move(sets_);
  }

 private:
  catalog::SetFolders set_folders() {
    // A list says itself which images there are; rows of metadata are of one set.
    return options_.sharding.images.list.empty() ? catalog::find_set_folders(options_.source, ctx_)
                                                 : catalog::SetFolders{};
  }

  void follow_plan() {
    refuse_options_beside_plan(options_);
    add("", options_.source, "").target.adopt_plan([this](ByteSink& sink) { copy_plan(options_.plan, sink); });
  }

  void plan_folders(const catalog::SetFolders& folders) {
    if (!options_.split.empty()) {
      throw Error(ErrorCode::usage,
                  fmt::format("'{}' is divided into {} already; leave out --split, or convert one of its folders",
                              options_.source, fmt::join(folders.names, ", ")),
                  options_.source);
    }
    if (!options_.sharding.metadata.empty()) {
      throw Error(ErrorCode::usage,
                  fmt::format("'{}' holds the sets {}; convert each with a --metadata of its own", options_.source,
                              fmt::join(folders.names, ", ")),
                  options_.source);
    }
    for (const std::string& name : folders.names) {
      const std::string root = io::join_path(options_.source, name);
      ConvertSet& set = add(name, root, name + "/");
      adopt(set, scan(root, folders.classes), {.options = {{"set", name}}});
    }
  }

  void plan_shares(const SplitRule& rule) {
    for (const SplitShare& share : rule.shares) add(share.name, options_.source, "");
    const ScannedSource source = scan(options_.source, {});
    const std::vector<SampleOrder> orders = split_source(source, rule, ctx_);
    for (std::size_t i = 0; i < sets_.size(); ++i) refuse_empty_set(sets_[i]->name, orders[i]);
    for (std::size_t i = 0; i < sets_.size(); ++i) {
      PlanScope scope{&orders[i], split_texts(options_, sets_[i]->name), {}, i == 0};
      adopt(*sets_[i], source, scope);
    }
  }

  ConvertSet& add(const std::string& name, const std::string& source, const std::string& path) {
    if (!name.empty()) refuse_sets_in_set(ConvertTarget(files_, options_.target));
    const std::string folder = name.empty() ? options_.target : io::join_path(options_.target, name);
    sets_.push_back(std::make_unique<ConvertSet>(ConvertSet{name, source, path, ConvertTarget(files_, folder), {}}));
    sets_.back()->target.prepare();
    return *sets_.back();
  }

  ScannedSource scan(const std::string& root, const std::vector<std::string>& classes) {
    return scan_source(root, options_.sharding, classes, options_.threads, ctx_);
  }

  void adopt(ConvertSet& set, const ScannedSource& source, const PlanScope& scope) {
    set.target.adopt_plan([&](ByteSink& sink) { write_plan(source, options_.sharding, scope, sink, ctx_); });
  }

  const ConvertOptions& options_;
  io::FileSystem& files_;
  Context& ctx_;
  Sets sets_;
};

Sets plan_sets(const ConvertOptions& options, io::FileSystem& files, Context& ctx) {
  return SetPlanner(options, files, ctx).run();
}

class Conversion {
 public:
  Conversion(const ConvertOptions& options, Context& ctx, io::FileSystem& files)
      : options_(options), kinds_(parse_foreign_kinds(options.index)), ctx_(ctx), files_(files) {}

  ConvertResult run() {
    if (options_.in_parts()) choose_part();
    const auto start = std::chrono::steady_clock::now();
    const std::vector<std::unique_ptr<ConvertSet>> sets = plan_sets(options_, files_, ctx_);
    result_.phases_seconds.scan = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    find_rest(sets);
    for (const auto& set : sets) write_set(*set);
    if (sets.size() == 1) {
      result_.manifest = result_.sets.front().manifest;
      result_.plan_hash = result_.sets.front().plan_hash;
    }
    warn_of_images();
    return std::move(result_);
  }

 private:
  /// Where the scheduler tells a number but not how many there are, the plan may.
  void choose_part() {
    const bool automatic = options_.part.empty() || options_.part == "auto";
    std::optional<std::uint64_t> parts = options_.parts;
    if (automatic && !parts && !options_.plan.empty()) {
      io::FileSource plan(options_.plan);
      parts = formats::PlanReader(plan, options_.plan).head().parts;
    }
    part_ = parse_part(automatic ? "auto" : options_.part, parts, system::process_environment());
  }

  /// Room for all sets is looked for before the first byte.
  void find_rest(const std::vector<std::unique_ptr<ConvertSet>>& sets) {
    std::uint64_t bytes = 0;
    for (const auto& set : sets) {
      set->rest = still_to_write(set->target, part_, options_.recheck, ctx_);
      bytes += set->rest.bytes;
    }
    check_room(sets.front()->target.folder(), bytes);
  }

  void write_set(ConvertSet& set) {
    const formats::PlanReader& plan = set.target.plan();
    const unsigned cores = system::thread_count(options_.threads);
    FolderSource source(plan, set.source, cores);
    const PlannedReport report =
        write_planned_shards({set.target, source, part_, cores, "convert", kinds_}, set.rest, files_, ctx_);
    result_.add(set.name, report);
    result_.reads_in_flight = std::max<std::uint64_t>(result_.reads_in_flight, report.job.in_flight);
    result_.kept_bad += source.counts().kept_bad;
    result_.resized += source.counts().resized;
    result_.resized_at_lower_quality += source.counts().other_quality;
    not_resized_ += source.counts().not_jpeg;
    result_.skipped += report.skipped.size();
    list_skipped(result_.skipped_files, report.skipped, set.path);
  }

  void warn_of_images() {
    if (not_resized_ > 0) {
      ctx_.warn("images_not_resized",
                fmt::format("{} left as they are: --resize knows JPEG alone", format_count(not_resized_, "image")));
    }
    if (result_.kept_bad > 0) {
      ctx_.warn("bad_images_kept",
                fmt::format("{} kept although bad (--on-bad keep)", format_count(result_.kept_bad, "image")));
    }
    if (result_.skipped > 0) {
      ctx_.warn("files_skipped",
                fmt::format("{} left out of the shards", format_count(result_.skipped, "source file")));
    }
  }

  const ConvertOptions& options_;
  const ForeignKinds kinds_;
  Context& ctx_;
  io::FileSystem& files_;
  std::optional<Part> part_;
  ConvertResult result_;
  std::uint64_t not_resized_ = 0;
};

}  // namespace

ConvertResult convert(const ConvertOptions& options, Context& ctx) {
  const auto files = io::posix_file_system();
  return convert_on(*files, options, ctx);
}

ConvertResult convert_on(io::FileSystem& files, const ConvertOptions& options, Context& ctx) {
  return Conversion(options, ctx, files).run();
}

void ConvertOptions::describe(FieldVisitor& v) {
  v.field({"SRC", Unit::none,
           "folder with one sub-folder of images per class, or with train/, val/ or test/ folders of that kind",
           Role::positional},
          source);
  v.field({"DST", Unit::none, "folder for the shards: empty, or of the same convert to go on with", Role::positional},
          target);
  sharding.describe(v);
  SplitOptions::describe(v);
  v.field({"plan", Unit::none, "do what this plan says, without scanning (see `shardctl plan`)", Role::input_file},
          plan);
  WriteOptions::describe(v);
  v.field(Field{"threads", Unit::count,
                "cores to use (default: those this process may use); reads in flight follow the "
                "source's latency, not this"}
              .from(1, system::kMostThreads),
          threads);
}

void ConvertResult::describe(FieldVisitor& v) {
  WrittenSets::describe(v);
  v.field({"skipped", Unit::count, "source files left out"}, skipped);
  v.field({"kept_bad", Unit::count, "images that failed validation, or could not be resized, and were kept"}, kept_bad);
  v.field({"resized", Unit::count, "images made smaller by this run (--resize)"}, resized);
  v.field({"resized_at_lower_quality", Unit::count,
           "of these: at a lower quality than asked for, not to become larger than they were"},
          resized_at_lower_quality);
  v.field({"reads_in_flight", Unit::count, "threads that read at the same time"}, reads_in_flight);
  v.field({"manifest", Unit::none, "the file that describes the shards; empty where there are several sets"}, manifest);
  v.field({"plan_hash", Unit::none, "of the plan that was followed; empty where there are several sets"}, plan_hash);
  v.field({"skipped_files", Unit::none, "at most 1000 of them"}, skipped_files);
}

}  // namespace shardkit::dataset
