#include "dataset/verify/verify.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "catalog/shard_set.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "dataset/checks/image_fault.hpp"
#include "dataset/checks/shard_checker.hpp"
#include "dataset/verify/set_checker.hpp"
#include "dataset/verify/source_check.hpp"
#include "sync/bounded_queue.hpp"
#include "sync/task_group.hpp"
#include "system/limits.hpp"

namespace shardkit::dataset {
namespace {

/// Shards that are compared at a time with images that come over the network.
constexpr unsigned kRemoteReaders = 32;

/// Decodes the images of many shards on threads of its own while others read the shards: a set of one shard keeps all
/// cores busy too. At most 128 MiB of images wait, and one more for each reader and each decoder; of what is found in a
/// shard no more is kept than its ProblemLog lists.
class ImageCheck {
 public:
  /// Stops handing out images when `stop` does.
  ImageCheck(std::size_t shards, std::stop_token stop) : queue_(kWaiting), stop_(std::move(stop)), shards_(shards) {}

  /// Collects the images of one shard; to be used by the one thread that reads it.
  std::unique_ptr<MemberWatcher> collector(std::size_t shard) { return std::make_unique<Collector>(*this, shard); }

  /// What a decoding thread does until close() or a stop.
  void decode(const std::stop_token& stop) {
    image::JpegDecoder decoder;
    while (std::optional<Image> image = queue_.pop(stop)) {
      std::optional<ImageFault> fault = image_fault(decoder, image->bytes, image->extension);
      add(std::move(image->place), std::move(fault));
    }
  }

  /// No more images come.
  void close() { queue_.close(); }

  /// The images that were looked at. To be called when all decoding threads have ended, as note().
  std::uint64_t images() const {
    const std::scoped_lock lock(mutex_);
    std::uint64_t sum = 0;
    for (const ShardFindings& shard : shards_) sum += shard.images;
    return sum;
  }

  /// Adds what was found in a shard to its log, in the shard's order; once.
  void note(std::size_t shard, ProblemLog& log) {
    const std::scoped_lock lock(mutex_);
    std::multimap<std::uint64_t, std::pair<ProblemCode, const Found*>> in_order;
    for (const auto& [code, findings] : shards_[shard].by_code) {
      for (const auto& [offset, found] : findings.first) in_order.emplace(offset, std::pair(code, &found));
    }
    for (const auto& [offset, item] : in_order) log.add(item.first, offset, item.second->name, item.second->text);
    for (const auto& [code, findings] : shards_[shard].by_code) {
      const std::uint64_t unlisted = findings.count - findings.first.size();
      if (unlisted > 0) log.add(code, std::nullopt, "", {}, unlisted);
    }
    shards_[shard] = {};
  }

 private:
  static constexpr std::uint64_t kWaiting = 128U << 20U;
  struct Place {
    std::size_t shard = 0;
    std::uint64_t offset = 0;  ///< of the content
    std::string name;
  };
  struct Image {
    Place place;
    std::string extension;
    std::vector<std::byte> bytes;
  };
  struct Found {
    std::string name;
    std::string text;
  };
  struct CodeFindings {
    std::uint64_t count = 0;
    std::map<std::uint64_t, Found> first;  ///< by offset: decoders do not find them in this order
  };
  struct ShardFindings {
    std::uint64_t images = 0;
    std::map<ProblemCode, CodeFindings> by_code;
  };

  class Collector final : public MemberWatcher {
   public:
    Collector(ImageCheck& owner, std::size_t shard) : owner_(owner), shard_(shard) {}

    bool begin(const formats::TarEntry& entry, const formats::SampleName& name) override {
      if (!is_image_member(name.extension)) return false;
      image_ = {{shard_, entry.data_offset, entry.name}, std::string(name.extension), {}};
      if (entry.size > kLargestImage) {
        owner_.add(std::move(image_.place), ImageFault{ProblemCode::image_too_large, format_size(entry.size)});
        return false;
      }
      image_.bytes.reserve(entry.size);
      return true;
    }
    void piece(Bytes bytes) override { image_.bytes.insert(image_.bytes.end(), bytes.begin(), bytes.end()); }
    void end() override {
      const std::uint64_t cost = image_.bytes.size();
      if (owner_.queue_.push(std::move(image_), cost, owner_.stop_)) return;
      throw Error(ErrorCode::cancelled, "stopped while images were checked");
    }

   private:
    ImageCheck& owner_;
    std::size_t shard_;
    Image image_;
  };

  void add(Place&& place, std::optional<ImageFault> fault) {
    const std::scoped_lock lock(mutex_);
    ShardFindings& shard = shards_[place.shard];
    ++shard.images;
    if (!fault) return;
    CodeFindings& code = shard.by_code[fault->code];
    ++code.count;
    code.first.emplace(place.offset, Found{std::move(place.name), std::move(fault->text)});
    if (code.first.size() > ProblemLog::most_listed(fault->code)) code.first.erase(std::prev(code.first.end()));
  }

