#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/context.hpp"
#include "core/fields.hpp"

/// Dividing samples among sets, such as train and val: --split of convert and reshard.
namespace shardkit::dataset {

/// Numbers of samples, in some order: 4 bytes each.
using SampleOrder = std::vector<std::uint32_t>;

/// What a division looks at of a sample.
struct SplitFacts {
  std::uint64_t key_hash = 0;  ///< XXH3-64 of its key
  std::uint64_t label = 0;     ///< any number that samples of one label share
};

/// The place that chance gives a sample: the first output of Prng(seed XOR key_hash). It depends on key and seed alone,
/// not on shards, order or what else is there.
std::uint64_t rank_of(std::uint64_t key_hash, std::uint64_t seed);

/// One part of --split.
struct SplitShare {
  std::string name;
  double ratio = 0;
};
/// "NAME=RATIO" each. Throws Error{usage} for names that are no folder names, or ratios that do not add up to 1.
std::vector<SplitShare> parse_split(const std::vector<std::string>& texts);

/// True for a finite decimal number that fills the whole text.
bool parse_ratio(std::string_view text, double& value);

struct SplitRule {
  std::vector<SplitShare> shares;
  bool stratify = false;
  std::uint64_t seed = 0;
};

/// The division that a command line asks for: none without `split`.
struct SplitOptions {
  std::vector<std::string> split;
  bool stratify = false;
  std::uint64_t seed = 0;

  void describe(FieldVisitor& v);
};
/// Throws what parse_split() throws, and Error{usage} for options that need a split where there is none.
SplitRule split_rule(const SplitOptions& options);

/// Their text form in plan and manifest of the set `name`; empty without a split.
std::map<std::string, std::string> split_texts(const SplitOptions& options, const std::string& name);

/// Throws Error{not_found} for a set that would get no sample.
void refuse_empty_set(const std::string& name, const SampleOrder& samples);

/// Divides the samples. In order of rank, then number, share k gets those from round(n * (r_1 + ... + r_k-1)) to
/// round(n * (r_1 + ... + r_k)). When `stratify`, in order of the first output of Prng(seed XOR label), then rank, each
/// goes to the share furthest behind its ratio, the first of equals: so all shares have all labels alike, within a
/// sample or two. Each result is in the order that `order` had.
std::vector<SampleOrder> split_samples(SampleOrder order, const SplitRule& rule,
                                       const std::function<SplitFacts(std::uint32_t)>& facts, Context& ctx);

}  // namespace shardkit::dataset
