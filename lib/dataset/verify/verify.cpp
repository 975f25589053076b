#include "dataset/verify/verify.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <stop_token>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "catalog/shard_set.hpp"
#include "catalog/swapped_operands.hpp"
#include "core/command_text.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/remedies.hpp"
#include "core/units.hpp"
#include "dataset/checks/image_fault.hpp"
#include "dataset/checks/shard_checker.hpp"
#include "dataset/checks/whole_set.hpp"
#include "dataset/verify/image_check.hpp"
#include "dataset/verify/set_checker.hpp"
#include "dataset/verify/shared_images.hpp"
#include "dataset/verify/source_check.hpp"
#include "io/publish.hpp"
#include "sync/task_group.hpp"
#include "system/limits.hpp"

namespace shardkit::dataset {
namespace {

/// Shards that are compared at a time with images that come over the network.
constexpr unsigned kRemoteReaders = 32;
/// What ImageEnds finds.
constexpr std::array kEndsFaults{ProblemCode::image_truncated,      ProblemCode::image_no_end,
                                 ProblemCode::image_data_after_end, ProblemCode::image_corrupt,
                                 ProblemCode::image_damaged,        ProblemCode::image_zero_pixels,
                                 ProblemCode::image_too_large,      ProblemCode::image_unsupported,
                                 ProblemCode::image_not_an_image,   ProblemCode::image_other_format};

/// Looks at the first and last bytes of a shard's images while the thread that reads it hashes them: what `convert
/// --validate magic` does with its files. Decodes only JPEGs and PNGs without their end.
class ImageEnds final : public ImageFinder {
 public:
  /// Findings go to `log`, and `images` counts. Both outlive it.
  ImageEnds(ProblemLog& log, std::atomic<std::uint64_t>& images) : log_(log), images_(images) {}

 private:
  void image(Bytes bytes) override {
    std::optional<ImageFault> fault = ends_fault(bytes, extension());
    if (needs_decoding(fault)) fault = image_fault(checker_, bytes, extension());
    ++images_;
    if (fault) log_.add(fault->code, entry().data_offset, entry().name, fault->text);
  }

  ProblemLog& log_;
  std::atomic<std::uint64_t>& images_;
  image::PixelChecker checker_;
};

/// "2 errors and 1 warning"
std::string found(const VerifyResult& result) {
  if (result.problems_total == 0) return "no finding";
  const std::string errors = format_count(result.errors, "error");
  const std::string warnings = format_count(result.warnings, "warning");
  if (result.errors == 0 || result.warnings == 0) return result.errors == 0 ? warnings : errors;
  return errors + " and " + warnings;
}

std::string not_sound(const std::string& where, const VerifyResult& result) {
  return fmt::format("not sound: {}, {} in total", where, found(result));
}

/// For a result without errors; `sets` such as "2 sets, ".
std::string sound(const std::string& sets, const VerifyResult& result, std::string_view not_read) {
  const std::string text = fmt::format("{}: {}{}, {}, {}{}", result.has_findings() ? "not sound" : "sound", sets,
                                       format_count(result.shards, "shard"), format_count(result.samples, "sample"),
                                       format_size(result.bytes), not_read);
  if (result.warnings == 0) return text;
  return fmt::format("{}; {}{}", text, format_count(result.warnings, "warning"),
                     result.strict ? ", which --strict counts as findings" : "");
}

/// One verify from resolved shards to result.
class Verification {
 public:
  /// `name_of_set`: empty unless it is one of several that are verified.
  Verification(const VerifyOptions& options, catalog::ShardSet set, Context& context, std::string name_of_set = {})
      : options_(options),
        set_name_(std::move(name_of_set)),
        context_(context),
        threads_(system::thread_count(options.threads)),
        set_(std::move(set)),
        expected_(find_expectations(set_)),
        manifests_(catalog::manifests_by_folder(set_)),
        set_checker_(set_, manifests_, expected_, reports_) {
    check(options.images);
    if (options.against.empty() && !options.images.list.empty()) throw usage_error("--list needs --against");
    result_.strict = options.strict;
    if (const catalog::SeenSet* seen = set_.seen_in(set_.folder)) {
      if (const auto* part = seen->as<catalog::Partial>()) result_.staged_parts = part->parts;
    }
    result_.depth = choose_depth();
    result_.bytes = set_.bytes();
    for (const catalog::ShardFile& shard : set_.shards) {
      const std::string& name = set_.folder.empty() ? shard.path : shard.name;  // folders may have shards of one name
      reports_.emplace_back(name);
      result_.shard_names.push_back(name);
    }
    if (set_.manifest) {
      for (const formats::ManifestClass& item : set_.manifest->classes) facts_.labels.push_back(item.label);
      std::ranges::sort(facts_.labels);
    }
    for (const auto& [folder, manifest] : manifests_) {
      if (manifest) add_primary(manifest->options, facts_.primary);
    }
  }

