#include "dataset/convert/convert.hpp"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <ranges>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "catalog/image_folder.hpp"
#include "catalog/object_location.hpp"
#include "catalog/set_folders.hpp"
#include "catalog/swapped_operands.hpp"
#include "core/command_text.hpp"
#include "core/remedies.hpp"
#include "core/units.hpp"
#include "dataset/bucket/output_location.hpp"
#include "dataset/convert/folder_source.hpp"
#include "dataset/sharding/earlier_samples.hpp"
#include "dataset/sharding/planner.hpp"
#include "dataset/sharding/scanned_source.hpp"
#include "formats/plan_file.hpp"
#include "formats/shard_index.hpp"
#include "io/publish.hpp"

namespace shardkit::dataset {
namespace {

class Conversion {
 public:
  /// `target`: the folder in `files`.
  Conversion(const ConvertOptions& options, io::OutputFiles& files, const std::string& target, Context& context)
      : options_(options),
        sharding_(options.sharding),
        context_(context),
        inputs_(std::make_shared<catalog::Inputs>(options.sharding.access, context)),
        images_(options.source, !options.sharding.images.list.empty() || !options.plan.empty(), inputs_),
        plan_path_(inputs_->add_named(options.plan)),
        plan_(open_plan()),
        job_(target, options, planned_parts(), files, context) {}

