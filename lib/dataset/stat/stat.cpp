#include "dataset/stat/stat.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "dataset/checks/whole_set.hpp"
#include "dataset/samples/sample_lister.hpp"
#include "stats/latency_histogram.hpp"
#include "sync/task_group.hpp"
#include "system/limits.hpp"

namespace shardkit::dataset {
namespace {

/// The counts of one thread; sums, so that the distribution over threads does not matter.
class Tally {
 public:
  void start_shard() {
    ++shard_;
    classes_ = 0;
    before_.reset();
  }

  void add(const formats::IndexSample& sample) {
    ++samples;
    members += sample.members.size();
    std::uint64_t size = 0;
    for (const formats::IndexMember& member : sample.members) size += member.size;
    sizes.record(size);
    if (sample.label) {
      add_label(*sample.label);
    } else {
      ++unlabeled;
    }
    if (sample.label && before_) {
      ++neighbors;
      if (*before_ == *sample.label) ++equal_neighbors;
    }
    before_ = sample.label;
  }

  std::uint64_t classes_in_shard() const { return classes_; }

  void merge(const Tally& other) {
    samples += other.samples;
    members += other.members;
    unlabeled += other.unlabeled;
    neighbors += other.neighbors;
    equal_neighbors += other.equal_neighbors;
    sizes.merge(other.sizes);
    too_many_labels = too_many_labels || other.too_many_labels;
    for (const auto& [label, seen] : other.labels) labels[label].samples += seen.samples;
    if (too_many_labels || labels.size() > StatResult::kMostClasses) forget_labels();
  }

  struct Seen {
    std::uint64_t samples = 0;
    std::uint64_t shard = 0;  ///< the last one that had it
  };

  std::uint64_t samples = 0;
  std::uint64_t members = 0;
  std::uint64_t unlabeled = 0;
  std::uint64_t neighbors = 0;        ///< pairs of labeled samples that are neighbors in a shard
  std::uint64_t equal_neighbors = 0;  ///< those of one label
  stats::LogHistogram sizes;
  std::unordered_map<std::uint64_t, Seen> labels;
  bool too_many_labels = false;

 private:
  void add_label(std::uint64_t label) {
    if (too_many_labels) return;
    Seen& seen = labels[label];
    ++seen.samples;
    if (std::exchange(seen.shard, shard_) != shard_) ++classes_;
    if (labels.size() > StatResult::kMostClasses) forget_labels();
  }

  void forget_labels() {
    too_many_labels = true;
    labels = {};
  }

  std::uint64_t shard_ = 0;
  std::uint64_t classes_ = 0;
  std::optional<std::uint64_t> before_;
};

/// One stat from resolved shards to result.
class Statistics {
 public:
  Statistics(const StatOptions& options, Context& context)
      : context_(context),
        threads_(system::thread_count(options.threads)),
        set_(catalog::resolve_shards(options.shards, catalog::SetVerb::list, context, options.access)),
        manifests_(catalog::manifests_by_folder(set_)),
        lister_(set_, context),
        shard_samples_(set_.shards.size()),
        shard_classes_(set_.shards.size()) {}

  StatResult run() {
    result_.bytes = set_.bytes();
    context_.progress().start("stat", set_.shards.size(), result_.bytes);
    read_shards();
    result_.shards = set_.shards.size();
    result_.shards_by_index = by_index_;
    result_.samples = total_.samples;
    result_.members = total_.members;
    result_.unlabeled = total_.unlabeled;
    result_.sample_size = {total_.sizes.min(), static_cast<std::uint64_t>(total_.sizes.quantile(0.5) + 0.5),
                           total_.sizes.max(), total_.sizes.octaves()};
    result_.shard_samples = spread_over_shards();
    describe_classes();
    advise();
    return std::move(result_);
  }

 private:
  void read_shards() {
    std::vector<Tally> tallies(std::min<std::size_t>(threads_, set_.shards.size()));
    sync::for_each_index(set_.shards.size(), threads_, context_.stop_token(), [&](std::size_t at, std::size_t thread) {
      read_shard(at, tallies[thread]);
      ++context_.progress().items;
    });
    for (const Tally& tally : tallies) total_.merge(tally);
  }

  void read_shard(std::size_t at, Tally& tally) {
    const catalog::ShardFile& shard = set_.shards[at];
    ListingVisitor visitor;
    visitor.sample = [&](formats::IndexSample&& sample) {
      tally.add(sample);
      ++shard_samples_[at];
      return true;
    };
    visitor.finding = warn_of_damage(shard, context_);
    tally.start_shard();
    if (lister_.list(shard, visitor)) ++by_index_;
    shard_classes_[at] = tally.classes_in_shard();
  }

  Spread spread_over_shards() const {
    stats::LogHistogram histogram;
    for (const std::uint64_t samples : shard_samples_) histogram.record(samples);
    std::vector<std::uint64_t> sorted = shard_samples_;
    std::ranges::sort(sorted);
    return {sorted.front(), sorted[(sorted.size() - 1) / 2], sorted.back(), histogram.octaves()};
  }

