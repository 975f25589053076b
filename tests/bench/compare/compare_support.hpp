#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/compare/compare.hpp"
#include "support/errors.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

namespace shardkit::test {

/// What a made-up result of `iobench read` says.
struct ReadFacts {
  double rate = 1e9;
  double p99 = 0.002;
  std::string cache = "cold";
  int threads = 8;
  int files = 12;
  double mean_sample = 110'000;
  int cpus = 16;
  std::string version = "0.1.0";
  std::string path = "/data/train";
  std::string host = "node1";
  std::string requested = {};  ///< of the cache; empty: what it was
  std::string neighbors = {};  ///< what they used, in words
  int retries = 0;             ///< an option that no version has yet
};

inline std::string read_envelope(const ReadFacts& facts = {}) {
  return fmt::format(
      R"({{"schema":"shardkit/read","schema_version":1,"tool":{{"name":"iobench","version":"{}","commit":"abc"}},
"host":{{"hostname":"{}","os":"Debian","kernel":"6.1","cpus":{},"memory_bytes":34359738368}},
"options":{{"path":["{}"],"threads":null,"cache":"{}","seed":0,"retries":{}}},
"result":{{"mode":"sequential","engine":"pread","direct":false,"threads":{},"files":{},"mean_sample_bytes":{},
"bytes_per_second":{},"latency_seconds":{{"p50":0.001,"p99":{}}},"cache":{{"state":"{}"}},
"storage":{{"file_system":"ext4","storage_class":"nvme"}},"neighbors":{{"text":"{}"}}}},
"error":null,"status":"ok","exit_code":0}})",
      facts.version, facts.host, facts.cpus, facts.path, facts.requested.empty() ? facts.cache : facts.requested,
      facts.retries, facts.threads, facts.files, facts.mean_sample, facts.rate, facts.p99, facts.cache,
      facts.neighbors);
}

/// Ten results in a folder, their rates a thousandth apart around `facts.rate`.
inline std::string write_repetitions(const TempDir& dir, const std::string& name, ReadFacts facts, int count = 10) {
  const double rate = facts.rate;
  const double p99 = facts.p99;
  for (int i = 0; i < count; ++i) {
    facts.rate = rate * (1 + 0.001 * ((i * 7) % count - count / 2));
    facts.p99 = p99 * (1 + 0.001 * ((i * 3) % count - count / 2));
    write_file(dir.path(fmt::format("{}/{:02}.json", name, i)), read_envelope(facts));
  }
  return dir.path(name);
}

/// A result of `iobench run --repeat`.
inline std::string run_envelope(const std::vector<double>& rates, const std::string& version = "0.1.0") {
  std::vector<std::string> repetitions;
  for (const double rate : rates) {
    repetitions.push_back(fmt::format(R"({{"read":{{"bytes_per_second":{}}},"decode":{{"samples_per_second":{}}},
"predicted":{{"samples_per_second":{}}}}})",
                                      rate, rate / 1e6, rate / 2e6));
  }
  return fmt::format(R"({{"schema":"shardkit/run","schema_version":1,"tool":{{"version":"{}"}},"host":{{"cpus":16}},
"options":{{"path":["/data"]}},"result":{{"read":{{"bytes_per_second":7,"cache":{{"state":"cold"}}}},
"predicted":{{"samples_per_second":9}},"repetitions":[{}]}},"error":null}})",
                     version, fmt::join(repetitions, ","));
}

inline bench::CompareResult compare_paths(const std::string& base, const std::string& changed,
                                          bench::CompareOptions options = {}) {
  options.base = base;
  options.changed = changed;
  Context context;
  return bench::compare(options, context);
}

inline shardkit_test::Failure failure_of_compare(const bench::CompareOptions& options) {
  return shardkit_test::failure_of([&] {
    Context context;
    bench::compare(options, context);
  });
}

}  // namespace shardkit::test