  ConvertResult run() {
    plan_sets();
    job_.settle_part();
    if (!options_.dry_run) {
      for (std::size_t i = 0; i < amendments_.size(); ++i) job_.reopen(job_.sets()[i], amendments_[i].reopened);
    }
    job_.resume(result_);
    if (is_repair_) refuse_whole_sets();
    if (options_.dry_run) return std::move(result_);
    for (std::size_t i = 0; i < amendments_.size(); ++i) write_set(job_.sets()[i], amendments_[i]);
    if (!open_.empty() || over_budget_) {
      report_failure();
    } else {
      refuse_empty_sets();
    }
    if (is_repair_ && options_.append && !result_.failure) throw TargetChanged();  // to a whole set by now
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

  const ConvertJob& job() const { return job_; }

 private:
  /// The given plan, the source's own train/ and val/ folders, the shares of --split, or the whole source.
  void plan_sets() {
    const SplitRule rule = split_rule(options_);
    if (options_.seed != 0 && rule.shares.empty()) {
      throw usage_error("--seed needs --split; for the order of samples use --shuffle SEED");
    }
    if (plan_) {
      if (options_.append) throw usage_error("--append makes its own plan; leave out --plan");
      const formats::PlanReader plan(*plan_, plan_path_);
      require_folders(images_, plan.head());
      planned_ = plan.head();
      // Bad images that are kept are different bytes: the plan must contain that option.
      const OnBad planned = planned_choice(plan.head(), "on_bad", kDefaultOnBad);
      on_bad_ = planned == OnBad::keep ? planned : options_.sharding.on_bad.value_or(planned);
      add_sets({""});
      if (is_repair_) return follow_plans();
      OutputSet& set = job_.sets().front();
      expect_stages(0, 0);
      job_.prepare(set);
      const auto copy = [&](ByteSink& sink) {
        plan.check_bytes();
        plan_->stream_all([&](Bytes piece) { sink.write(piece); });
      };
      if (!set.adopt_copy(plan)) set.adopt_plan(copy, options_.identity);
    } else if (const catalog::SetFolders folders = set_folders(); !folders.names.empty()) {
      plan_folders(folders);
    } else if (!rule.shares.empty()) {
      plan_shares(rule);
    } else {
      add_sets({""});
      if (is_repair_) return follow_plans();
      expect_stages(1, 1);
      adopt(job_.sets().front(), scan(known_images(), {}), {});
    }
  }

  /// Scans and plans, a check of the target, and the sets to write.
  void expect_stages(std::size_t scans, std::size_t plans) {
    context_.progress().expect_stages(scans + plans + 1 + (options_.dry_run ? 0 : job_.sets().size()));
  }

  std::unique_ptr<ByteSource> open_plan() const {
    if (plan_path_.empty()) return nullptr;
    return inputs_->open(plan_path_);
  }

  std::optional<std::uint64_t> planned_parts() const {
    return plan_ ? formats::PlanReader(*plan_, plan_path_).head().parts : std::nullopt;
  }

  catalog::SetFolders set_folders() {
    // A list names its images itself; rows of metadata are of one set.
    if (!options_.sharding.images.list.empty()) return {};
    catalog::SetFolders folders = catalog::find_set_folders(images_, context_, !sharding_.unlabeled);
    if (sharding_.class_map.empty()) catalog::refuse_unclear_folders(images_, folders, context_, !sharding_.unlabeled);
    return folders;
  }

  void plan_folders(const catalog::SetFolders& folders) {
    if (!options_.split.empty()) {
      throw Error(ErrorCode::usage, At{options_.source},
                  "'{}' is already divided into {}; leave out --split, or convert one of its folders", options_.source,
                  fmt::join(folders.names, ", "));
    }
    if (!options_.sharding.metadata.empty()) {
      refuse_metadata_of_sets(folders);
    }
    from_set_folders_ = true;
    add_sets(folders.names);
    if (is_repair_) return follow_plans();
    expect_stages(folders.names.size(), folders.names.size());
    for (OutputSet& set : job_.sets()) {
      adopt(set, scan(known_images(set.name), {set.name, folders.classes}), {.options = {{"set", set.name}}});
    }
  }

  /// Sets that are converted one by one need one list of all classes.
  [[noreturn]] void refuse_metadata_of_sets(const catalog::SetFolders& folders) const {
    remedy::Named paths;
    for (const std::string& name : folders.names) paths.push_back(images_.path_of(name));
    const bool labeled = !folders.classes.empty();
    const std::string convert = remedy::in_text(remedy::convert(
        paths.front(), std::string(labeled ? " --class-map classes.txt" : " --unlabeled") + " --metadata FILE",
        folders.names.front()));
    throw Error(ErrorCode::usage, At{options_.source},
                "'{}' contains the sets {}; convert each with its own table{}: {}{}, and so on", options_.source,
                fmt::join(folders.names, ", "), labeled ? " and the classes of all" : "",
                !labeled        ? ""
                : images_.store ? "list the class folders in classes.txt, one per line, then "
                                : remedy::in_text(remedy::list_classes(paths)) + ", then ",
                convert);
  }

  void plan_shares(const SplitRule& rule) {
    std::vector<std::string> names;
    for (const SplitShare& share : rule.shares) names.push_back(share.name);
    add_sets(names);
    if (is_repair_) return follow_plans();
    expect_stages(1, rule.shares.size());
    ScannedSource source = scan(known_images(), {});
    find_groups(source, sharding_, rule, context_);
    const auto known = [&](std::uint64_t group) { return earlier_.set_of(group); };
    const DividedSamples divided = split_source(source, rule, known, context_);
    for (std::size_t i = 0; i < divided.sets.size(); ++i) {
      if (!job_.sets()[i].added()) refuse_empty_set(rule, i, divided);
    }
    bool is_new = false;  // of a plan that continues, the first run warned
    for (std::size_t i = 0; i < divided.sets.size(); ++i) {
      OutputSet& set = job_.sets()[i];
      const bool had_plan = set.has_plan();
      adopt(set, source, {&divided.sets[i], split_texts(options_, set.name), {}, i == 0});
      is_new = is_new || (!had_plan && !unchanged_.contains(set.name));
    }
    const auto name_of = [&](std::uint64_t label) {
      const auto at = std::ranges::find(source.labels, std::optional(label)) - source.labels.begin();
      return source.scan.classes[static_cast<std::size_t>(at)].name;
    };
    if (is_new) warn_of_small_classes(divided, rule, name_of, context_);
  }

  using Seen = std::shared_ptr<const catalog::SeenSet>;

  /// Adds the sets. All of them are repaired first if one needs that.
  void add_sets(const std::vector<std::string>& names) {
    std::vector<Seen> seen;
    for (const std::string& name : names)
      seen.push_back(job_.look(name, options_.append ? catalog::SetVerb::append : catalog::SetVerb::convert));
    is_repair_ = std::ranges::any_of(seen, [&](const Seen& set) { return is_repaired(*set); });
    if (is_repair_ && options_.append) job_.take_all_parts();  // parts are of what is added
    for (std::size_t i = 0; i < names.size(); ++i) {
      OutputSet& set = job_.add_set(names[i], seen[i], is_repair_ ? Plans::all : Plans::last);
      if (options_.append && !is_repair_) begin_append(set);
      while (amendments_.size() < job_.sets().size()) take_facts(job_.sets()[amendments_.size()]);
    }
  }

  /// Whether the set lacks things that its plans describe, whatever the source has now. What is new in the source is
  /// for
  /// --append, which a set of several plans has had.
  bool is_repaired(const catalog::SeenSet& seen) const {
    const bool is_extended = seen.plans.size() > 1;
    const bool is_unlisted = seen.as<catalog::Writing>() || seen.as<catalog::Unmerged>();
    if (options_.append) return seen.as<catalog::Damaged>() || (is_extended && is_unlisted);
    if (seen.as<catalog::Appending>() || seen.as<catalog::Appended>()) refuse_extended(seen.folder);
    return is_extended;
  }

  [[noreturn]] static void refuse_extended(const std::string& folder) {
    throw Error(ErrorCode::conflict, At{folder},
                "'{}' has shards that convert --append added: run this command with --append", folder);
  }

  void refuse_whole_sets() {
    const auto is_whole = [](const OutputSet& set) {
      return set.has_all_shards() && set.seen().as<catalog::Complete>() != nullptr;
    };
    if (!options_.append && std::ranges::all_of(job_.sets(), is_whole)) refuse_extended(job_.sets().back().folder());
  }

  /// Instead of a scan.
  void follow_plans() {
    expect_stages(0, 0);
    for (OutputSet& set : job_.sets()) follow_plan(set);
  }

  /// What a set lacks is written as its plan says, also if the source has other files by now.
  void follow_plan(OutputSet& set) {
    if (!set.has_plan()) {
      throw Error(ErrorCode::conflict, At{set.folder()},
                  "'{}' is missing from the sets that --append added to; convert into another folder", set.folder());
    }
    const auto texts =
        from_set_folders_ ? std::map<std::string, std::string>{{"set", set.name}} : split_texts(options_, set.name);
    refuse_other_options(set.plan().head(), planned_ ? *planned_ : planned_head(sharding_, {.options = texts}),
                         set.folder(), catalog::state_note(set.seen()));
    if (!set.is_last) return;
    job_.prepare(set);
    if (!options_.dry_run) set.follow_plan();
  }

  void begin_append(OutputSet& set) {
    job_.begin_append(set, options_.discard);
    earlier_.add(set, folder_of(set));
    left_out_.insert(earlier_.left_out().begin(), earlier_.left_out().end());
  }

  /// What the plan of a target decides.
  void take_facts(OutputSet& set) {
    amendments_.emplace_back();
    if (!set.has_plan()) return;
    set.open_plan();
    const formats::PlanHead& head = set.plan().head();
    // A target that was started with an earlier default keeps it.
    if (!sharding_.validate && !plan_) {
      sharding_.validate = planned_choice(head, "validate", kDefaultValidate);
      if (sharding_.validate != kDefaultValidate) {
        context_.warn("validate_of_plan", "images are checked with --validate {}, as the plan of '{}' says",
                      enum_name(*sharding_.validate), set.folder());
      }
    }
    for (const formats::IndexSkip& skip : head.skipped) left_out_.insert(skip.path);
    amendments_.back() = find_amendments(set, images_of(set), options_.identity);
  }

  /// The prefix of paths below the source in one of its set folders.
  std::string folder_of(const OutputSet& set) const { return from_set_folders_ ? set.name + "/" : std::string(); }

  /// The folder of the set's images.
  catalog::SourceFolder images_of(const OutputSet& set) const {
    return from_set_folders_ ? images_.below(set.name) : images_;
  }

  /// The images of the set, or of all sets without one of that name, as their plans know them.
  catalog::SourceFolder known_images(const std::string& name = {}) {
    catalog::SourceFolder images = images_;
    for (std::size_t i = 0; i < amendments_.size(); ++i) {
      const OutputSet& set = job_.sets()[i];
      if (!name.empty() && set.name != name) continue;
      if (!name.empty()) images = images_of(set);
      for (const auto& [path, file] : amendments_[i].files) images.known.emplace(path, file.listed.planned);
    }
    return images;
  }

  ScannedSource scan(const catalog::SourceFolder& images, SourceSet set) {
    set.json_lists = earlier_.json_lists();
    const Context::Scope scope(context_, set.name);
    job_.require_part();
    context_.progress().next_stage();
    const std::string folder = set.name.empty() ? std::string() : set.name + '/';
    const auto left_out = [&](const std::string& path) {
      return left_out_.contains(path) || (options_.append && earlier_.has(folder + path));
    };
    ScannedSource source = scan_whole_source(images, sharding_, set, options_.threads, left_out, context_);
    if (options_.append) {
      earlier_.complete(source, folder, set.classes, !sharding_.class_map.empty(), context_);
    }
    warn_of_classes(source, set, context_);
    return source;
  }

  void warn_of_nothing_new(const ScannedSource& source, const std::string& folder) const {
    const std::size_t bad = source.scan.problems.size();
    context_.warn("nothing_new", "'{}' has no file to add to '{}'{}", source.images.path, folder,
                  bad > 0 ? fmt::format("; {} left out", format_count(bad, "file")) : "");
  }

  void adopt(OutputSet& set, const ScannedSource& source, PlanScope scope) {
    const Context::Scope warnings(context_, set.name);
    context_.progress().next_stage();
    EarlierSamples::Added added;
    if (const Generation* append = set.added()) {
      scope.start = append->start(planned_head(sharding_, scope), options_.recheck);
      added = earlier_.added(source, folder_of(set), scope.samples, context_);
      const bool fails = !source.scan.problems.empty() && on_bad_ != OnBad::skip;
      const bool records = scope.lists_skipped && !source.scan.problems.empty();
      if (added.samples.empty() && !fails && !records && !set.has_plan()) {
        warn_of_nothing_new(source, set.folder());
        unchanged_.emplace(set.name, classes_of(source));
        return set.cancel_append();
      }
      scope.samples = &added.samples;
      scope.start->readmitted = added.readmitted;
    }
    job_.prepare(set);
    try {
      set.adopt_plan([&](ByteSink& sink) { write_plan(source, sharding_, scope, sink, context_); }, options_.identity);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::conflict || !job_.lacks_shards(set)) throw;
      follow_plan(set);
    }
  }

