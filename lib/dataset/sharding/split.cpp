#include "dataset/sharding/split.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>
#include <regex>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/field_tree.hpp"
#include "core/prng.hpp"
#include "core/text.hpp"
#include "formats/portable_name.hpp"

namespace shardkit::dataset {
namespace {

constexpr double kSumTolerance = 1e-6;
constexpr std::string_view kKeyPrefix = "key:";
constexpr std::string_view kColumnPrefix = "column:";
constexpr std::size_t kMostNamedClasses = 5;

/// --group-by: a folder, or the match of a pattern in the key.
SampleGroup parse_group(const std::string& text) {
  if (text == "dir") {
    return [](std::string_view key, std::string_view path, bool in_class) {
      const std::string_view name = path.empty() ? key : path;
      const std::string_view folder = name.substr(0, name.find_last_of('/') + 1);
      const std::string_view below = in_class ? folder.substr(folder.find('/') + 1) : folder;
      return std::string(below.empty() ? folder : below);
    };
  }
  const std::string pattern = text.substr(kKeyPrefix.size());
  try {
    return [pattern, regex = std::regex(pattern)](std::string_view cut_key, std::string_view path, bool) {
      const std::string key = formats::uncut_key(cut_key, path);
      std::smatch found;
      if (std::regex_search(key, found, regex) && found.size() > 1) return found[1].str();
      throw usage_error(
          "--group-by: the pattern '{}' {} the key '{}'; use a pattern with a (group) that matches all keys", pattern,
          found.empty() ? "does not match" : "has no (group) for", key);
    };
  } catch (const std::regex_error&) {
    throw usage_error("--group-by: '{}' is not a regular expression (ECMAScript syntax)", pattern);
  }
}

/// For each share the first rank that is not its own; of the last one the largest rank.
std::vector<std::uint64_t> rank_ends(const std::vector<SplitShare>& shares) {
  std::vector<std::uint64_t> ends;
  double sum = 0;
  for (const SplitShare& share : shares) {
    sum += share.ratio;
    ends.push_back(&share == &shares.back() || sum >= 1 ? UINT64_MAX : static_cast<std::uint64_t>(std::ldexp(sum, 64)));
  }
  return ends;
}

/// The samples of a class.
struct ClassShare {
  std::vector<std::uint64_t> samples = {};      ///< of each share
  std::optional<std::uint64_t> one_group = {};  ///< the first
  bool several_groups = false;
  std::uint64_t smallest_rank = UINT64_MAX;
  std::optional<std::uint64_t> smallest_group = {};  ///< of those that are in no set yet
};

}  // namespace

std::vector<SplitShare> parse_split(const std::vector<std::string>& texts) {
  std::vector<SplitShare> shares;
  double sum = 0;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const auto ratio =
        equals == std::string::npos ? std::nullopt : parse_decimal(std::string_view(text).substr(equals + 1));
    SplitShare share{text.substr(0, equals), ratio.value_or(0)};
    if (equals != std::string::npos && share.ratio <= 0) {
      throw usage_error("--split '{}': a ratio is a number above 0, such as 0.9", text);
    }
    constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    if (share.name.empty() || share.name.size() > 80 || share.name.find_first_not_of(allowed) != std::string::npos ||
        !ratio) {
      throw usage_error(
          "--split '{}': expected NAME=RATIO, such as train=0.9,val=0.1, with letters, digits, '_' and '-' in names",
          text);
    }
    if (std::ranges::any_of(shares, [&](const SplitShare& other) { return other.name == share.name; })) {
      throw usage_error("--split lists '{}' twice", share.name);
    }
    sum += share.ratio;
    shares.push_back(std::move(share));
  }
  if (!shares.empty() && std::abs(sum - 1) > kSumTolerance) {
    throw usage_error("the ratios of --split add up to {:g}, not to 1", sum);
  }
  return shares;
}

void SplitOptions::describe(FieldList& v, bool of_shards) {
  v.topic("Training and validation sets");
  v.field({"split",
           "divide the samples into folders NAME of the target with a manifest each, such as train=0.9,val=0.1; chosen "
           "by a hash of the key (or its group) and --seed",
           "NAME=RATIO,...", kPlanned, Misnomers{"val"}},
          split);
  v.field({"group-by",
           of_shards ? "keep samples of one group in one set: dir (folder of the file, below its class) or key:REGEX "
                       "(first (group) of REGEX in the key)"
                     : "keep samples of one group in one set: dir (folder of the file, below its class), key:REGEX "
                       "(first (group) of REGEX in the key), or column:NAME (a column of --list or --metadata)",
           of_shards ? "dir|key:REGEX" : "dir|key:REGEX|column:NAME"},
          group_by);
  v.field({"seed", of_shards ? "seed of --split and --sample" : "seed of --split", "SEED", kPlanned}, seed);
}

SplitRule split_rule(const SplitOptions& options) {
  SplitRule rule{parse_split(options.split), options.seed};
  if (options.group_by.empty()) return rule;
  if (rule.shares.empty()) throw usage_error("--group-by needs --split");
  if (options.group_by.starts_with(kColumnPrefix) && options.group_by.size() > kColumnPrefix.size()) {
    rule.column = options.group_by.substr(kColumnPrefix.size());
  } else if (options.group_by == "dir" || options.group_by.starts_with(kKeyPrefix)) {
    rule.group = parse_group(options.group_by);
  } else {
    throw usage_error("--group-by '{}' must be dir, key:REGEX or column:NAME", options.group_by);
  }
  return rule;
}

