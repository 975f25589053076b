#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/remedies.hpp"
#include "core/units.hpp"
#include "dataset/checks/expected_shard.hpp"
#include "dataset/checks/problem.hpp"
#include "dataset/checks/shard_checker.hpp"
#include "dataset/reshard/reshard.hpp"
#include "dataset/reshard/sample_filter.hpp"
#include "dataset/reshard/sample_table.hpp"
#include "dataset/reshard/tar_samples.hpp"
#include "dataset/samples/sample_lister.hpp"
#include "formats/portable_name.hpp"
#include "formats/shard_index.hpp"
#include "formats/tar_header.hpp"
#include "image/image_header.hpp"
#include "sync/task_group.hpp"

namespace shardkit::dataset {
namespace {

constexpr unsigned kFewestReaders = 8;         // on a slow source one waits most of the time
constexpr std::size_t kLongestExtension = 60;  // leaves a key room for a hash and a mark

/// The first pass of a reshard: the samples of the inputs and their positions.
class SampleGatherer {
 public:
  SampleGatherer(const ReshardOptions& options, const ReshardInputs& inputs, Context& context)
      : options_(options),
        inputs_(inputs),
        filter_(options, inputs),
        renames_(parse_renames(options.rename)),
        context_(context) {
    for (const auto& [extension, to] : renames_) is_renamed_[extension] = extension.empty();
    add_primary(inputs.made_with, primary_);
  }

  GatheredSamples run(SampleTable& table, unsigned threads) {
    std::uint64_t bytes = 0;
    for (const ReshardInput& input : inputs_.tars) bytes += input.tar_bytes();
    context_.progress().start("look for samples", inputs_.tars.size(), bytes);
    sync::for_each_index(inputs_.tars.size(), std::max(threads, kFewestReaders), context_.stop_token(),
                         [&](std::size_t input, std::size_t) {
                           if (!read_index(input, table)) read_headers(input, table);
                           ++context_.progress().items;
                         });
    table.close();
    warn_of_losses();
    warn_of_names_and_labels();
    if (found_ > 0) filter_.require_labels();
    std::ranges::sort(dropped_, {}, [](const formats::IndexSkip& skip) { return std::tie(skip.path, skip.reason); });
    if (found_ > 0) {
      return {found_,
              ignored_,
              lost_.samples,
              lost_.bytes,
              lost_.all_known,
              std::move(dropped_),
              texts_are_data(texts_, found_),
              std::move(replaced_),
              std::move(archive_starts_)};
    }
    const std::string inputs = format_count(inputs_.tars.size(), "input");
    if (!nameless_kind_.empty()) {
      throw Error(ErrorCode::not_found,
                  fmt::format("there is no sample in {}: no member has an extension; {} gives them one", inputs,
                              remedy::in_text(remedy::with_rename(command_of(options_), "", nameless_kind_))));
    }
    const bool is_damaged = lost_.tars > 0;  // then ls cannot list it either
    throw Error(ErrorCode::not_found,
                fmt::format("there is no {} in {}{}", is_damaged ? "whole sample" : "sample", inputs,
                            is_damaged ? std::string()
                                       : fmt::format("; {} lists what exists",
                                                     remedy::in_text(remedy::list(options_.inputs)))));
  }

 private:
  /// The result of one tar.
  struct Gathered {
    explicit Gathered(SampleTable& table) : batch(table) {}
    SampleTable::Batch batch;
    std::uint64_t found = 0;
    std::uint64_t ignored = 0;
    std::uint64_t labeled = 0;  ///< of those that were kept
    std::uint64_t unlabeled = 0;
    ReplacedMembers replaced;
    std::uint64_t texts = 0;  ///< samples of texts alone
    bool lacks_end = false;
  };

  /// The data that --salvage could not read.
  struct Losses {
    std::size_t tars = 0;
    std::size_t first = 0;  ///< number of the first of them
    std::uint64_t samples = 0;
    std::uint64_t bytes = 0;
    bool all_known = true;  ///< how many samples there were
  };

  /// Samples of one kind in several tars.
  struct Tally {
    std::mutex mutex;
    std::uint64_t samples = 0;
    std::size_t first = 0;  ///< number of the first tar with them

    void add(std::size_t input, std::uint64_t count) {
      const std::scoped_lock lock(mutex);
      first = samples == 0 ? input : std::min(first, input);
      samples += count;
    }
  };

