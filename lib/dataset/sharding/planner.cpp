#include "dataset/sharding/planner.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/prng.hpp"
#include "core/remedies.hpp"
#include "core/units.hpp"
#include "dataset/sharding/bad_files.hpp"
#include "formats/portable_name.hpp"
#include "formats/tar_header.hpp"

namespace shardkit::dataset {
namespace {

std::string json_of(catalog::ImageNotes& notes, const std::string& path) {
  std::string json = notes.json_of(path);
  if (json.size() > formats::kLongestPlannedJson) {
    throw Error(ErrorCode::unsupported, At{path},
                "the .json of '{}' would have {} bytes, but a plan stores at most {}; put such data into a file next "
                "to the image",
                path, format_count(json.size()), format_count(formats::kLongestPlannedJson));
  }
  return json;
}

/// Plans one scope of a source. Used once: construct, write().
class Planner {
 public:
  /// All but `context` outlive the planner.
  Planner(const ScannedSource& source, const ShardingOptions& options, const PlanScope& scope, Context& context)
      : source_(source),
        scan_(source.scan),
        options_(options),
        scope_(scope),
        context_(context),
        class_numbers_(scan_.classes.size()) {}

  PlanSummary write(ByteSink& sink) {
    make_order();
    make_head();
    const ShardCut shards = cut();
    context_.progress().start("plan", order_.size(), 0, "samples");
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
      context_.throw_if_stopped();
    }
    result_.plan_hash = to_hex(writer.finish());
    summarize(writer.shards());
    return std::move(result_);
  }

 private:
  /// One sample in 8 bytes: its class (below 2^24) and its position in that class (below 2^32: see ScannedClass).
  struct Position {
    std::uint64_t packed;
    Position(std::uint64_t class_index, std::uint64_t file) : packed(class_index << 32U | file) {}
    std::size_t class_index() const { return packed >> 32U; }
    std::size_t file() const { return packed & 0xffffffffU; }
  };