  static formats::Manifest classes_of(const ScannedSource& source) {
    formats::Manifest manifest;
    for (std::size_t c = 0; c < source.labels.size(); ++c) {
      if (source.labels[c]) manifest.classes.push_back({source.scan.classes[c].name, *source.labels[c], 0});
    }
    return manifest;
  }

  void write_set(OutputSet& set, const Amendments& amendments) {
    const Context::Scope scope(context_, set.name);
    if (const auto unchanged = unchanged_.find(set.name); unchanged != unchanged_.end()) {
      context_.progress().next_stage();  // which has nothing to write
      const std::string path = set.path_of(formats::kManifestName);
      const formats::Manifest listed = set.manifest_now();
      unchanged->second.plan_hash = listed.plan_hash;
      const formats::Manifest manifest = formats::join_manifests(listed, unchanged->second);
      if (manifest.classes.size() > listed.classes.size() || !options_.index.empty()) job_.publish(set, manifest);
      result_.samples_before += manifest.samples;
      result_.sets.push_back({set.name, 0, 0, 0, path, to_hex(set.plan().hash())});
      return;
    }
    if (set.added()) result_.samples_before += set.added()->manifest_of_set().samples;
    const std::unique_ptr<SampleSource> source = folder_source(set.plan(), images_of(set), {on_bad_, options_.identity},
                                                               amendments, job_.cores(), images_counted_);
    const std::string folder = folder_of(set);
    const SkipBudget budget = budget_of(set, amendments);
    SetOutcome outcome = job_.write(set, *source, result_, on_bad_ == OnBad::skip ? budget : SkipBudget{});
    result_.skipped += outcome.skipped.size();
    list_skipped(result_.skipped_files, outcome.skipped, folder);
    for (BadFile& file : outcome.bad.open) {
      file.path.insert(0, folder);
      list_skipped(result_.bad_files, {{file.path, file.reason}});
      open_.push_back(std::move(file));
    }
    result_.bad += outcome.bad.open_files;
    source_missing_ = source_missing_ || outcome.bad.gone_files > budget.most;
    over_budget_ = over_budget_ || (on_bad_ == OnBad::skip && (budget.is_spent() || outcome.bad.open_files > 0));
    if (const std::uint64_t needed = budget.used + outcome.bad.samples; needed > budget.most && needed > needed_) {
      needed_ = needed;
      allowed_ = budget.most;
    }
  }

