#include "bench/env/env.hpp"

#include <algorithm>

#include "catalog/object_place.hpp"
#include "core/error.hpp"
#include "core/field_tree.hpp"
#include "core/text.hpp"

namespace shardkit::bench {
namespace {

void check_options(const EnvOptions& options) {
  check_ranges(options);
  if (!options.workers && (options.gpus || options.batch)) {
    throw Error(ErrorCode::usage, "--gpus and --batch describe a loader: give --workers too");
  }
  if (options.path && catalog::is_address(*options.path)) {
    throw Error(ErrorCode::usage, "env looks at what is on this machine; 'iobench read " +
                                      without_secrets(*options.path) + "' measures a store");
  }
}

std::optional<LoaderJob> job_of(const EnvOptions& options) {
  if (!options.workers) return std::nullopt;
  LoaderJob job;
  job.gpus = options.gpus.value_or(1);
  job.workers = *options.workers;
  job.prefetch = options.prefetch;
  job.batch = options.batch.value_or(job.batch);
  job.sample_bytes = static_cast<double>(tensor_bytes(options.crop, image::value_bytes(options.dtype)));
  return job;
}

}  // namespace

EnvResult env(const EnvOptions& options, Context& context) {
  check_options(options);
  context.progress().start("looking at the machine");
  EnvResult result;
  result.strict = options.strict;
  result.environment = look_at_environment(options.path.value_or(""), job_of(options));
  const auto count = [&](FindingSeverity severity) {
    const auto& findings = result.environment.findings;
    return static_cast<std::uint64_t>(std::count_if(
        findings.begin(), findings.end(), [&](const Finding& finding) { return finding.severity == severity; }));
  };
  result.errors = count(FindingSeverity::error);
  result.warnings = count(FindingSeverity::warning);
  return result;
}

}  // namespace shardkit::bench