  void make_order() {
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

  void make_head() {
    head_ = planned_head(options_, scope_);
    refuse_problems();
    if (scope_.lists_skipped) {
      for (const catalog::ScanProblem& problem : scan_.problems)
        head_.skipped.push_back({problem.path, source_.images.without_folder(problem.error.what())});
    }
    head_.listed = scan_.listed;
    head_.grouped = !source_.groups.empty();
    head_.objects = std::ranges::any_of(scan_.classes, [](const auto& item) { return !item.versions.empty(); });
    for (std::size_t c = 0; c < scan_.classes.size(); ++c) {
      const std::optional<std::uint64_t> label = source_.labels[c];
      if (label) class_numbers_[c] = static_cast<std::uint32_t>(head_.classes.size());
      if (label) head_.classes.push_back({scan_.classes[c].name, *label, 0});
    }
    if (scan_.labeled()) add_unused_classes();
    find_paths();
    if (order_.empty() && (!scope_.start || head_.skipped.empty())) {  // --append may only note files left out
      throw Error(ErrorCode::not_found, At{source_.images.path}, "no readable images below '{}'", source_.images.path);
    }
    for (const Position& position : order_) {
      if (const auto number = class_numbers_[position.class_index()]) ++head_.classes[*number].samples;
    }
    if (options_.no_shuffle) return;
    Prng prng(options_.shuffle.value_or(0));
    shuffle(std::span(order_), prng);
  }

  /// The sets of one source, converted one by one with the same class map, list the same classes.
  void add_unused_classes() {
    std::set<std::string_view> used;
    for (const catalog::ScannedClass& item : scan_.classes) used.insert(item.name);
    for (const auto& [name, label] : source_.class_map) {
      if (!used.contains(name)) head_.classes.push_back({name, label, 0});
    }
  }

  /// Whether files lie elsewhere than their sample's path implies; and where they leave the source, what that is
  /// called, so that extract can put both side by side.
  void find_paths() {
    std::size_t most_up = 0;
    for (const catalog::ScannedClass& owner : scan_.classes) {
      for (const catalog::ScannedMember& member : owner.members) {
        if (scan_.fields[member.field].implied) continue;
        const std::string path = owner.path_of(member.file);
        const std::string image = owner.path_of(owner.files[member.image]);
        head_.paths = head_.paths || path != formats::implied_path(image, scan_.member_name(member));
        std::size_t up = 0;
        while (std::string_view(path).substr(3 * up).starts_with("../")) ++up;
        most_up = std::max(most_up, up);
      }
    }
    if (most_up == 0) return;
    std::filesystem::path folder;
    std::filesystem::path source = std::filesystem::absolute(source_.images.path_of(".")).lexically_normal();
    if (!source.has_filename()) source = source.parent_path();
    for (; most_up > 0; --most_up, source = source.parent_path()) folder = source.filename() / folder;
    head_.options["source_folder"] = folder.parent_path();
  }

  /// Throws for files that cannot be read, unless they are to be left out and are few.
  void refuse_problems() const {
    const std::vector<catalog::ScanProblem>& problems = scan_.problems;
    if (problems.empty()) return;
    const bool skips = options_.on_bad == OnBad::skip;
    const std::uint64_t most = most_bad(options_.max_bad, scan_.images() + problems.size());
    if (skips && problems.size() <= most) return;
    const Error& first = problems.front().error;
    std::vector<BadFile> files;
    for (const catalog::ScanProblem& problem : problems) {
      BadFile& file = files.emplace_back();
      file.path = source_.images.path_of(problem.path);
      file.reason = problem.error.what();
      file.fault = problem.error.fault();
    }
    std::string text = files_by_reason(files, files.size(), {});
    if (skips) {
      text = fmt::format("{} cannot be used, more than --max-bad allows ({}): {}",
                         format_count(problems.size(), "file"), most, text);
    }
    text += remedy::with_leave_out(
        problems.size() == 1 ? "correct it, or leave it out with" : "correct them, or leave them out with",
        problems.size() > most ? problems.size() : 0);
    if (problems.size() > most) text += " (or more: files are read while they are converted)";
    if (!options_.metadata.empty() || !options_.fields.empty()) {
      text += "; --on-bad keep takes samples that lack a row or a required field";
    }
    throw Error(first.code(), text, problems.size() == 1 ? first.path() : source_.images.path);
  }

  ShardCut cut() {
    context_.progress().start("sizes", order_.size());
    std::vector<std::uint32_t> blocks;  // a sample costs 10 us and more with metadata: computed once
    blocks.reserve(order_.size());
    for (const Position& position : order_) {
      const std::uint64_t bytes = formats::sample_tar_bytes(head_, sample_at(position));
      blocks.push_back(static_cast<std::uint32_t>(bytes / formats::kTarBlock));
      note_sample();
    }
    if (blocks.empty()) return {};
    const ShardCut cut = cut_shards(
        blocks.size(), [&](std::uint64_t i) { return std::uint64_t{blocks[i]} * formats::kTarBlock; }, options_);
    warn_of_oversized(cut.oversized, context_);
    return cut;
  }

  formats::PlannedSample sample_at(const Position& position) const {
    formats::PlannedSample sample = planned_sample(source_, position.class_index(), position.file());
    sample.class_index = class_numbers_[position.class_index()];
    return sample;
  }

  /// Rows of metadata make a sample cost 10 us and more, a shard of them seconds.
  void note_sample() const {
    if (++context_.progress().items % 4096 == 0) context_.throw_if_stopped();
  }

  void count_classes(std::uint64_t classes, std::size_t shard, std::size_t shards) {
    ClassesPerShard& per_shard = result_.classes_per_shard;
    per_shard.min = shard == 0 ? classes : std::min(per_shard.min, classes);
    per_shard.max = std::max(per_shard.max, classes);
    per_shard.mean += static_cast<double>(classes) / static_cast<double>(shards);
  }

  void summarize(const std::vector<formats::PlanShard>& shards) {
    result_.samples = order_.size();
    result_.shards = shards.size();
    for (const formats::PlanShard& shard : shards) {
      result_.bytes += shard.bytes;
      result_.largest_shard_bytes = std::max(result_.largest_shard_bytes, shard.bytes);
    }
    result_.classes =
        static_cast<std::uint64_t>(std::ranges::count_if(class_numbers_, [](const auto& n) { return n.has_value(); }));
    result_.skipped = head_.skipped.size();
    for (const auto& [kind, files] : scan_.ignored.kinds) result_.ignored_files += files;
    std::uint64_t largest_class = 0;
    for (const formats::ManifestClass& item : head_.classes) largest_class = std::max(largest_class, item.samples);
    result_.shuffle_buffer = shuffle_buffer_for({!options_.no_shuffle, largest_class, result_.samples, result_.bytes});
  }

  const ScannedSource& source_;
  const catalog::ImageFolderScan& scan_;
  const ShardingOptions& options_;
  const PlanScope& scope_;
  Context& context_;
  formats::PlanHead head_;
  std::vector<std::optional<std::uint32_t>> class_numbers_;  ///< in head_, of the scan's classes; empty: no label
  std::vector<Position> order_;
  PlanSummary result_;
};

}  // namespace

formats::PlanHead planned_head(const ShardingOptions& options, const PlanScope& scope) {
  formats::PlanHead head;
  head.name = options.name;
  head.options = plan_texts(options);
  head.options.insert(scope.options.begin(), scope.options.end());
  head.parts = scope.parts;
  head.start = scope.start;
  return head;
}

formats::PlannedSample planned_sample(const ScannedSource& source, std::size_t class_index, std::size_t number) {
  const catalog::ImageFolderScan& scan = source.scan;
  const catalog::ScannedClass& owner = scan.classes[class_index];
  const catalog::ScannedFile& file = owner.files[number];
  const std::string path = owner.path_of(file);
  const std::string_view first = scan.listed ? std::string_view(path) : owner.name_of(file);
  const std::string_view stem = formats::split_extension(first).stem;
  const auto planned = [&](const catalog::ScannedFile& member) {
    return formats::PlannedFile{owner.state_of(member), {}};
  };
  formats::PlannedSample sample{0, file.mark, std::string(stem), planned(file), {}};
  sample.image.extension = formats::split_extension(first).extension;
  const std::size_t shared = path.size() - (first.size() - stem.size());  // of the paths of side-cars
  const auto index = static_cast<std::uint32_t>(number);
  auto member = std::ranges::lower_bound(owner.members, index, {}, &catalog::ScannedMember::image);
  for (; member != owner.members.end() && member->image == index; ++member) {
    formats::PlannedFile& file_of = sample.sidecars.emplace_back(planned(member->file));
    std::string member_path = owner.path_of(member->file);
    file_of.extension = scan.member_name(*member);
    if (scan.fields[member->field].beside) {
      const std::string_view suffix = std::string_view(member_path).substr(shared);
      file_of.extension = suffix.starts_with('.') ? suffix.substr(1) : suffix;
    } else if (member_path != fmt::format("{}.{}", std::string_view(path).substr(0, shared), file_of.extension)) {
      file_of.path = std::move(member_path);
    }
  }
  if (source.notes) sample.json = json_of(*source.notes, path);
  if (!source.groups.empty()) sample.group = source.groups[class_index][number];
  return sample;
}

PlanSummary write_plan(const ScannedSource& source, const ShardingOptions& options, const PlanScope& scope,
                       ByteSink& sink, Context& context) {
  return Planner(source, options, scope, context).write(sink);
}

void PlanSummary::describe(FieldList& v) {
  v.field({"samples", Unit::count, "images that become samples"}, samples);
  v.field({"shards", Unit::count, "shards to be written"}, shards);
  v.field({"bytes", Unit::bytes, "bytes of all shards together"}, bytes);
  v.field({"classes", Unit::count, "class folders"}, classes);
  v.field({"skipped", Unit::count, "images left out because they cannot be read"}, skipped);
  v.field({"ignored_files", Unit::count, "files that are neither images nor side-cars"}, ignored_files);
  v.field({"largest_shard_bytes", Unit::bytes, "size of the largest shard"}, largest_shard_bytes);
  v.field({"classes_per_shard", "how well the classes are mixed"}, classes_per_shard);
  shuffle_buffer.describe(v);
  v.field({"plan_hash", "XXH3-128 of options, classes, names and sizes in order"}, plan_hash);
}

}  // namespace shardkit::dataset