  SkipBudget budget_of(const OutputSet& set, const Amendments& amendments) const {
    std::uint64_t skipped = set.plan().head().skipped.size();
    const std::uint64_t files = job_.planned_samples(set) + skipped;
    for (const auto& shard : set.shards) skipped += shard ? shard->skipped : 0;
    const auto is_deleted = [](const auto& file) { return file.second.listed.state == BadState::deleted; };
    const auto deleted = static_cast<std::uint64_t>(std::ranges::count_if(amendments.files, is_deleted));
    return {most_bad(sharding_.max_bad, files), skipped - std::min(skipped, deleted)};
  }

  /// All bad files, and the remedies.
  void report_failure() {
    const std::deque<OutputSet>& sets = job_.sets();
    const auto appended = std::ranges::find_if(sets, [](const OutputSet& set) { return set.added() != nullptr; });
    const OutputSet& set = appended == sets.end() ? sets.front() : *appended;
    const std::string lists =
        (sets.size() > 1 ? job_.target() + "/*" : set.folder()) + set.state_path("*.bad").substr(set.folder().size());
    const std::string text = files_by_reason(open_, std::max(result_.bad, needed_), lists);
    const ErrorCode code = source_missing_ ? ErrorCode::io : open_.empty() ? ErrorCode::corrupt : open_.front().code();
    result_.failure.emplace(code, failure_title() + text + what_to_do(),
                            open_.size() == 1 ? images_.path_of(open_.front().path) : images_.path);
  }