  VerifyResult run() {
    const auto start = std::chrono::steady_clock::now();
    if (!options_.against.empty()) {
      context_.progress().expect_stages(2);
      context_.progress().next_stage();
      source_.emplace(options_.against, options_.images, set_, manifests_, context_);
    }
    context_.progress().next_stage();
    context_.progress().start("verify", set_.shards.size(), result_.bytes, "shards");
    try {
      check_shards();
      set_checker_.finish(source_ && source_->is_labeled(), context_);
      if (source_) source_->note_unreadable(set_checker_.log());
      if (source_ && set_checker_.is_whole()) source_->note_missing(set_checker_.log());
    } catch (const Error& error) {
      if (error.code() != ErrorCode::cancelled) throw;
      result_.interrupted = true;
    }
    if (images_) note_images();
    sum_up();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    result_.bytes_per_second = static_cast<double>(result_.bytes) / elapsed.count();
    return std::move(result_);
  }

  /// For the verdict.
  std::string not_read() const {
    if (!reads_all()) return "; only headers and labels were read";
    if (image_ends_ > 0) return "; images not decoded, see --depth decode";
    if (images_ && images_->not_decoded() > 0) return "; not decoded: " + images_->kinds_not_decoded();
    return {};
  }

 private:
  bool has_checksums() const {
    return set_.manifest || std::ranges::all_of(expected_, [](const auto& item) { return item.record() != nullptr; });
  }

  /// Whether the content of members is read, too.
  bool reads_all() const { return result_.depth != VerifyDepth::structure || source_; }

  VerifyDepth choose_depth() const {
    if (options_.depth == VerifyDepth::auto_) return has_checksums() ? VerifyDepth::checksum : VerifyDepth::structure;
    if (options_.depth == VerifyDepth::checksum && !has_checksums()) {
      throw Error(ErrorCode::not_found, At{set_.folder.empty() ? set_.shards.front().path : set_.folder},
                  "there are no checksums to compare with: neither a {} next to the shards nor an index for each; {} "
                  "creates them from the shards as they are now",
                  formats::kManifestName, remedy::in_text(remedy::index(options_.shards)));
    }
    return options_.depth;
  }

  /// Readers and decoders fail together: the first exception stops all of them.
  void check_shards() {
    sync::TaskGroup group(context_.stop_token());
    if (result_.depth == VerifyDepth::decode) images_.emplace(set_.shards.size(), group.stop_token());
    if (set_.shards.empty()) return;
    ImageCheck* const check = images_ ? &*images_ : nullptr;
    // Over the network each of them waits for one image at a time.
    const unsigned wanted = source_ && source_->is_remote() ? std::max(threads_, kRemoteReaders) : threads_;
    const auto readers = static_cast<unsigned>(std::min<std::size_t>(wanted, set_.shards.size()));
    std::atomic<std::size_t> next{0};
    std::atomic<unsigned> reading{readers};
    for (unsigned i = 0; i < readers; ++i) {
      group.spawn([&, check](const std::stop_token& stop) {
        for (std::size_t shard = next++; shard < set_.shards.size() && !stop.stop_requested(); shard = next++) {
          check_shard(shard, check);
        }
        if (--reading == 0 && check != nullptr) check->close();
      });
    }
    for (unsigned i = 0; check != nullptr && i < threads_; ++i) {
      group.spawn([check](const std::stop_token& stop) { check->decode(stop); });
    }
    group.wait();
    context_.throw_if_stopped();
  }

  void note_images() {
    result_.images = images_->images();
    result_.images_not_decoded = images_->not_decoded();
    for (std::size_t shard = 0; shard < reports_.size(); ++shard) images_->note(shard, reports_[shard].log);
  }