  void describe_classes() {
    if (total_.too_many_labels) {
      context_.warn("too_many_labels",
                    "there are more than {} different labels, so they are not treated as classes and not counted",
                    format_count(StatResult::kMostClasses));
    }
    if (total_.labels.empty()) return;
    std::map<std::uint64_t, StatClass> classes;
    for (const auto& [label, seen] : total_.labels) classes[label] = {label, "", seen.samples};
    const auto smaller = [](const auto& a, const auto& b) { return a.second.samples < b.second.samples; };
    const auto [smallest, largest] = std::ranges::minmax_element(total_.labels, smaller);
    const std::uint64_t few = smallest->second.samples;
    const std::uint64_t many = largest->second.samples;
    result_.class_balance = {total_.labels.size(), few, many, static_cast<double>(many) / static_cast<double>(few)};
    std::set<std::pair<std::uint64_t, std::string>> names;  // those of several sets once
    for (const auto& [folder, manifest] : manifests_) {
      if (!manifest) continue;
      for (const formats::ManifestClass& item : manifest->classes) names.emplace(item.label, item.name);
    }
    for (const auto& [label, name] : names) {
      StatClass& known = classes[label];
      known.label = label;
      known.name += (known.name.empty() ? "" : ", ") + name;
    }
    for (auto& [label, item] : classes) result_.classes.push_back(std::move(item));
    count_classes_per_shard();
  }

  void count_classes_per_shard() {
    const auto [least, most] = std::ranges::minmax(shard_classes_);
    double sum = 0;
    for (const std::uint64_t classes : shard_classes_) sum += static_cast<double>(classes);
    result_.classes_per_shard = {least, sum / static_cast<double>(shard_classes_.size()), most};
  }

  void advise() {
    std::uint64_t largest_class = 0;
    double chance = 0;  // that two samples taken blindly are of one class
    for (const auto& [label, seen] : total_.labels) {
      largest_class = std::max(largest_class, seen.samples);
      const double share = static_cast<double>(seen.samples) / static_cast<double>(total_.samples - total_.unlabeled);
      chance += share * share;
    }
    if (total_.neighbors > 0 && !total_.labels.empty()) {
      const double equal = static_cast<double>(total_.equal_neighbors) / static_cast<double>(total_.neighbors);
      result_.mixed = equal <= (1 + chance) / 2;
    }
    result_.shuffle_buffer = shuffle_buffer_for({result_.mixed, largest_class, result_.samples, result_.bytes});
  }

  Context& context_;
  const unsigned threads_;
  const catalog::ShardSet set_;
  const catalog::FolderManifests manifests_;
  const SampleLister lister_;
  std::vector<std::uint64_t> shard_samples_;  ///< by shard
  std::vector<std::uint64_t> shard_classes_;  ///< by shard
  std::atomic<std::uint64_t> by_index_{0};
  Tally total_;
  StatResult result_;
};

}  // namespace

StatResult stat(const StatOptions& options, Context& context) { return Statistics(options, context).run(); }

void StatOptions::describe(FieldList& v) {
  v.field(catalog::kShardsOperand, shards);
  v.field(system::threads_field("shards read in parallel; default: CPUs available to the process"), threads);
  access.describe(v);
}

void Spread::describe(FieldList& v) {
  v.field({"min", "minimum"}, min);
  v.field({"median", "median; for sample sizes within 1 %"}, median);
  v.field({"max", "maximum"}, max);
  v.field({"histogram", "histogram by powers of two"}, histogram);
}

void StatClass::describe(FieldList& v) {
  v.field({"label", "as in the .cls members"}, label);
  v.field({"name", "name in the manifest; empty without one"}, name);
  v.field({"samples", Unit::count, "samples of this class"}, samples);
}

void ClassBalance::describe(FieldList& v) {
  v.field({"classes", Unit::count, "number of different labels"}, classes);
  v.field({"smallest", Unit::count, "samples of the smallest class"}, smallest);
  v.field({"largest", Unit::count, "samples of the largest class"}, largest);
  v.field({"largest_to_smallest", Unit::factor, "largest divided by smallest"}, largest_to_smallest);
}

void StatResult::describe(FieldList& v) {
  v.field({"shards", Unit::count, "shards read"}, shards);
  v.field({"shards_by_index", Unit::count, "shards whose index was read instead of their headers"}, shards_by_index);
  v.field({"samples", Unit::count, "samples in these shards"}, samples);
  v.field({"members", Unit::count, "files of these samples, labels included"}, members);
  v.field({"bytes", Unit::bytes, "size of the shards"}, bytes);
  v.field({"unlabelled", Unit::count, "samples without a label that is a whole number"}, unlabeled);
  v.field({"sample_size", Unit::bytes, "size of a sample's members together"}, sample_size);
  v.field({"samples_per_shard", Unit::count, "number of samples per shard"}, shard_samples);
  v.field({"class_balance", "how balanced the classes are"}, class_balance);
  v.field({"classes_per_shard", "how well the classes are mixed over the shards"}, classes_per_shard);
  v.field({"mixed", "true if neighbors within shards have different classes, as in shuffled shards"}, mixed);
  shuffle_buffer.describe(v);
  v.field({"classes", "samples by label"}, classes);
}

}  // namespace shardkit::dataset