std::map<std::string, std::string> split_texts(const SplitOptions& options, const std::string& name) {
  if (options.split.empty()) return {};
  std::map<std::string, std::string> texts = planned_texts(options);
  texts.emplace("set", name);
  return texts;
}

void refuse_empty_set(const SplitRule& rule, std::size_t set, const DividedSamples& divided) {
  if (!divided.sets[set].empty()) return;
  const bool grouped = rule.group || !rule.column.empty();
  std::string why = grouped ? "change --seed or --split, or use a finer --group-by" : "change --seed or --split";
  if (divided.one_group_each) {
    why = fmt::format("each class has only one {}, and '{}' needs one of each class; {}", grouped ? "group" : "sample",
                      rule.shares.front().name,
                      grouped ? "use a finer --group-by, or leave it out" : "leave out --split");
  }
  throw Error(ErrorCode::not_found, fmt::format("no sample would go to '{}': {}", rule.shares[set].name, why));
}

namespace {

/// Moves the groups of classes without a sample in the first set there, and counts their samples in it.
void move_groups(DividedSamples& divided, const std::set<std::uint64_t>& moved,
                 const std::function<SplitFacts(std::uint32_t)>& facts, std::map<std::uint64_t, ClassShare>& classes) {
  const auto is_moved = [&](std::uint32_t number) { return moved.contains(facts(number).group_hash); };
  SampleOrder& first = divided.sets.front();
  for (std::size_t i = 1; i < divided.sets.size(); ++i) {
    SampleOrder& set = divided.sets[i];
    const auto kept = std::stable_partition(set.begin(), set.end(), std::not_fn(is_moved));
    for (auto number = kept; number != set.end(); ++number) {
      const std::optional<std::uint64_t> label = facts(*number).label;
      if (!label) continue;
      ++classes[*label].samples.front();
      --classes[*label].samples[i];
    }
    first.insert(first.end(), kept, set.end());
    set.erase(kept, set.end());
  }
  std::ranges::sort(first);
}

}  // namespace

DividedSamples split_samples(const SampleOrder& order, const SplitRule& rule,
                             const std::function<SplitFacts(std::uint32_t)>& facts, Context& context) {
  const std::vector<std::uint64_t> ends = rank_ends(rule.shares);
  DividedSamples divided{std::vector<SampleOrder>(rule.shares.size())};
  std::map<std::uint64_t, ClassShare> classes;
  for (const std::uint32_t number : order) {
    if (number % 65536 == 0) context.throw_if_stopped();
    const SplitFacts sample = facts(number);
    const std::uint64_t rank = Prng(rule.seed ^ sample.group_hash).next();
    const auto end = std::ranges::upper_bound(ends.begin(), std::prev(ends.end()), rank);
    const std::size_t set = sample.set.value_or(static_cast<std::size_t>(end - ends.begin()));
    divided.sets[set].push_back(number);
    if (!sample.label) continue;
    ClassShare& of_class = classes[*sample.label];
    if (!of_class.one_group) of_class.one_group = sample.group_hash;
    of_class.several_groups = of_class.several_groups || *of_class.one_group != sample.group_hash;
    of_class.samples.resize(rule.shares.size());
    ++of_class.samples[set];
    if (sample.set || rank > of_class.smallest_rank) continue;
    of_class.smallest_rank = rank;
    of_class.smallest_group = sample.group_hash;
  }
  std::set<std::uint64_t> moved;
  for (const auto& [label, of_class] : classes) {
    if (of_class.samples.front() > 0 || !of_class.smallest_group) continue;
    divided.labels_moved.push_back(label);
    moved.insert(*of_class.smallest_group);
  }
  if (!moved.empty()) move_groups(divided, moved, facts, classes);
  divided.classes = classes.size();
  divided.one_group_each =
      !classes.empty() && std::ranges::none_of(classes, [](const auto& item) { return item.second.several_groups; });
  divided.labels_absent.resize(rule.shares.size());
  for (const auto& [label, of_class] : classes) {
    for (std::size_t i = 0; i < rule.shares.size(); ++i) {
      if (of_class.samples[i] == 0) divided.labels_absent[i].push_back(label);
    }
  }
  return divided;
}

void warn_of_small_classes(const DividedSamples& divided, const SplitRule& rule,
                           const std::function<std::string(std::uint64_t)>& class_name, Context& context) {
  const auto named = [&](const std::vector<std::uint64_t>& labels) {
    std::vector<std::string> names;
    for (const std::uint64_t label : labels | std::views::take(kMostNamedClasses)) {
      names.push_back(fmt::format("'{}'", class_name(label)));
    }
    const std::size_t more = labels.size() - names.size();
    return fmt::format("{}{}", fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
  };
  if (!divided.labels_moved.empty()) {
    context.warn("class_without_training_sample",
                 "with this --seed, '{0}' would have no sample of some classes; one sample or group of each was moved "
                 "there: {1}",
                 rule.shares.front().name, named(divided.labels_moved));
  }
  for (std::size_t i = 0; i < divided.labels_absent.size(); ++i) {
    if (divided.labels_absent[i].empty() || divided.sets[i].empty()) continue;
    context.warn("class_without_sample", "'{}' has no sample of {} of the {} classes: {}", rule.shares[i].name,
                 divided.labels_absent[i].size(), divided.classes, named(divided.labels_absent[i]));
  }
}

}  // namespace shardkit::dataset