  /// A set of which every sample was left out has nothing to read.
  void refuse_empty_sets() {
    for (const WrittenSet& written : result_.sets) {
      if (written.samples > 0 || result_.samples_before > 0 || options_.in_parts()) continue;
      const std::string first =
          result_.skipped_files.empty() ? "" : ", the first because " + result_.skipped_files.front().reason;
      result_.failure.emplace(ErrorCode::corrupt,
                              fmt::format("no sample is left for '{}': all {} are bad{}; correct them and run the same "
                                          "command again",
                                          written.manifest, format_count(result_.skipped, "file"), first),
                              images_.path);
      return;
    }
  }

  std::string failure_title() {
    const std::string& source = images_.path;
    if (source_missing_) return fmt::format("many files of '{}' no longer exist: is all of it mounted? ", source);
    if (over_budget_) {
      return fmt::format("found {} in '{}', but --max-bad allows only {}: ", format_count(needed_, "bad sample"),
                         source, format_count(allowed_));
    }
    std::size_t finished = 0;
    std::size_t open = 0;
    for (const OutputSet& set : job_.sets()) {
      for (const auto& shard : set.shards) ++(shard ? finished : open);
    }
    return fmt::format("found {} in '{}'; {} of {} finished: ", format_count(result_.bad, "bad file"), source, finished,
                       format_count(finished + open, "shard"));
  }

  /// What makes the bad files good, or takes them out on purpose.
  std::string correction() const {
    const bool is_one = result_.bad == 1;
    const auto gone =
        static_cast<std::size_t>(std::ranges::count(open_, true, [](const BadFile& file) { return file.seen.gone; }));
    if (gone == open_.size()) return is_one ? "add it" : "add these files";
    std::string text =
        is_one ? "correct it, or move it out of the source," : "correct these files, or move them out of the source,";
    if (!options_.sharding.images.list.empty()) {
      text = is_one ? "correct it, or move it away but keep its row,"
                    : "correct these files, or move them away but keep their rows,";
    }
    return gone > 0 ? text + ", add those that do not exist," : text;
  }

  std::string what_to_do() const {
    const std::string again = source_missing_ ? "run the same command again when they are back"
                                              : correction() + " and run the same command again";
    if (on_bad_ == OnBad::keep) return again;
    ConvertOptions options = options_;
    options.sharding.on_bad.reset();
    if (needed_ > 0) options.sharding.max_bad.clear();
    const std::string command = remedy::with_leave_out(command_text("shardctl convert", options), needed_);
    return fmt::format("{}, or leave {} out: {}{}", again, result_.bad == 1 ? "it" : "them", remedy::in_text(command),
                       options_.sharding.fields.empty()
                           ? ""
                           : "; if samples may lack a field, declare it as 'NAME?=...' or add --on-bad keep, and "
                             "convert into an empty folder");
  }

