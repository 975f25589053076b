#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "catalog/image_folder.hpp"
#include "catalog/image_table.hpp"
#include "core/context.hpp"
#include "dataset/sharding/sharding_options.hpp"
#include "dataset/sharding/split.hpp"

namespace shardkit::dataset {

/// A source whose files and labels are known: what plans are made of. Its samples are numbered class by class, in the
/// scan's order.
struct ScannedSource {
  catalog::SourceFolder images;
  catalog::ImageFolderScan scan;                     ///< with its keys chosen
  std::vector<std::optional<std::uint64_t>> labels;  ///< of scan.classes; empty for images without one
  std::shared_ptr<catalog::ImageNotes> notes;        ///< what the .json members say; null: there are none
  double scan_seconds = 0;                           ///< wall time
};

/// A list as the catalog reads it; `class_map` is empty where none numbers its labels.
catalog::ImageListOptions image_list(const ListOptions& images, std::map<std::string, std::uint64_t> class_map,
                                     catalog::Inputs& inputs);

/// One of several sets of a source; of the only one both are empty.
struct SourceSet {
  std::string name;                  ///< its folder below the source
  std::vector<std::string> classes;  ///< of all sets together, sorted bytewise
};

/// Scans a source, or takes the images of --list. A class gets its label from --class-map or else its place among
/// `set.classes`; none there: among those of this source. Samples without a row in --metadata or a required field
/// become problems of the scan, unless --on-bad keeps them. `threads` empty: usable_threads(). Throws what check() and
/// scan_image_folder() throw, and Error{not_found} for a class that has no label.
ScannedSource scan_source(const catalog::SourceFolder& images, const ShardingOptions& options, const SourceSet& set,
                          std::optional<std::uint64_t> threads, Context& ctx);

/// As scan_source(), but files that are there and cannot be read are not problems: the plan has them with size and time
/// 0, so that it may be amended by them, unless they are `left_out` of it already or are more than --max-bad allows.
ScannedSource scan_whole_source(const catalog::SourceFolder& images, const ShardingOptions& options,
                                const SourceSet& set, std::optional<std::uint64_t> threads,
                                const std::set<std::string>& left_out, Context& ctx);

/// Divides all samples, in the scan's order. `options` are those of the scan: with --group-by column:NAME their table
/// is read again. Throws what split_samples() throws, and Error{usage} for a sample without a group.
std::vector<SampleOrder> split_source(const ScannedSource& source, const ShardingOptions& options,
                                      const SplitRule& rule, Context& ctx);

}  // namespace shardkit::dataset
