#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "bench/model/measured_supply.hpp"
#include "bench/model/model.hpp"
#include "bench/requirement/job.hpp"

/// Which options of `iobench model` make sense, alone and together.
namespace shardkit::bench {

/// Throws Error{usage}: "<option>: expected <expected>".
[[noreturn]] void refuse_option(const char* option, std::string_view expected);

bool has_job(const ModelOptions& options);

/// An option that would change nothing without another is refused, so that no part of a command line goes unheard.
void check_partners(const ModelOptions& options);

/// `options` with what was measured of a checkpoint in place of what was not given. Larger ones take longer in
/// proportion, and so does a whole one of which --budget let a part be written: that is warned of. Throws Error{usage}
/// without a job and an interval.
ModelOptions with_checkpoint(ModelOptions options, const MeasuredCheckpoint& measured, Context& context);

/// What comes of a model in a line: whether the supply is enough, which stage limits and which was not measured;
/// without a supply what the job takes; what checkpoints take of its time; without a job what the supply feeds; without
/// either that presets are listed.
std::string model_text(const ModelResult& result, const std::optional<JobRequirement>& requirement);

}  // namespace shardkit::bench
