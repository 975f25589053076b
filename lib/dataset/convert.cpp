#include "dataset/convert.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "core/units.hpp"
#include "dataset/convert_target.hpp"
#include "dataset/folder_source.hpp"
#include "dataset/foreign_set.hpp"
#include "dataset/part.hpp"
#include "dataset/plan.hpp"
#include "dataset/planned_shards.hpp"
#include "system/limits.hpp"

namespace shardkit {
namespace {

constexpr std::size_t kMostSkippedListed = 1000;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

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
void refuse_options_beside_plan(const ShardingOptions& given) {
  const ShardingOptions none;
  if (option_texts(given) != option_texts(none) || given.name != none.name || !given.class_map.empty() ||
      given.allow_empty) {
    throw Error(ErrorCode::usage,
                "--plan fixes samples, size, shards, order, names, labels and validation; give those "
                "options to `shardctl plan`");
  }
}

void copy_file(const std::string& path, ByteSink& sink) {
  FileSource source(path);
  PlanReader(source, path).check_bytes();
  std::vector<std::byte> block(1U << 20U);
  std::uint64_t offset = 0;
  while (const std::size_t got = source.read_at(offset, block)) {
    sink.write(Bytes(block).first(got));
    offset += got;
  }
}

/// The value that an option has in the plan, as the enum.
template <class E>
E planned_option(const PlanHead& head, const std::string& name) {
  const auto found = head.options.find(name);
  for (std::size_t i = 0; found != head.options.end() && i < EnumNames<E>::names.size(); ++i) {
    if (EnumNames<E>::names[i] == found->second) return static_cast<E>(i);
  }
  throw Error(ErrorCode::corrupt, fmt::format("the plan has no valid option {}; make it again", name));
}

class Conversion {
 public:
  Conversion(const ConvertOptions& options, Context& ctx, FileSystem& files)
      : options_(options),
        kinds_(parse_foreign_kinds(options.index)),
        ctx_(ctx),
        files_(files),
        target_(files, options.target) {}

  ConvertResult run() {
    if (!options_.part.empty() || options_.parts) choose_part();
    refuse_target_in_source(options_.source, options_.target);
    make_plan();
    write_shards();
    return std::move(result_);
  }

 private:
  /// Where the scheduler tells a number but not how many there are, the plan may.
  void choose_part() {
    const bool automatic = options_.part.empty() || options_.part == "auto";
    std::optional<std::uint64_t> parts = options_.parts;
    if (automatic && !parts && !options_.plan.empty()) {
      FileSource plan(options_.plan);
      parts = PlanReader(plan, options_.plan).head().parts;
    }
    part_ = parse_part(automatic ? "auto" : options_.part, parts, process_environment());
  }

  void make_plan() {
    target_.prepare();
    const auto start = std::chrono::steady_clock::now();
    if (options_.plan.empty()) {
      target_.adopt_plan(
          [this](ByteSink& sink) { write_plan(options_.source, options_.sharding, options_.threads, sink, ctx_); });
    } else {
      refuse_options_beside_plan(options_.sharding);
      target_.adopt_plan([this](ByteSink& sink) { copy_file(options_.plan, sink); });
    }
    result_.phases_seconds.scan = seconds_since(start);
    result_.plan_hash = to_hex(target_.plan().hash());
  }

  void write_shards() {
    const PlanReader& plan = target_.plan();
    const unsigned cores = thread_count(options_.threads);
    FolderSource source(plan, options_.source, planned_option<Validate>(plan.head(), "validate"),
                        planned_option<OnBad>(plan.head(), "on_bad"), cores);
    PlannedReport report =
        write_planned_shards({target_, source, part_, options_.recheck, cores, "convert", kinds_}, files_, ctx_);
    const double elapsed = std::max(report.seconds, 1e-9);
    result_.files_per_second = static_cast<double>(report.samples_written) / elapsed;
    result_.bytes_per_second = static_cast<double>(report.bytes_written) / elapsed;
    result_.phases_seconds.read = report.job.read_seconds;
    result_.phases_seconds.write = report.job.write_seconds;
    result_.phases_seconds.sync = report.job.sync_seconds;
    result_.reads_in_flight = report.job.in_flight;
    result_.shards_written = report.shards_written;
    result_.shards_reused = report.shards_reused;
    result_.manifest = report.manifest_path;
    result_.samples = report.manifest.samples;
    result_.shards = report.manifest.shards.size();
    result_.bytes = report.manifest.bytes;
    result_.kept_bad = source.kept_bad();
    if (result_.kept_bad > 0) {
      ctx_.warn("bad_images_kept",
                fmt::format("{} kept although validation failed", format_count(result_.kept_bad, "image")));
    }
    report_skipped(std::move(report.skipped));
  }