  /// False when there is no index that can be used.
  bool read_index(std::size_t input, SampleTable& table) {
    const ReshardInput& tar = inputs_.tars[input];
    const std::string path = io::join_path(io::parent_folder(tar.path), formats::shard_index_path(tar.identity.name));
    if (tar.unpacked || !inputs_.files->exists(path)) return false;
    Gathered gathered(table);
    formats::ShardIndexVisitor visitor;
    bool repeats = false;  // whether names differ in case, only the tar knows
    visitor.sample = [&](formats::IndexSample&& line) {
      std::set<std::string_view> extensions;
      for (const formats::IndexMember& member : line.members) repeats |= !extensions.insert(member.extension).second;
      if (repeats) return;
      std::string key = std::move(line.key);
      keep({std::move(line), input, std::move(key)}, gathered);
      if (gathered.found % 1024 == 0) context_.throw_if_stopped();
    };
    try {
      const auto source = inputs_.files->open(path);
      const formats::ShardSummary summary = formats::read_shard_summary(*source, path);
      if (summary.bytes != tar.tar_bytes()) return false;
      if (summary.plan.empty() && renames_.contains("")) return false;  // it lists no member without an extension
      if (tar.listed && !(tar.listed->xxh3_128 == summary.xxh3_128)) return false;  // for other bytes
      formats::read_shard_index(*source, path, visitor);
      if (repeats) return false;
    } catch (const Error& error) {
      if (error.path() != path || (error.code() != ErrorCode::corrupt && error.code() != ErrorCode::unsupported)) throw;
      context_.warn("index_unusable", "{}; the tar was read instead", error.what());
      return false;
    }
    take(input, std::move(gathered), table);
    context_.progress().bytes.fetch_add(tar.tar_bytes(), std::memory_order_relaxed);
    return true;
  }

  void read_headers(std::size_t input, SampleTable& table) {
    const ReshardInput& tar = inputs_.tars[input];
    const auto source = inputs_.files->open(tar.tar());
    Gathered gathered(table);
    if (options_.salvage && source->size() < formats::kTarBlock) {
      note_loss(input, 0, 0, false);
      return take(input, std::move(gathered), table);
    }
    const auto take_sample = [&](formats::MovedSample&& sample) { keep(std::move(sample), gathered); };
    TarSamples read{.cut = true};
    try {
      const auto given = renames_.find("");
      const std::string extension = given == renames_.end() ? std::string() : given->second;
      const auto remedy = [this](bool joined) {
        const std::string command = remedy::with_salvage(command_of(options_));
        return joined && !options_.mark_duplicates ? remedy::with_mark_duplicates(command) : command;  // of equal keys
      };
      const std::uint64_t listed = tar.listed ? tar.listed->bytes : 0;
      read = read_tar_samples(*source, {tar.path, input, extension, options_.salvage, listed, remedy}, take_sample,
                              context_);
    } catch (const Error& error) {
      const bool is_no_tar = error.code() == ErrorCode::corrupt && error.offset() == 0U && gathered.found == 0;
      if (!is_no_tar || (!options_.salvage && inputs_.tars.size() == 1)) throw;
      if (!options_.salvage) refuse_unreadable(tar, error);
    }
    gathered.ignored += read.ignored;
    if (gathered.found == 0 && read.nameless) {
      std::array<std::byte, formats::kTarBlock> start{};
      const Bytes content = Bytes(start).first(source->read_at(*read.nameless, start));
      const std::scoped_lock lock(mutex_);
      nameless_kind_ = extension_of(image::sniff_image(content));
    }
    note_links_and_archives(input, std::move(read));
    const std::uint64_t listed = tar.listed ? tar.listed->bytes : 0;
    if (read.cut || (options_.salvage && read.lacks_end && source->size() < listed)) {
      note_loss(input, gathered.found, read.end, read.lost_one);
    } else {
      gathered.lacks_end = read.lacks_end;
      if (tar.listed) compare_bytes(tar, *source);
    }
    if (tar.has_names && gathered.found > 0) nameless_.add(input, gathered.found);
    take(input, std::move(gathered), table);
  }

  /// A command that leaves it out says how many samples that are; it may be a pointer to a whole shard.
  [[noreturn]] void refuse_unreadable(const ReshardInput& tar, const Error& error) const {
    const auto had = expected(tar);
    if (!had) {
      throw Error(error.code(), At{tar.path, 0},
                  "{}; the number of its samples is unknown: fetch or restore it; --salvage leaves it out",
                  error.what());
    }
    throw Error(error.code(), At{tar.path, 0}, "{}; {} leaves out its {}", error.what(),
                remedy::in_text(remedy::with_salvage(command_of(options_))), format_count(had->samples, "sample"));
  }

