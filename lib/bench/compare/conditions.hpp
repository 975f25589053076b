#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/fields.hpp"

/// Under which conditions something was measured, and whether two measurements can be compared.
namespace shardkit::bench {

using Conditions = std::map<std::string, std::string>;

/// What is not the same on both sides.
struct Difference {
  std::string key;
  std::string base;
  std::string changed;
  bool decisive = false;  ///< measurements that differ in it tell nothing about each other
  bool allowed = false;   ///< the user wants them compared all the same

  void describe(FieldVisitor& v) {
    v.field({"key", "what differs"}, key);
    v.field({"base", "in BASE"}, base);
    v.field({"new", "in NEW"}, changed);
    v.field({"decisive", "true when results that differ in this cannot be compared"}, decisive);
    v.field({"allowed", "true when --allow-different names it"}, allowed);
  }
};

/// The conditions that an envelope tells: tool, host, options, and of each stage what it really used.
Conditions conditions_of(const nlohmann::json& envelope);

/// A name for machines of a kind: "8cpu-32gib-nvme".
std::string machine_class_of(const nlohmann::json& envelope);

/// What differs, decisive ones first, then by key. `allow` holds keys: "engine" allows every key that ends in
/// ".engine", "host" every one that starts with "host.".
std::vector<Difference> differences(const Conditions& base, const Conditions& changed,
                                    std::span<const std::string> allow);

/// Throws Error{usage} when one of `allow` fits no condition of either side, as a typing error would.
void check_allowed(const Conditions& base, const Conditions& changed, std::span<const std::string> allow);

}  // namespace shardkit::bench
