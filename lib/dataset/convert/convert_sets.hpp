#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/context.hpp"
#include "dataset/convert/convert.hpp"
#include "dataset/sharding/convert_target.hpp"
#include "dataset/sharding/planned_shards.hpp"
#include "io/file_system.hpp"

namespace shardkit {

/// One folder of shards that a convert makes.
struct ConvertSet {
  std::string name;      ///< such as train; empty where the target is the only one
  std::string source;    ///< folder of its images
  std::string path;      ///< prefix that makes paths below `source` paths below the convert's SRC
  ConvertTarget target;  ///< its plan is adopted
  PlannedRest rest;      ///< to be filled in once all plans are adopted
};

/// Finds out which sets the options ask for (the whole source, the shares of --split, or the source's own train/ and
/// val/ folders), prepares their folders and adopts a plan for each: the given one, or those made of a scan. Throws
/// Error{usage} for options that contradict each other, and what scan_source(), write_plan() and adopt_plan() throw.
std::vector<std::unique_ptr<ConvertSet>> plan_sets(const ConvertOptions& options, FileSystem& files, Context& ctx);

}  // namespace shardkit