  void check_shard(std::size_t shard, ImageCheck* images) {
    ShardReport& report = reports_[shard];
    std::vector<std::unique_ptr<MemberWatcher>> contents;
    if (images != nullptr) {
      contents.push_back(images->collector(shard));
    } else if (reads_all()) {
      contents.push_back(std::make_unique<ImageEnds>(report.log, image_ends_));
    }
    if (source_) contents.push_back(source_->comparer(report.log, expected_[shard].index_path));
    SampleFacts facts = facts_;
    if (!expected_[shard].manifest) facts.labels.clear();  // they are of the shards that the manifest lists
    verify_shard({*set_.inputs, set_.shards[shard], expected_[shard], facts, reads_all(), contents}, report, context_);
    set_checker_.add(report);
    was_read_[shard] = 1;
    ++context_.progress().items;
  }

  void sum_up() {
    result_.shards = static_cast<std::uint64_t>(std::ranges::count(was_read_, 1));
    missing_shards_ = set_checker_.missing().size();
    for (ProblemLog& missing : set_checker_.missing()) collect(missing);
    for (std::size_t i = 0; i < reports_.size(); ++i) {
      if (was_read_[i] == 0) {
        result_.bytes -= set_.shards[i].bytes;
        continue;
      }
      ShardReport& report = reports_[i];
      result_.samples += report.samples;
      result_.members += report.members;
      if (report.log.has(ProblemCode::no_extension)) nameless_kinds_.insert(report.nameless_kind);
      if (expected_[i].record() == nullptr) note_uncounted(report, set_.shards[i]);
      collect(report.log, expected_[i].index_fits(), report.ends_within_sample);
    }
    collect(set_checker_.log());
    result_.problems_total = result_.errors + result_.warnings;
    if (result_.interrupted) {  // shards that were not read may need other remedies
      result_.verdict = fmt::format("interrupted after {} of {}: {} so far", result_.shards,
                                    format_count(set_.shards.size(), "shard"), found(result_));
      return;
    }
    result_.classes = set_checker_.classes();
    describe_checks();
    name_remedies();
    result_.verdict = verdict();
  }

  /// What --salvage would leave out of a shard, if no manifest or index tells the number of its samples.
  void note_uncounted(const ShardReport& report, const catalog::ShardFile& shard) {
    using enum ProblemCode;
    if (report.log.has(not_a_tar)) unknown_shard_ = shard.path;
    if (report.log.has(bad_header_checksum) || report.log.has(bad_size_field))
      lost_bytes_ += shard.bytes - std::min(shard.bytes, report.content_end);
  }

  /// Shards with the bytes of another one: all but the listed one, or the one with the shortest name.
  std::set<std::size_t> copies() {
    std::set<std::size_t> copies;
    if (found_[ProblemCode::duplicate_key] == 0 || needs_[Remedy::move_away] > 0) return copies;
    const auto rank = [&](std::size_t i) {
      const std::string& path = set_.shards[i].path;
      return std::tuple(expected_[i].manifest == nullptr, path.size(), std::string_view(path));
    };
    std::vector<std::size_t> order(set_.shards.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, {}, rank);
    std::map<std::uint64_t, std::uint64_t> of_size;
    for (const catalog::ShardFile& shard : set_.shards) ++of_size[shard.bytes];
    std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
    for (const std::size_t i : order) {
      if (was_read_[i] == 0 || of_size[set_.shards[i].bytes] == 1) continue;
      const Hash128 hash = xxh3_128(*set_.inputs->open(set_.shards[i].path));
      if (!seen.emplace(hash.high, hash.low).second) copies.insert(i);
    }
    return copies;
  }

  /// One line: sound or not, the depth of the check, and the problems.
  std::string verdict() const {
    if (result_.errors > 0 && shards_with_errors_ == 0) return not_sound("errors of the set as a whole", result_);
    if (result_.errors > 0) {
      return not_sound(fmt::format("{} of {} with errors", shards_with_errors_,
                                   format_count(result_.shards + missing_shards_, "shard")),
                       result_);
    }
    return sound("", result_, not_read());
  }

