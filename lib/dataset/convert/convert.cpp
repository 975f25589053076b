#include "dataset/convert/convert.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "catalog/image_folder.hpp"
#include "core/command_text.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "dataset/convert/folder_source.hpp"
#include "dataset/sharding/planner.hpp"
#include "dataset/sharding/scanned_source.hpp"
#include "system/storage.hpp"

namespace shardkit::dataset {
namespace {

/// A target inside the source would be scanned as a class by the next run.
void refuse_target_in_source(const std::string& source, const std::string& target) {
  if (catalog::is_address(source)) return;
  if (system::is_below(std::filesystem::weakly_canonical(target), std::filesystem::weakly_canonical(source))) {
    throw Error(ErrorCode::usage,
                fmt::format("the target '{}' lies in the source '{}'; choose a folder outside of it", target, source),
                target);
  }
}

/// A given plan fixes what these options would; a contradiction would be ignored silently.
void refuse_options_beside_plan(const ConvertOptions& options) {
  ShardingOptions given = options.sharding;
  given.access = {};  // of where the source lies
  if (const std::string words = command_text("", given); !words.empty()) {
    throw Error(ErrorCode::usage,
                fmt::format("--plan fixes which shards are written; give{} to `shardctl plan` instead", words));
  }
  const std::string split = command_text("", static_cast<const SplitOptions&>(options));
  if (split.empty()) return;
  throw Error(ErrorCode::usage,
              fmt::format("--plan is of one set; leave out{}, and divide the finished set with `shardctl reshard {} "
                          "OUT{}`; or leave out --plan",
                          split, shell_word(options.target), split));
}

void copy_plan(ByteSource& source, const std::string& path, ByteSink& sink) {
  formats::PlanReader(source, path).check_bytes();
  source.stream_all([&](Bytes piece) { sink.write(piece); });
}

class Conversion {
 public:
  Conversion(const ConvertOptions& options, Context& ctx, io::FileSystem& files)
      : options_(options),
        ctx_(ctx),
        inputs_(std::make_shared<catalog::Inputs>(options.sharding.access, ctx.stop_token())),
        images_(options.source, !options.sharding.images.list.empty() || !options.plan.empty(), inputs_),
        plan_path_(inputs_->add_named(options.plan)),
        plan_(open_plan()),
        job_("convert", options.target, options, planned_parts(), files, ctx) {}

  ConvertResult run() {
    plan_sets();
    job_.resume(result_);
    for (TargetSet& set : job_.sets()) write_set(set);
    result_.kept_bad = images_counted_.kept_bad;
    result_.resized = images_counted_.resized;
    result_.resized_at_lower_quality = images_counted_.other_quality;
    if (result_.sets.size() == 1) {
      result_.manifest = result_.sets.front().manifest;
      result_.plan_hash = result_.sets.front().plan_hash;
    }
    warn_of_images();
    return std::move(result_);
  }

 private:
  /// The given plan, the source's own train/ and val/ folders, the shares of --split, or the whole source.
  void plan_sets() {
    refuse_target_in_source(options_.source, options_.target);
    const SplitRule rule = split_rule(options_);
    if (options_.seed != 0 && rule.shares.empty()) {
      throw Error(ErrorCode::usage, "--seed is that of --split, and there is none; the order's is --shuffle SEED");
    }
    if (plan_) {
      add_set("").target.adopt_plan([this](ByteSink& sink) { copy_plan(*plan_, plan_path_, sink); });
    } else if (const catalog::SetFolders folders = set_folders(); !folders.names.empty()) {
      plan_folders(folders);
    } else if (!rule.shares.empty()) {
      plan_shares(rule);
    } else {
      TargetSet& set = add_set("");
      adopt(set, scan(images_, {}), {});
    }
  }

  std::unique_ptr<ByteSource> open_plan() const {
    if (plan_path_.empty()) return nullptr;
    refuse_options_beside_plan(options_);
    return inputs_->open(plan_path_);
  }