  void note_links_and_archives(std::size_t input, TarSamples&& read) {
    if (read.lost_links == 0 && read.archive_starts.empty()) return;
    if (read.lost_links > 0) lost_links_.add(input, read.lost_links);
    const std::scoped_lock lock(mutex_);
    if (!read.archive_starts.empty()) archive_starts_[input] = std::move(read.archive_starts);
    if (read.lost_links > 0 && lost_links_.first == input) lost_link_ = std::move(read.lost_link);
  }

  /// For a tar without a matching index: only its manifest has a checksum of its bytes.
  void compare_bytes(const ReshardInput& tar, ByteSource& source) const {
    const auto changed = changed_bytes(source, *tar.listed, context_);
    if (!changed) return;
    const std::string text = fmt::format("shard '{}' differs from its manifest ({})", tar.path, *changed);
    if (options_.salvage) {
      return context_.warn("shard_changed",
                           text + "; without an index, changed samples cannot be found, so all samples were taken");
    }
    throw Error(ErrorCode::corrupt, At{tar.path}, "{}: {}; {} takes its samples as they are", text,
                remedy_of_changed(tar.path), remedy::in_text(remedy::with_salvage(command_of(options_))));
  }

  /// The tar's properties according to the manifest, or else the index.
  std::optional<formats::ManifestShard> expected(const ReshardInput& tar) const {
    if (tar.listed) return tar.listed;
    const std::string path = io::join_path(io::parent_folder(tar.path), formats::shard_index_path(tar.identity.name));
    if (tar.unpacked || !inputs_.files->exists(path)) return std::nullopt;
    try {
      return formats::read_shard_summary(*inputs_.files->open(path), path);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled) throw;
      return std::nullopt;
    }
  }

  /// `found` samples were taken, the last of which ends at `end`; `one`: another one was seen and is cut.
  void note_loss(std::size_t input, std::uint64_t found, std::uint64_t end, bool one) {
    const ReshardInput& tar = inputs_.tars[input];
    const auto had = expected(tar);
    const std::uint64_t bytes = std::max(had ? had->bytes : 0, tar.tar_bytes());
    const std::scoped_lock lock(mutex_);
    lost_.first = lost_.tars++ == 0 ? input : std::min(lost_.first, input);
    lost_.samples += had ? had->samples - std::min(had->samples, found) : one ? 1 : 0;
    lost_.bytes += bytes - std::min(bytes, end);
    lost_.all_known = lost_.all_known && had;
  }

  void warn_of_losses() {
    if (lost_.tars == 0) return;
    context_.warn(
        "samples_lost",
        "{} cut off or damaged, the first is '{}': {}{} and {} after the damage are lost, the samples before it "
        "were taken",
        lost_.tars == 1 ? "1 shard is" : format_count(lost_.tars, "shard") + " are", inputs_.tars[lost_.first].path,
        lost_.all_known ? "" : "at least ", format_count(lost_.samples, "sample"), format_size(lost_.bytes));
  }

  void warn_of_names_and_labels() {
    for (const auto& [extension, is_renamed] : is_renamed_) {
      if (!is_renamed)
        context_.warn("rename_unused", "--rename {}={} has no effect: no sample has a member with the extension '{}'",
                      extension, renames_.at(extension), extension);
    }
    const auto warn = [&](const char* code, const Tally& tally, std::string_view text) {
      context_.warn(code, "{}, the first in '{}', {}", format_count(tally.samples, "sample"),
                    inputs_.tars[tally.first].path, text);
    };
    if (lost_links_.samples > 0) {
      context_.warn("links_lost",
                    "{} to no file in the tar, such as {} in '{}': that content is lost. Pack the files again without "
                    "links: tar --dereference --hard-dereference",
                    format_count(lost_links_.samples, "link"), lost_link_, inputs_.tars[lost_links_.first].path);
    }
    if (nameless_.samples > 0) {
      warn("names_lost", nameless_,
           "without original names, because no index of the shard could be used: to restore it, run the command that "
           "made the set again");
    }
    if (unnamed_classes_.samples > 0 && !inputs_.classes.empty()) {
      warn("classes_assumed", unnamed_classes_,
           "with labels but no manifest: their labels are taken as those of the classes of the other inputs");
    }
    if (unlabeled_.samples > 0 && named_classes_.samples + unnamed_classes_.samples > 0)
      warn("labels_missing", unlabeled_, "without a label, but others have one: verify will report missing_label");
  }

