#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "bench/env/env.hpp"
#include "support/recorded_tree.hpp"

/// Recorded machines as iobench env sees them.
namespace shardkit::test {

using Codes = std::vector<std::string>;

inline bench::Environment look(const RecordedTree& tree, const std::string& path = "/data",
                               const std::optional<bench::LoaderJob>& job = std::nullopt) {
  return bench::look_at_environment(path, job, tree);
}

inline Codes codes(const bench::Environment& environment) {
  Codes codes;
  for (const bench::MachineFinding& finding : environment.findings) codes.push_back(finding.code);
  return codes;
}

inline const bench::MachineFinding* find(const bench::Environment& environment, const std::string& code) {
  const auto& findings = environment.findings;
  const auto found =
      std::find_if(findings.begin(), findings.end(), [&](const bench::MachineFinding& f) { return f.code == code; });
  return found == findings.end() ? nullptr : &*found;
}

inline bool has(const bench::Environment& environment, const std::string& code) {
  return find(environment, code) != nullptr;
}

inline Severity severity(const bench::Environment& environment, const std::string& code) {
  const bench::MachineFinding* finding = find(environment, code);
  REQUIRE(finding != nullptr);
  return finding->severity;
}

/// The machine of a name with some lines recorded anew.
inline RecordedTree machine(const std::string& name, const std::string& changes = "") {
  RecordedTree tree = RecordedTree::machine(name);
  tree.record(changes);
  return tree;
}

constexpr auto kError = Severity::error;

}  // namespace shardkit::test