  /// `index_fits`: no sample's content can differ, only headers and padding. `is_cut`: the last sample is incomplete.
  void collect(ProblemLog& log, bool index_fits = false, bool is_cut = false) {
    if (log.has(ProblemCode::extra_shard)) {  // what a shard of something else contains is not this set's concern
      for (const ProblemKind& kind : problem_kinds()) {
        if (kind.code != ProblemCode::extra_shard && kind.code != ProblemCode::unreadable) log.drop(kind.code);
      }
    }
    // The further pieces of samples lack what the first has. More than there are pieces have another cause.
    for (const ProblemCode code : {ProblemCode::orphan_member, ProblemCode::missing_label, ProblemCode::missing_field,
                                   ProblemCode::differing_members}) {
      if (log.count(code) <= log.count(ProblemCode::split_sample) + log.count(ProblemCode::repeated_member))
        log.drop(code);
    }
    // Changed bytes of an image explain its faults. Decoding was requested to find all of them.
    if (!images_ && (log.has(ProblemCode::checksum) || log.has(ProblemCode::sample_checksum))) {
      for (const ProblemCode code : kEndsFaults) log.drop(code);
    }
    if (log.errors() > 0 && &log != &set_checker_.log()) ++shards_with_errors_;
    result_.errors += log.errors();
    result_.warnings += log.warnings();
    for (const ProblemKind& kind : problem_kinds()) {
      if (!log.has(kind.code)) continue;
      found_[kind.code] += log.count(kind.code);
      const Remedy remedy = kind.code == ProblemCode::checksum && index_fits  ? Remedy::reshard
                            : kind.code == ProblemCode::missing_end && is_cut ? Remedy::salvage
                                                                              : kind.remedy;
      needs_[remedy] += log.count(kind.code);
      if (kind.remedy == Remedy::none && kind.severity == Severity::error) without_command_.insert(kind.name);
    }
    for (Problem& problem : log.take()) {
      lost_samples_ += problem.lost_samples.value_or(0);
      if (result_.problems.size() < VerifyResult::kMostProblems) result_.problems.push_back(std::move(problem));
    }
  }

  void describe_checks() {
    const auto count = [&](auto matches) {
      return static_cast<std::uint64_t>(std::ranges::count_if(expected_, matches));
    };
    const std::uint64_t listed = count([](const ExpectedShard& e) { return e.manifest != nullptr; });
    auto& checked = result_.checked;
    checked.push_back(fmt::format("headers, names, samples and labels of {}, keys across them",
                                  format_count(set_.shards.size(), "shard")));
    if (set_.manifest) {
      checked.push_back(
          fmt::format("sizes and counts of {} against {}", format_count(listed, "shard"), set_.manifest_path));
    }
    if (manifests_.size() > 1)
      checked.push_back(fmt::format("manifests of {} folders: {}", manifests_.size(), compare_labels(manifests_).text));
    if (!result_.staged_parts.empty()) {
      checked.push_back(fmt::format("{} of the {} of the set, staged by {}", format_count(listed, "shard"),
                                    set_.manifest->shards.size(), fmt::join(result_.staged_parts, ", ")));
    }
    if (const auto indexed = count([](const ExpectedShard& e) { return !e.index_path.empty(); }); indexed > 0)
      checked.push_back("indexes of " + format_count(indexed, "shard"));
    const std::uint64_t hashed = count([](const ExpectedShard& e) { return e.record() != nullptr; });
    if (result_.depth != VerifyDepth::structure && hashed > 0)
      checked.push_back(fmt::format("every byte of {} by XXH3-128", format_count(hashed, "shard")));
    if (result_.depth == VerifyDepth::decode) checked.push_back(images_checked());
    if (image_ends_ > 0) checked.push_back("first and last bytes of " + format_count(image_ends_, "image"));
    if (source_) {
      checked.push_back(fmt::format(
          "members and labels against {} in '{}'{}{}", format_count(source_->images(), "image"), options_.against,
          source_->not_compared(),
          set_checker_.is_whole() ? ""
                                  : "; not all shards could be read completely, so missing images are not reported"));
    }
    if (!reads_all()) checked.push_back("no content: images were not read or decoded");
  }

  std::string images_checked() const {
    const std::uint64_t decoded = *result_.images - *result_.images_not_decoded;
    std::string text = format_count(decoded, "image") + " by decoding";
    const std::string kinds = images_->kinds_not_decoded();
    if (kinds.empty()) return text;
    return fmt::format("{}; {} not decoded ({})", text, format_count(*result_.images_not_decoded), kinds);
  }

