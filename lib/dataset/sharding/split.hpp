#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/context.hpp"
#include "core/fields.hpp"

/// Dividing samples among sets, such as train and val: --split of convert and reshard.
namespace shardkit::dataset {

/// Numbers of samples, in some order: 4 bytes each.
using SampleOrder = std::vector<std::uint32_t>;

/// The facts about a sample that a division uses.
struct SplitFacts {
  std::uint64_t group_hash = 0;             ///< XXH3-64 of its group's name, or of its key without --group-by
  std::optional<std::uint64_t> label = {};  ///< of its class
  std::optional<std::size_t> set = {};      ///< number of the set that has the group already
};

/// One part of --split.
struct SplitShare {
  std::string name;
  double ratio = 0;
};
/// "NAME=RATIO" each. Throws Error{usage} for names that are not folder names, or ratios that do not add up to 1.
std::vector<SplitShare> parse_split(const std::vector<std::string>& texts);

/// The name of a sample's group, by its key and its path below the source (empty if no index has it); `in_class`: the
/// first folder of both is its class. Throws Error{usage} for a sample that is in no group.
using SampleGroup = std::function<std::string(std::string_view key, std::string_view path, bool in_class)>;

struct SplitRule {
  std::vector<SplitShare> shares;
  std::uint64_t seed = 0;
  SampleGroup group = {};   ///< empty: each sample is a group of its own
  std::string column = {};  ///< of the table whose values are the groups, instead of `group`
};

/// The division that a command line requests: none without `split`.
struct SplitOptions {
  std::vector<std::string> split;
  std::string group_by;
  std::uint64_t seed = 0;

  /// `of_shards`: for reshard, which has no table and draws samples.
  void describe(FieldList& v, bool of_shards = false);
};
/// Throws the errors of parse_split(), and Error{usage} for options that need a split if there is none, and for a
/// --group-by that is not one.
SplitRule split_rule(const SplitOptions& options);

/// Their text form in plan and manifest of the set `name`; empty without a split.
std::map<std::string, std::string> split_texts(const SplitOptions& options, const std::string& name);

struct DividedSamples {
  std::vector<SampleOrder> sets;  ///< of each share, ascending
  std::vector<std::uint64_t> labels_moved =
      {};  ///< ascending: without a sample in the first share unless the exception applies
  std::vector<std::vector<std::uint64_t>> labels_absent = {};  ///< of each share: labels without a sample in it
  std::size_t classes = 0;                                     ///< labels in all shares
  bool one_group_each = false;                                 ///< no class has several groups
};

/// Throws Error{not_found} for a set that would get no sample; `set` is its number.
void refuse_empty_set(const SplitRule& rule, std::size_t set, const DividedSamples& divided);

/// Divides the samples of `order`, which ascend. A group that is in a set stays there. Another one's rank is the first
/// output of Prng(seed XOR group_hash); share k gets the ranks from 2^64 * (r_1 + ... + r_k-1) up to 2^64 * (r_1 + ...
/// + r_k). So the set of a sample depends only on its group and the seed. One exception: if the first share would get
/// no sample of a class, that class gives it, of its groups in no set, the one with the smallest rank.
DividedSamples split_samples(const SampleOrder& order, const SplitRule& rule,
                             const std::function<SplitFacts(std::uint32_t)>& facts, Context& context);

/// Warns of classes with a sample that the exception moved, and of sets without a sample of some class. `class_name`
/// returns the class name of a label.
void warn_of_small_classes(const DividedSamples& divided, const SplitRule& rule,
                           const std::function<std::string(std::uint64_t label)>& class_name, Context& context);

}  // namespace shardkit::dataset