  /// --merge-classes: the label becomes that of its class's name in all sets together.
  void merge_class(formats::MovedSample& sample) const {
    if (inputs_.merged.empty() || !sample.label) return;
    const ReshardInput& tar = inputs_.tars[sample.input];
    const auto names = tar.names ? tar.names->find(*sample.label) : LabelNames::const_iterator();
    if (!tar.names || names == tar.names->end()) {
      throw Error(ErrorCode::unsupported, At{tar.path},
                  "no manifest has the class of label {} of sample '{}' in '{}', which --merge-classes needs; leave "
                  "such sets out",
                  *sample.label, sample.source_key, tar.path);
    }
    sample.label = inputs_.merged.at(names->second[require_class_of(tar, sample, names->second, "--merge-classes")]);
    for (formats::IndexMember& member : sample.members) {
      if (member.extension != kLabelExtension) continue;
      member.size = formats::label_text(*sample.label).size();
      member.xxh3.reset();
    }
  }

  void keep(formats::MovedSample&& sample, Gathered& gathered) const {
    gathered.ignored +=
        std::erase_if(sample.members, [](const formats::IndexMember& member) { return member.extension.empty(); });
    if (sample.members.empty()) return;
    if (is_stray_name(sample.source_key)) {
      gathered.ignored += sample.members.size();
      return;
    }
    ++gathered.found;
    gathered.replaced.add(keep_last_members(sample));
    if (content_of(sample, primary_) == SampleContent::text) ++gathered.texts;
    merge_class(sample);
    if (!filter_.keeps(sample) || (options_.drop_bad && drops_large(sample))) return;
    settle_members(sample);
    sample.key = formats::portable_moved_key(sample.source_key, formats::longest_key(sample));
    const bool labeled = std::ranges::count(sample.members, kLabelExtension, &formats::IndexMember::extension) > 0;
    ++(labeled ? gathered.labeled : gathered.unlabeled);
    gathered.batch.add(sample);
  }

  /// A sample with a member that no plain header can describe is left out.
  bool drops_large(const formats::MovedSample& sample) const {
    const auto large = std::ranges::find_if(
        sample.members, [](const formats::IndexMember& member) { return member.size >= formats::kTarSizeLimit; });
    if (large == sample.members.end()) return false;
    const ProblemKind& kind = problem_kind(ProblemCode::large_member);
    const std::string& name = inputs_.tars[sample.input].identity.name;
    const std::string path = sample.path.empty() ? fmt::format("{}/{}", name, sample.source_key) : sample.path;
    const std::scoped_lock lock(dropped_mutex_);
    dropped_.push_back({path, fmt::format("{}: {} ('{}.{}' in '{}' at byte {})", kind.name, kind.meaning,
                                          sample.source_key, large->extension, name, large->offset)});
    return true;
  }

  void take(std::size_t input, Gathered&& gathered, SampleTable& table) {
    if (gathered.lacks_end) {
      context_.warn("end_of_archive_missing",
                    "shard '{}' has no end-of-archive blocks: if it was cut off, the members after that are missing",
                    inputs_.tars[input].path);
    }
    // In a tar with labels, a piece of a sample may lack one only until its pieces are joined.
    if (gathered.labeled == 0 && gathered.unlabeled > 0) unlabeled_.add(input, gathered.unlabeled);
    if (gathered.labeled > 0)
      (inputs_.tars[input].names ? named_classes_ : unnamed_classes_).add(input, gathered.labeled);
    found_ += gathered.found;
    ignored_ += gathered.ignored;
    {
      const std::scoped_lock lock(mutex_);
      replaced_.add(gathered.replaced);
      texts_ += gathered.texts;
    }
    table.take(input, std::move(gathered.batch));
  }