  /// A reshard without --salvage refuses such a set.
  bool differs_from_manifest() {
    return needs_[Remedy::restore] + found_[ProblemCode::missing_shard] > found_[ProblemCode::listed_file];
  }

  /// A reshard stops at these, whatever its options.
  bool stops_reshard() {
    using enum ProblemCode;
    return found_[sparse] + found_[bad_pax_header] + found_[oversized_header] > 0;
  }

  remedy::Repairs repairs_needed() {
    const bool unread = needs_[Remedy::unread] > 0;
    // A copy of a shard has all keys of the original.
    remedy::Repairs repairs{needs_[Remedy::salvage] > 0 || unread,
                            (needs_[Remedy::mark_duplicates] > 0 || unread) && needs_[Remedy::move_away] == 0,
                            needs_[Remedy::drop_bad] > 0, needs_[Remedy::merge_classes] > 0};
    // As many shards as before for loaders, unless most of few samples may be lost.
    if (set_.shards.size() > 1 && result_.samples >= 10 * set_.shards.size()) repairs.shards = set_.shards.size();
    repairs.set = set_name_;
    if (nameless_kinds_.size() != 1 || nameless_kinds_.begin()->empty()) return repairs;
    repairs.rename = "=" + *nameless_kinds_.begin();
    // A label beside a member without an extension is not an orphan after that member gets one.
    const std::uint64_t orphans = found_[ProblemCode::orphan_member];
    if (orphans == needs_[Remedy::drop_bad] && orphans <= needs_[Remedy::rename]) repairs.drop_bad = false;
    return repairs;
  }

  /// Whether --drop-bad would leave no sample.
  bool drops_all() {
    const std::uint64_t orphans = found_[ProblemCode::orphan_member];
    const std::uint64_t images = result_.images.value_or(image_ends_);
    return needs_[Remedy::drop_bad] - orphans >= images && orphans + images >= result_.samples;
  }

  /// In words, for name_remedies().
  std::string effect_of(const remedy::Repairs& repairs) {
    const std::uint64_t changed = found_[ProblemCode::sample_checksum];
    std::string effect = differs_from_manifest() ? "without a copy: " : "";
    effect += !repairs.salvage               ? "writes the same samples"
              : lost_samples_ + changed == 0 ? "writes the intact samples"
                                             : fmt::format("writes the {} intact of {} samples",
                                                           result_.samples - changed, result_.samples + lost_samples_);
    if (lost_bytes_ > 0) effect += fmt::format(", without the {} after the damage", format_size(lost_bytes_));
    if (repairs.drop_bad)
      effect += found_[ProblemCode::large_member] == 0 ? ", without bad ones"
                                                       : ", without bad ones and those of 8 GiB or more";
    effect += ", with names and headers that every reader supports";
    if (repairs.mark_duplicates) effect += ", each with its own name";
    if (found_[ProblemCode::repeated_member] > 0) effect += ", of members with one name the last";
    if (repairs.merge_classes) effect += ", and numbers the classes of all folders together";
    return effect;
  }

  /// The operands of a reshard. Copies of a shard are left out by naming the others, and have no keys to be marked.
  remedy::Named without_copies(remedy::Repairs& repairs) {
    const std::set<std::size_t> left_out = copies();
    if (left_out.empty()) return options_.shards;
    std::uint64_t samples = 0;
    for (const std::size_t copy : left_out) samples += reports_[copy].samples;
    repairs.mark_duplicates = repairs.mark_duplicates && found_[ProblemCode::duplicate_key] > samples;
    result_.remedies.push_back(
        fmt::format("# {} the bytes of another one, the first is '{}' ({}): without {}:",
                    left_out.size() == 1 ? "1 shard has" : format_count(left_out.size(), "shard") + " have",
                    set_.shards[*left_out.begin()].path, format_count(samples, "repeated sample"),
                    left_out.size() == 1 ? "it" : "them"));
    remedy::Named others;
    for (std::size_t i = 0; i < set_.shards.size(); ++i) {
      if (!left_out.contains(i)) others.push_back(set_.shards[i].path);
    }
    return others;
  }