  sync::BoundedQueue<Image> queue_;
  std::stop_token stop_;
  mutable std::mutex mutex_;
  std::vector<ShardFindings> shards_;
};

/// One verify from resolved shards to result.
class Verification {
 public:
  Verification(const VerifyOptions& options, Context& ctx)
      : options_(options),
        ctx_(ctx),
        threads_(system::thread_count(options.threads)),
        set_(catalog::resolve_shards(options.shards, ctx, options.access)),
        expected_(find_expectations(set_)),
        set_checker_(set_, expected_, reports_) {
    check(options.images);
    if (options.against.empty() && !options.images.list.empty()) {
      throw Error(ErrorCode::usage, "--list says what --against compares with; there is no --against");
    }
    result_.strict = options.strict;
    result_.depth = choose_depth();
    result_.bytes = set_.bytes();
    for (const catalog::ShardFile& shard : set_.shards) reports_.emplace_back(shard.name);
    if (set_.manifest) {
      for (const formats::ManifestClass& item : set_.manifest->classes) labels_.push_back(item.label);
      std::sort(labels_.begin(), labels_.end());
    }
  }

  VerifyResult run() {
    const auto start = std::chrono::steady_clock::now();
    if (!options_.against.empty()) source_.emplace(options_.against, options_.images, set_, ctx_);
    ctx_.progress().start("verify", set_.shards.size(), result_.bytes);
    check_shards();
    set_checker_.finish(ctx_);
    if (source_ && set_checker_.is_whole()) source_->note_missing(set_checker_.log());
    sum_up();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    result_.bytes_per_second = static_cast<double>(result_.bytes) / elapsed.count();
    return std::move(result_);
  }

 private:
  bool has_checksums() const {
    return set_.manifest ||
           std::ranges::all_of(expected_, [](const auto& item) { return expected_hash(item).has_value(); });
  }

  VerifyDepth choose_depth() const {
    if (options_.depth == VerifyDepth::auto_) return has_checksums() ? VerifyDepth::checksum : VerifyDepth::structure;
    if (options_.depth == VerifyDepth::checksum && !has_checksums()) {
      throw Error(ErrorCode::not_found,
                  fmt::format("there are no checksums to compare with: neither a {} beside the shards nor an index for "
                              "each; `shardctl index SHARDS` makes them from the shards as they are now",
                              formats::kManifestName),
                  set_.folder.empty() ? set_.shards.front().path : set_.folder);
    }
    return options_.depth;
  }

  /// Readers and decoders fail together: the first exception stops all of them.
  void check_shards() {
    sync::TaskGroup group(ctx_.stop_token());
    std::optional<ImageCheck> images;
    if (result_.depth == VerifyDepth::decode) images.emplace(set_.shards.size(), group.stop_token());
    ImageCheck* const check = images ? &*images : nullptr;
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
    ctx_.throw_if_stopped();
    if (!images) return;
    result_.images = images->images();
    for (std::size_t shard = 0; shard < reports_.size(); ++shard) images->note(shard, reports_[shard].log);
  }

  void check_shard(std::size_t shard, ImageCheck* images) {
    ShardReport& report = reports_[shard];
    std::vector<std::unique_ptr<MemberWatcher>> contents;
    if (images != nullptr) contents.push_back(images->collector(shard));
    if (source_) contents.push_back(source_->comparer(report.log));
    const bool read_all = result_.depth != VerifyDepth::structure || source_;
    verify_shard(*set_.inputs, set_.shards[shard], expected_[shard], read_all, labels_, contents, report, ctx_);
    set_checker_.add(report);
    ++ctx_.progress().items;
  }

  void sum_up() {
    result_.shards = set_.shards.size();
    for (ProblemLog& missing : set_checker_.missing()) collect(missing);
    for (ShardReport& report : reports_) {
      result_.samples += report.samples;
      result_.members += report.members;
      collect(report.log);
    }
    collect(set_checker_.log());
    result_.problems_total = result_.errors + result_.warnings;
    result_.classes = set_checker_.classes();
    describe_checks();
    name_remedies();
  }

  void collect(ProblemLog& log) {
    result_.errors += log.errors();
    result_.warnings += log.warnings();
    for (const ProblemKind& kind : problem_kinds()) {
      if (log.has(kind.code)) remedies_.insert(kind.remedy);
    }
    for (Problem& problem : log.take()) {
      if (result_.problems.size() < VerifyResult::kMostProblems) result_.problems.push_back(std::move(problem));
    }
  }