  /// Output extensions in output order, checked.
  void settle_members(formats::MovedSample& sample) const {
    const std::uint64_t offset = std::ranges::min(sample.members, {}, &formats::IndexMember::offset).offset;
    const auto fail = [&](ErrorCode code, const std::string& text) {
      const std::string& path = inputs_.tars[sample.input].path;
      throw Error(code, At{path, offset}, "sample '{}' of shard '{}', at byte {}: {}", sample.source_key, path, offset,
                  text);
    };
    for (formats::IndexMember& member : sample.members) {
      member.extension = formats::portable_moved_extension(member.extension);
      if (const auto renamed = renames_.find(member.extension); renamed != renames_.end()) {
        if (member.path.empty() && !sample.path.empty()) {
          member.path = formats::implied_path(sample.path, member.extension);
        }
        is_renamed_.at(renamed->first) = true;
        member.extension = renamed->second;
      }
      if (member.extension == "tar") {
        fail(ErrorCode::unsupported,
             fmt::format("it has a tar as its member: {}", problem_kind(ProblemCode::nested_tar).meaning));
      }
      if (member.extension.size() > kLongestExtension) {
        fail(ErrorCode::unsupported,
             fmt::format("the extension '{}' is longer than {} bytes; {} gives it another one", member.extension,
                         kLongestExtension,
                         remedy::in_text(remedy::with_rename(command_of(options_), member.extension, "field"))));
      }
      if (member.size >= formats::kTarSizeLimit) {
        fail(ErrorCode::unsupported,
             fmt::format("its member '{}' has {} bytes, but members of portable shards must be smaller than 8 GiB; {} "
                         "leaves such samples out",
                         member.extension, member.size, remedy::in_text(remedy::with_drop_bad(command_of(options_)))));
      }
    }
    std::ranges::stable_sort(sample.members, {}, &formats::IndexMember::extension);
    if (options_.mark_duplicates) mark_extensions(sample);
    const auto twice = std::ranges::adjacent_find(sample.members, {}, &formats::IndexMember::extension);
    if (twice != sample.members.end()) {
      const bool renamed =
          std::ranges::any_of(renames_, [&](const auto& rule) { return rule.second == twice->extension; });
      fail(ErrorCode::corrupt,
           fmt::format("two members have the extension '{}'{}, but readers keep one or none; {}", twice->extension,
                       renamed ? " by --rename" : " in lower case",
                       renamed ? "leave out that --rename"
                               : remedy::in_text(remedy::with_mark_duplicates(command_of(options_))) +
                                     " keeps both with different names"));
    }
  }

  /// The second member of one extension becomes "2.jpg", the third "3.jpg".
  static void mark_extensions(formats::MovedSample& sample) {
    std::set<std::string> there;
    for (const formats::IndexMember& member : sample.members) there.insert(member.extension);
    for (std::size_t i = 1; i < sample.members.size(); ++i) {
      const std::string extension = sample.members[i - 1].extension;
      for (unsigned number = 2; i < sample.members.size() && sample.members[i].extension == extension; ++i) {
        std::string marked;
        do {
          marked = fmt::format("{}.{}", number++, extension);
        } while (!there.insert(marked).second);
        sample.members[i].extension = std::move(marked);
      }
    }
    std::ranges::sort(sample.members, {}, &formats::IndexMember::extension);
  }

  const ReshardOptions& options_;
  const ReshardInputs& inputs_;
  const SampleFilter filter_;
  PrimaryExtensions primary_;
  const std::map<std::string, std::string> renames_;             ///< extensions by those that they replace
  mutable std::map<std::string, std::atomic<bool>> is_renamed_;  ///< whether a kept member has the extension
  Context& context_;
  std::atomic<std::uint64_t> found_{0};
  mutable std::mutex dropped_mutex_;
  mutable std::vector<formats::IndexSkip> dropped_;
  std::atomic<std::uint64_t> ignored_{0};
  std::mutex mutex_;
  Losses lost_;
  ReplacedMembers replaced_;
  std::uint64_t texts_ = 0;
  std::map<std::uint64_t, std::vector<std::uint64_t>> archive_starts_;
  std::string nameless_kind_;  ///< extension for members without one, if there is no sample
  Tally lost_links_;
  std::string lost_link_;  ///< the first of them
  Tally nameless_;         ///< samples that lose their original names
  Tally unlabeled_;        ///< kept samples of tars without any label
  Tally named_classes_;    ///< those with a label and a manifest
  Tally unnamed_classes_;  ///< those with a label only
};

}  // namespace

GatheredSamples gather_samples(const ReshardOptions& options, const ReshardInputs& inputs, unsigned threads,
                               SampleTable& table, Context& context) {
  return SampleGatherer(options, inputs, context).run(table, threads);
}

}  // namespace shardkit::dataset