  /// One reshard repairs all that a reshard can.
  void name_remedies() {
    const auto needs = [&](Remedy remedy) { return needs_[remedy] > 0; };
    const auto advise = [&](const std::string& command, std::string_view effect) {
      result_.remedies.push_back(fmt::format("{}{}# {}", command, command.empty() ? "" : "  ", effect));
    };
    for (const std::string& advice : set_checker_.advice()) advise("", advice);
    if (needs(Remedy::restore)) {
      advise("",
             "restore the shards with unreadable, shard_size or checksum from a copy, or make them "
             "again from their source: no command repairs their bytes");
    }
    const bool index_is_damaged = found_[ProblemCode::index_damaged] + found_[ProblemCode::index_mismatch] > 0;
    if (index_is_damaged && set_.manifest && !set_.manifest->plan_hash.empty()) {
      advise("",
             "run the command that writes this set again: it writes damaged indexes again, with the "
             "original names. Without that command:");
    }
    if (!without_command_.empty()) {
      advise("", fmt::format("no command repairs {}: correct the source, or the options of the convert, and make the "
                             "set again",
                             fmt::join(without_command_, ", ")));
    }
    remedy::Repairs repairs = repairs_needed();
    const remedy::Named shards = without_copies(repairs);
    const bool needs_reshard =
        repairs.any() || shards != options_.shards || needs(Remedy::reshard) || needs(Remedy::rename);
    const bool repairable = needs_reshard && !stops_reshard();
    repairs.salvage = repairs.salvage || differs_from_manifest();
    const bool has_samples = result_.samples > 0 || found_[ProblemCode::compressed] > 0 || !repairs.rename.empty();
    if (repairable && (!has_samples || (repairs.drop_bad && drops_all()))) {
      advise("", "the shards have no intact sample that could be written again: make them again from their source");
    } else if (repairable && repairs.salvage && !unknown_shard_.empty()) {
      advise("",
             fmt::format("the number of samples of '{}' is unknown: fetch or restore it; --salvage of reshard "
                         "leaves it out",
                         unknown_shard_));
    } else if (repairable) {
      advise(remedy::reshard(shards, repairs), effect_of(repairs));
    }
    for (const std::string& reader : set_checker_.wrong_readers()) {
      advise(remedy::index(options_.shards, reader), "writes the indexes of this reader again");
    }
  }

  const VerifyOptions& options_;
  const std::string set_name_;
  Context& context_;
  VerifyResult result_;
  const unsigned threads_;
  const catalog::ShardSet set_;
  const std::vector<ExpectedShard> expected_;
  const catalog::FolderManifests manifests_;
  SampleFacts facts_;
  std::vector<ShardReport> reports_;                                    ///< by shard
  std::vector<char> was_read_ = std::vector<char>(set_.shards.size());  ///< by shard; 1: to its end
  SetChecker set_checker_;
  std::optional<SourceCheck> source_;
  std::optional<ImageCheck> images_;
  std::atomic<std::uint64_t> image_ends_{0};  ///< images whose ends were looked at instead
  std::uint64_t shards_with_errors_ = 0;      ///< missing ones too
  std::uint64_t missing_shards_ = 0;
  std::map<Remedy, std::uint64_t> needs_;  ///< occurrences of the problems that each would repair
  std::set<std::string> nameless_kinds_;   ///< of members without an extension, one of each shard
  std::map<ProblemCode, std::uint64_t> found_;
  std::uint64_t lost_samples_ = 0;              ///< of cut shards
  std::uint64_t lost_bytes_ = 0;                ///< behind the damage of shards whose number of samples is unknown
  std::string unknown_shard_;                   ///< the last one of which nothing can be read or counted
  std::set<std::string_view> without_command_;  ///< names of errors that no command repairs
};

/// One of several sets that are verified together.
struct NamedSet {
  std::string folder;  ///< empty for shards without a manifest
  VerifyOptions options;

