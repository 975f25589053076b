#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "cli/command.hpp"
#include "core/command_text.hpp"
#include "dataset/sharding/sharding_job.hpp"

namespace shardkit::apps {

/// What convert and reshard answer alike: the shards that there are now, how fast they were written, what was kept, and
/// which command is next. `again`: command_to_run().
cli::Answer answer_of(const dataset::WrittenSets& written, const dataset::WriteOptions& options,
                      const std::string& target, const std::string& again);

/// The same command without --dry-run.
template <class Options>
std::string command_to_run(std::string_view command, Options options) {
  options.dry_run = false;
  return command_text(command, std::move(options));
}

}  // namespace shardkit::apps
