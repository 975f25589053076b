#pragma once

#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "cli/app.hpp"

/// A program with one verb of every kind of option and result, whose behavior a test chooses.
namespace shardkit_test {

enum class Depth { structure, checksum };
constexpr auto enum_names(Depth) { return std::to_array<std::string_view>({"structure", "checksum"}); }

struct Latency {
  double p50 = 0;
  double p99 = 0;
  void describe(shardkit::FieldList& v);
};

struct Problem {
  std::string code;
  std::uint64_t offset = 0;
  void describe(shardkit::FieldList& v);
};

struct FakeOptions {
  std::string source;
  std::vector<std::string> more;
  std::optional<std::uint64_t> size;
  std::uint64_t samples = 5000;
  double timeout = 90;
  std::optional<double> ratio;
  Depth depth = Depth::structure;
  std::vector<std::string> index;
  std::string name = "shard";
  bool recheck = false;
  std::optional<std::string> rules;
  std::optional<std::string> trace;
  std::string profile;
  std::string region;
  bool anonymous = false;
  void describe(shardkit::FieldList& v);
};

struct FakeResult {
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;
  std::uint64_t fetched = 0;
  double files_per_second = 0;
  std::optional<double> headroom;
  Latency latency;
  std::optional<Latency> cold;
  std::vector<Problem> problems;
  std::vector<std::string> checked;
  std::string text;
  void describe(shardkit::FieldList& v);
  bool has_findings() const { return !problems.empty(); }
};

/// What "fake work" does; a function of the options and the context. Tests set it before they run the program.
using Behavior = FakeResult (*)(const FakeOptions&, shardkit::Context&);

/// Program "fake" with the verb "work", which is resumable and has --soft-fail, the group "cache" with the verbs
/// "cache ls" and "cache warm", and the shared topic "stores". All have --prometheus.
shardkit::cli::App fake_app(Behavior behavior);

struct Ran {
  int exit_code = 0;
  std::string out;
  std::string err;
};

/// Runs "fake ARGS" in this process; `termination_log` is as in Console.
Ran run_fake(Behavior behavior, const std::vector<std::string>& args, const std::string& termination_log = {});

/// A behavior that returns a plain result.
FakeResult succeed(const FakeOptions& options, shardkit::Context& context);

}  // namespace shardkit_test
