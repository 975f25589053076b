#include "dataset/convert/convert.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "core/units.hpp"
#include "dataset/convert/convert_sets.hpp"
#include "dataset/convert/folder_source.hpp"
#include "dataset/index/foreign_set.hpp"
#include "dataset/sharding/part.hpp"
#include "dataset/sharding/planned_shards.hpp"
#include "system/limits.hpp"

namespace shardkit {
namespace {

class Conversion {
 public:
  Conversion(const ConvertOptions& options, Context& ctx, FileSystem& files)
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
      FileSource plan(options_.plan);
      parts = PlanReader(plan, options_.plan).head().parts;
    }
    part_ = parse_part(automatic ? "auto" : options_.part, parts, process_environment());
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
    const PlanReader& plan = set.target.plan();
    const unsigned cores = thread_count(options_.threads);
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
  FileSystem& files_;
  std::optional<Part> part_;
  ConvertResult result_;
  std::uint64_t not_resized_ = 0;
};

}  // namespace

ConvertResult convert(const ConvertOptions& options, Context& ctx) {
  const auto files = posix_file_system();
  return convert_on(*files, options, ctx);
}

ConvertResult convert_on(FileSystem& files, const ConvertOptions& options, Context& ctx) {
  return Conversion(options, ctx, files).run();
}

}  // namespace shardkit