  std::optional<std::uint64_t> planned_parts() const {
    return plan_ ? formats::PlanReader(*plan_, plan_path_).head().parts : std::nullopt;
  }

  catalog::SetFolders set_folders() {
    // A list says itself which images there are; rows of metadata are of one set.
    if (!options_.sharding.images.list.empty()) return {};
    return catalog::find_set_folders(images_, ctx_, !options_.sharding.unlabeled);
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
    from_set_folders_ = true;
    for (const std::string& name : folders.names) {
      TargetSet& set = add_set(name);
      adopt(set, scan(images_of(set), {name, folders.classes}), {.options = {{"set", name}}});
    }
  }

  void plan_shares(const SplitRule& rule) {
    for (const SplitShare& share : rule.shares) add_set(share.name);
    const ScannedSource source = scan(images_, {});
    const std::vector<SampleOrder> orders = split_source(source, options_.sharding, rule, ctx_);
    for (std::size_t i = 0; i < orders.size(); ++i) refuse_empty_set(job_.sets()[i].name, orders[i]);
    for (std::size_t i = 0; i < orders.size(); ++i) {
      TargetSet& set = job_.sets()[i];
      adopt(set, source, {&orders[i], split_texts(options_, set.name), {}, i == 0});
    }
  }

  TargetSet& add_set(const std::string& name) {
    TargetSet& set = job_.add_set(name);
    set.target.prepare();
    return set;
  }

  /// The folder of the set's images.
  catalog::SourceFolder images_of(const TargetSet& set) const {
    return from_set_folders_ ? images_.below(set.name) : images_;
  }

  ScannedSource scan(const catalog::SourceFolder& images, const SourceSet& set) {
    return scan_source(images, options_.sharding, set, options_.threads, ctx_);
  }

  void adopt(TargetSet& set, const ScannedSource& source, const PlanScope& scope) {
    set.target.adopt_plan([&](ByteSink& sink) { write_plan(source, options_.sharding, scope, sink, ctx_); });
  }

  void write_set(TargetSet& set) {
    const auto source = folder_source(set.target.plan(), images_of(set), job_.cores(), images_counted_);
    const std::vector<formats::IndexSkip> skipped = job_.write(set, *source, result_);
    result_.skipped += skipped.size();
    list_skipped(result_.skipped_files, skipped, from_set_folders_ ? set.name + "/" : std::string());
  }

  void warn_of_images() {
    if (const std::uint64_t not_resized = images_counted_.not_jpeg; not_resized > 0) {
      ctx_.warn("images_not_resized",
                fmt::format("{} left as they are: --resize knows JPEG alone", format_count(not_resized, "image")));
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
  Context& ctx_;
  const std::shared_ptr<catalog::Inputs> inputs_;
  const catalog::SourceFolder images_;
  const std::string plan_path_;  ///< empty: the source is scanned
  const std::unique_ptr<ByteSource> plan_;
  ShardingJob job_;
  bool from_set_folders_ = false;  ///< the source has train/ and val/ folders of its own
  ConvertResult result_;
  ImageCounts images_counted_;
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
  v.field(
      {"SRC",
       "folder with one sub-folder of images per class, or with train/, val/ or test/ folders of that kind, here or "
       "at an s3:// URL; with --list or --plan also at http(s)://",
       Role::positional},
      source);
  v.field(
      {"DST", "folder for the shards: empty, or of the same convert to go on with", Role::positional, kOutputFolder},
      target);
  sharding.describe(v);
  SplitOptions::describe(v);
  v.field({"plan", "do what this plan says, without scanning (see `shardctl plan`)", Role::input_file}, plan);
  WriteOptions::describe(v);
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
  v.field({"manifest", "the file that describes the shards; empty where there are several sets"}, manifest);
  v.field({"plan_hash", "of the plan that was followed; empty where there are several sets"}, plan_hash);
  v.field({"skipped_files", "at most 1000 of them"}, skipped_files);
}

}  // namespace shardkit::dataset