  void describe_checks() {
    const auto count = [&](auto matches) {
      return format_count(static_cast<std::uint64_t>(std::ranges::count_if(expected_, matches)), "shard");
    };
    auto& checked = result_.checked;
    checked.push_back(fmt::format("headers, names, samples and labels of {}, keys across them",
                                  format_count(set_.shards.size(), "shard")));
    if (set_.manifest) {
      checked.push_back(fmt::format("sizes and counts of {} against {}",
                                    count([](const ExpectedShard& e) { return e.manifest != nullptr; }),
                                    set_.manifest_path));
    }
    checked.push_back(
        fmt::format("indexes of {}", count([](const ExpectedShard& e) { return !e.index_path.empty(); })));
    if (result_.depth != VerifyDepth::structure) {
      checked.push_back(fmt::format("every byte of {} by XXH3-128",
                                    count([](const ExpectedShard& e) { return expected_hash(e).has_value(); })));
    }
    if (result_.depth == VerifyDepth::decode)
      checked.push_back(format_count(*result_.images, "image") + " by decoding");
    if (source_) {
      checked.push_back(fmt::format("members and labels against {} in '{}'{}{}",
                                    format_count(source_->images(), "image"), options_.against, source_->not_compared(),
                                    set_checker_.is_whole() ? "" : "; not all shards were named, so none is missed"));
    }
    if (result_.depth == VerifyDepth::structure && !source_) {
      checked.push_back("no content: images were not read or decoded");
    }
  }

  void name_remedies() {
    const auto advise = [&](std::string_view option, std::string_view what) {
      result_.remedies.push_back(
          fmt::format("shardctl reshard{} {} OUT  # {}", option, fmt::join(options_.shards, " "), what));
    };
    if (remedies_.contains(Remedy::drop_bad)) advise(" --drop-bad", "the same samples without those that are bad");
    if (remedies_.contains(Remedy::reshard))
      advise("", "the same samples under names and headers that every reader knows");
  }

  const VerifyOptions& options_;
  Context& ctx_;
  const unsigned threads_;
  const catalog::ShardSet set_;
  const std::vector<ExpectedShard> expected_;
  std::vector<std::uint64_t> labels_;  ///< that the manifest knows
  std::vector<ShardReport> reports_;   ///< by shard
  SetChecker set_checker_;
  std::optional<SourceCheck> source_;
  std::set<Remedy> remedies_;  ///< that would mend something of what was found
  VerifyResult result_;
};

}  // namespace

VerifyResult verify(const VerifyOptions& options, Context& ctx) { return Verification(options, ctx).run(); }

void VerifyOptions::describe(FieldVisitor& v) {
  v.field(catalog::kShardsOperand, shards);
  v.field({"depth",
           "what to check: headers and samples; every byte too; or every byte and image. auto reads every byte where "
           "there are checksums"},
          depth);
  v.field({"against",
           "compare every byte and label with the ImageFolder tree that the shards were made from, here or at an s3:// "
           "URL, or with the images of --list, and name what is missing, extra or different",
           Role::input_file, "SRC"},
          against);
  images.describe(v);
  v.field({"strict", "count warnings as findings"}, strict);
  v.field(system::threads_field("shards read at a time; default: the CPUs this process may use"), threads);
  access.describe(v);
}

void VerifyResult::describe(FieldVisitor& v) {
  v.field({"depth", "what was really checked"}, depth);
  v.field({"checked", "the same in words"}, checked);
  v.field({"shards", Unit::count, "shards read"}, shards);
  v.field({"samples", Unit::count, "samples found in them"}, samples);
  v.field({"members", Unit::count, "tar members found in them"}, members);
  v.field({"bytes", Unit::bytes, "size of the shards"}, bytes);
  v.field({"images", Unit::count, "images looked at, with --depth decode"}, images);
  v.field({"classes", "the labels found"}, classes);
  v.field({"bytes_per_second", Unit::bytes_per_second, "size of the shards over wall time"}, bytes_per_second);
  v.field({"problems_total", Unit::count, "problems found, errors and warnings"}, problems_total);
  v.field({"errors", Unit::count, "problems by which readers lose or confuse data"}, errors);
  v.field({"warnings", Unit::count, "problems over which some reader stumbles"}, warnings);
  v.field({"problems", "the problems, repetitions within a shard in one line, at most 10,000 lines"}, problems);
  v.field({"remedies", "commands that mend what can be mended"}, remedies);
}

void VerifyClasses::describe(FieldVisitor& v) {
  v.field({"count", Unit::count, "labels with samples"}, count);
  v.field({"largest_label", "the largest of them"}, largest_label);
  v.field({"fewest_samples", Unit::count, "of the smallest class"}, fewest_samples);
  v.field({"most_samples", Unit::count, "of the largest class"}, most_samples);
}

}  // namespace shardkit::dataset