  std::string name() const { return folder.substr(folder.rfind('/') + 1); }
};

catalog::ShardSet resolve(const VerifyOptions& options, Context& context) {
  return catalog::resolve_shards(options.shards, catalog::SetVerb::verify, context, options.access);
}

/// The sets of a verify: folders with a manifest each, and all other shards together.
std::vector<NamedSet> sets_of(const VerifyOptions& options, const catalog::ShardSet& all) {
  const catalog::FolderManifests manifests = catalog::manifests_by_folder(all);
  std::vector<NamedSet> sets;
  std::map<std::string, std::size_t> by_folder;  // "" for those without a manifest
  for (const catalog::ShardFile& shard : all.shards) {
    const std::string folder = io::parent_folder(shard.path);
    const std::string of = manifests.at(folder) ? folder : "";
    const auto [set, is_new] = by_folder.emplace(of, sets.size());
    if (is_new) {
      sets.push_back({of, options});
      sets.back().options.shards.clear();
    }
    std::vector<std::string>& operands = sets[set->second].options.shards;
    const bool is_whole = std::ranges::any_of(all.operands, [&](const std::string& operand) {
      return io::join_path(operand, "") == io::join_path(folder, "");
    });
    const std::string& operand = is_whole ? folder : shard.path;
    if (operands.empty() || operands.back() != operand) operands.push_back(operand);
  }
  for (const catalog::SeenSet& seen : all.seen) {
    if (!seen.tars.empty() || !seen.packed.empty()) continue;
    sets.push_back({seen.folder, options});
    sets.back().options.shards = {seen.folder};
  }
  return sets;
}

/// Adds the result of one of several sets, whose shards are named with their folder.
void add_set(VerifyResult& all, VerifyResult&& set, const std::string& folder) {
  const auto named = [&](const std::string& shard) {
    return shard.empty() || folder.empty() ? shard : io::join_path(folder, shard);
  };
  for (Problem& problem : set.problems) {
    problem.where.path = named(problem.where.path);
    if (all.problems.size() < VerifyResult::kMostProblems) all.problems.push_back(std::move(problem));
  }
  for (std::string& shard : set.shard_names) all.shard_names.push_back(named(shard));
  for (const std::string& text : set.checked)
    all.checked.push_back(folder.empty() ? text : fmt::format("{}: {}", folder, text));
  std::ranges::move(set.remedies, std::back_inserter(all.remedies));
  std::ranges::move(set.staged_parts, std::back_inserter(all.staged_parts));
  all.depth = set.depth;
  all.interrupted = all.interrupted || set.interrupted;
  all.shards += set.shards;
  all.samples += set.samples;
  all.members += set.members;
  all.bytes += set.bytes;
  if (set.images) all.images = all.images.value_or(0) + *set.images;
  if (set.images_not_decoded) all.images_not_decoded = all.images_not_decoded.value_or(0) + *set.images_not_decoded;
  all.errors += set.errors;
  all.warnings += set.warnings;
}

/// Sets have names of their own: each is verified by itself, and no advice joins them.
VerifyResult verify_sets(const VerifyOptions& options, const std::vector<NamedSet>& sets, const catalog::ShardSet& all,
                         Context& context) {
  const auto start = std::chrono::steady_clock::now();
  VerifyResult result;
  result.strict = options.strict;
  std::size_t with_errors = 0;
  std::string not_read;
  for (const NamedSet& set : sets) {
    if (result.interrupted) break;
    Verification verification(set.options, resolve(set.options, context), context, set.name());
    VerifyResult of_set = verification.run();
    not_read = verification.not_read();
    with_errors += of_set.errors > 0 ? 1 : 0;
    add_set(result, std::move(of_set), set.folder);
  }
  ProblemLog log("");
  const LabelComparison labels = compare_labels(catalog::manifests_by_folder(all));
  result.checked.push_back(fmt::format("manifests of {} folders: {}", sets.size(), labels.text));
  for (const std::string& conflict : labels.conflicts) log.add(ProblemCode::label_conflict, std::nullopt, "", conflict);
  if (const auto shared = images_in_several_sets(all, context))
    log.add(ProblemCode::image_in_sets, std::nullopt, "", *shared);
  result.errors += log.errors();
  result.warnings += log.warnings();
  if (!labels.conflicts.empty()) {
    const std::string merge = remedy::reshard(options.shards, {.merge_classes = true}) +
                              "  # writes one set, and numbers the classes of all folders together";
    result.remedies.push_back((labels.unclear_name.empty() ? "" : "# ") + advice_for_conflicts(labels, merge));
  }
  for (Problem& problem : log.take()) result.problems.push_back(std::move(problem));
  result.problems_total = result.errors + result.warnings;
  result.verdict =
      result.interrupted ? fmt::format("interrupted: {} so far", found(result))
      : result.errors > 0
          ? not_sound(fmt::format("{} of {} with errors", with_errors, format_count(sets.size(), "set")), result)
          : sound(format_count(sets.size(), "set") + ", ", result, not_read);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  result.bytes_per_second = static_cast<double>(result.bytes) / elapsed.count();
  return result;
}

/// The images were given as shards, and the shards as source.
void refuse_swapped(const VerifyOptions& options) {
  using catalog::Content;
  if (options.shards.size() != 1 || options.against.empty()) return;
  const std::string& shards = options.shards.front();
  if (catalog::content_of(shards) != Content::images || catalog::content_of(options.against) != Content::shards) return;
  VerifyOptions other = options;
  std::swap(other.shards.front(), other.against);
  catalog::throw_swapped(
      shards, fmt::format("'{}' contains images, and --against '{}' contains shards", shards, options.against),
      command_text("shardctl verify", other));
}

}  // namespace

VerifyResult verify(const VerifyOptions& given, Context& context) {
  refuse_swapped(given);
  catalog::ShardSet all = resolve(given, context);
  if (!given.against.empty()) return Verification(given, std::move(all), context).run();
  const std::vector<NamedSet> sets = sets_of(given, all);
  if (sets.size() > 1) return verify_sets(given, sets, all, context);
  VerifyOptions options = given;
  if (sets.size() == 1 && !sets.front().folder.empty()) options.shards = sets.front().options.shards;
  return Verification(options, std::move(all), context).run();
}

void VerifyOptions::describe(FieldList& v) {
  v.field(catalog::kShardsOperand, shards);
  v.topic("Checks");
  v.field({"depth",
           "what to check: headers and samples; also every byte; or also every image. auto checks every byte if there "
           "are checksums"},
          depth);
  v.topic("Comparison with the source");
  v.field({"against",
           "compare every byte and label with the source of the shards, and report what is missing, extra or "
           "different: an ImageFolder tree, local or at an s3:// URL, or the images of --list",
           Role::input_file, "SRC"},
          against);
  images.describe(v);
  v.topic("Checks");
  v.field({"strict", "count warnings as findings"}, strict);
  v.field(system::threads_field("shards read in parallel; default: CPUs available to the process"), threads);
  access.describe(v);
}

void VerifyResult::describe(FieldList& v) {
  v.field({"verdict", "verdict in one line"}, verdict);
  v.field({"depth", "depth of the check"}, depth);
  v.field({"checked", "the same in words"}, checked);
  v.field({"shards", Unit::count, "shards read"}, shards);
  v.field({"staged_parts", "the parts of the set that were staged to this folder; empty: all of it"}, staged_parts);
  v.field({"samples", Unit::count, "samples found in them"}, samples);
  v.field({"members", Unit::count, "tar members found in them"}, members);
  v.field({"bytes", Unit::bytes, "size of the shards"}, bytes);
  v.field({"images", Unit::count, "images checked, with --depth decode"}, images);
  v.field(
      {"images_not_decoded", Unit::count, "images among them of formats that are not decoded, such as TIFF and AVIF"},
      images_not_decoded);
  v.field({"classes", "the labels found"}, classes);
  v.field({"bytes_per_second", Unit::bytes_per_second, "size of the shards divided by time"}, bytes_per_second);
  v.field({"problems_total", Unit::count, "problems found, errors and warnings"}, problems_total);
  v.field({"errors", Unit::count, "problems by which readers lose or confuse data"}, errors);
  v.field({"warnings", Unit::count, "problems that affect only some readers"}, warnings);
  v.field({"problems", "problems; repetitions within a shard are one line; at most 10,000 lines"}, problems);
  v.field({"remedies", "commands that repair what can be repaired"}, remedies);
}

void VerifyClasses::describe(FieldList& v) {
  v.field({"count", Unit::count, "number of labels with samples"}, count);
  v.field({"largest_label", "largest label"}, largest_label);
  v.field({"fewest_samples", Unit::count, "samples of the smallest class"}, fewest_samples);
  v.field({"most_samples", Unit::count, "samples of the largest class"}, most_samples);
}

}  // namespace shardkit::dataset
