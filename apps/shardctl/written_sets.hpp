#pragma once

#include <string>

#include "cli/command.hpp"
#include "dataset/sharding/sharding_job.hpp"

namespace shardkit::apps {

/// What convert and reshard answer alike: the shards that there are now, how fast they were written, what was kept, and
/// which command is next. `again`: the same command without --dry-run.
cli::Answer answer_of(const dataset::WrittenSets& written, const dataset::WriteOptions& options,
                      const std::string& target, const std::string& again);

/// "12 samples"; empty for 0.
std::string count_text(std::uint64_t count, std::string_view noun);

}  // namespace shardkit::apps