  void warn_of_images() {
    if (const std::uint64_t not_resized = images_counted_.not_jpeg; not_resized > 0) {
      context_.warn("images_not_resized", "{} not resized: --resize supports only JPEG",
                    format_count(not_resized, "image"));
    }
    if (result_.kept_bad > 0) {
      context_.warn("bad_images_kept", "{} kept despite a fault (--on-bad keep)",
                    format_count(result_.kept_bad, "image"));
    }
    for (std::size_t i = 0; i < kProblemCodes; ++i) {
      const std::uint64_t images = images_counted_.accepted[i];
      if (images == 0) continue;
      const ProblemKind& kind = problem_kinds()[i];
      const std::set<std::string>& paths = images_counted_.accepted_paths[kind.code];
      const AcceptedImages& accepted =
          result_.accepted.emplace_back(std::string(kind.name), images, std::vector(paths.begin(), paths.end()));
      context_.warn("images_accepted", "{} accepted with {}: {}: {}; --strict refuses them",
                    format_count(images, "image"), kind.name, kind.meaning, first_of(accepted.paths, images));
    }
    if (result_.skipped > 0) {
      std::vector<std::string> paths;
      for (const auto& file : result_.skipped_files) paths.push_back(file.path);
      context_.warn("files_skipped", "{} left out of the shards: {}", format_count(result_.skipped, "source file"),
                    first_of(paths, result_.skipped));
    }
  }

  const ConvertOptions& options_;
  ShardingOptions sharding_;  ///< with the decisions of the target's plan for options that are not given
  Context& context_;
  const std::shared_ptr<catalog::Inputs> inputs_;
  const catalog::SourceFolder images_;
  const std::string plan_path_;  ///< empty: the source is scanned
  const std::unique_ptr<ByteSource> plan_;
  std::optional<formats::PlanHead> planned_;  ///< of the given plan
  ConvertJob job_;
  EarlierSamples earlier_{options_.identity};
  /// Sets to which --append has nothing to add, with the classes of the source.
  std::map<std::string, formats::Manifest> unchanged_;
  std::set<std::string> left_out_;     ///< by the scans of the targets' plans
  std::deque<Amendments> amendments_;  ///< of each set
  OnBad on_bad_ = options_.sharding.on_bad.value_or(kDefaultOnBad);
  bool is_repair_ = false;         ///< the plans of the targets are followed, whatever the source has now
  bool from_set_folders_ = false;  ///< the source has its own train/ and val/ folders
  ConvertResult result_;
  ImageCounts images_counted_;
  std::vector<BadFile> open_;    ///< of all sets
  bool source_missing_ = false;  ///< so many are gone that it is rather the source
  bool over_budget_ = false;
  std::uint64_t needed_ = 0;   ///< --max-bad for the bad files found; 0: the given one is enough
  std::uint64_t allowed_ = 0;  ///< the actual kind
};

ConvertResult convert_files(io::OutputFiles& files, const ConvertOptions& options, const std::string& target,
                            Context& context) {
  return run_on_targets([&] { return Conversion(options, files, target, context); }, context);
}

/// A set as source and images as target are the other order, too.
void refuse_swapped(const ConvertOptions& options) {
  using catalog::Content;
  if (catalog::is_address(options.target)) return;
  ConvertOptions other = options;
  std::swap(other.source, other.target);
  const std::string swapped = command_text("shardctl convert", other);
  catalog::refuse_swapped(options.source, options.target, Content::images, swapped);
  const bool is_set = !catalog::is_address(options.source) &&
                      std::filesystem::exists(io::join_path(options.source, formats::plan_path(0)));
  if (!is_set || catalog::content_of(options.target) != Content::images) return;
  catalog::throw_swapped(options.source,
                         fmt::format("'{}' contains a set, and '{}' contains images", options.source, options.target),
                         swapped);
}

}  // namespace

ConvertResult try_convert(const ConvertOptions& options, Context& context) {
  check(options);
  refuse_swapped(options);
  const OutputLocation location = open_output_location(options.target, options.sharding.access, context);
  return convert_files(*location.files, options, location.folder, context);
}

ConvertResult convert(const ConvertOptions& options, Context& context) {
  ConvertResult result = try_convert(options, context);
  result.throw_if_failed();
  return result;
}

ConvertResult convert_on(io::OutputFiles& files, const ConvertOptions& options, Context& context) {
  check(options);
  refuse_swapped(options);
  ConvertResult result = convert_files(files, options, options.target, context);
  result.throw_if_failed();
  return result;
}

}  // namespace shardkit::dataset