  void report_skipped(std::vector<IndexSkip> skipped) {
    result_.skipped = skipped.size();
    if (skipped.empty()) return;
    ctx_.warn("files_skipped", fmt::format("{} left out of the shards", format_count(skipped.size(), "source file")));
    if (skipped.size() > kMostSkippedListed) skipped.resize(kMostSkippedListed);
    for (IndexSkip& skip : skipped) result_.skipped_files.push_back({std::move(skip.path), std::move(skip.reason)});
  }

  const ConvertOptions& options_;
  const ForeignKinds kinds_;
  Context& ctx_;
  FileSystem& files_;
  ConvertTarget target_;
  std::optional<Part> part_;
  ConvertResult result_;
};

}  // namespace

void ConvertOptions::describe(FieldVisitor& v) {
  v.field({"SRC", Unit::none, "folder with one sub-folder of images per class", Role::positional}, source);
  v.field({"DST", Unit::none, "folder for the shards: empty, or of the same convert to go on with", Role::positional},
          target);
  sharding.describe(v);
  v.field({"plan", Unit::none, "do what this plan says, without scanning (see `shardctl plan`)", Role::option, "FILE"},
          plan);
  v.field({"part", Unit::none,
           "write only part I of N, counted from 0; auto: as the scheduler says (Slurm, Kubernetes "
           "Indexed Job, MPI); `shardctl merge` joins the parts",
           Role::option, "I/N|auto"},
          part);
  v.field({"parts", Unit::count, "number of parts, for --part auto under Kubernetes", Role::option, "N"}, parts);
  v.field({"recheck", Unit::none, "read finished shards again and compare their checksums before trusting them"},
          recheck);
  v.field({"index", Unit::none,
           "also write what other readers want: dali (<shard>.idx), wids (shardindex.json, takes each shard's MD5), "
           "energon (<shard>.tar.idx, .nv-meta/)",
           Role::option, "dali,wids,energon"},
          index);
  v.field({"threads", Unit::count,
           "cores to use (default: those this process may use); reads in flight follow the "
           "source's latency, not this"},
          threads);
}

void ConvertPhases::describe(FieldVisitor& v) {
  v.field({"scan", Unit::seconds, "listing the source and making the plan, wall time"}, scan);
  v.field({"read", Unit::seconds, "reading source files, summed over threads"}, read);
  v.field({"write", Unit::seconds, "hashing and writing shards, summed over threads"}, write);
  v.field({"sync", Unit::seconds, "making shards durable, beside the other phases"}, sync);
}

void SkippedFile::describe(FieldVisitor& v) {
  v.field({"path", Unit::none, "relative to the source"}, path);
  v.field({"reason", Unit::none, "why it is in no shard"}, reason);
}

void ConvertResult::describe(FieldVisitor& v) {
  v.field({"samples", Unit::count, "in the shards of this part"}, samples);
  v.field({"shards", Unit::count, "of this part, those found finished included"}, shards);
  v.field({"bytes", Unit::bytes, "of those shards"}, bytes);
  v.field({"skipped", Unit::count, "source files left out"}, skipped);
  v.field({"files_per_second", Unit::per_second, "samples written, over the time from the end of the scan"},
          files_per_second);
  v.field({"bytes_per_second", Unit::bytes_per_second, "tar bytes written, over the same time"}, bytes_per_second);
  v.field({"phases_seconds", Unit::seconds, "where the time went"}, phases_seconds);
  v.field({"shards_written", Unit::count, "by this run"}, shards_written);
  v.field({"shards_reused", Unit::count, "found finished"}, shards_reused);
  v.field({"kept_bad", Unit::count, "images that failed validation and were kept"}, kept_bad);
  v.field({"reads_in_flight", Unit::count, "threads that read at the same time"}, reads_in_flight);
  v.field({"manifest", Unit::none, "the file that describes the shards"}, manifest);
  v.field({"plan_hash", Unit::none, "of the plan that was followed"}, plan_hash);
  v.field({"skipped_files", Unit::none, "at most 1000 of them"}, skipped_files);
}

ConvertResult convert(const ConvertOptions& options, Context& ctx) {
  const auto files = posix_file_system();
  return convert_on(*files, options, ctx);
}

ConvertResult convert_on(FileSystem& files, const ConvertOptions& options, Context& ctx) {
  return Conversion(options, ctx, files).run();
}

}  // namespace shardkit
