#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "catalog/image_folder.hpp"
#include "catalog/image_table.hpp"
#include "core/context.hpp"
#include "dataset/sharding/sharding_options.hpp"
#include "dataset/sharding/split.hpp"

namespace shardkit::dataset {

/// A source whose files and labels are known: the input of plans. Its samples are numbered class by class, in the
/// scan's order.
struct ScannedSource {
  catalog::SourceFolder images;
  catalog::ImageFolderScan scan;                     ///< with its keys chosen
  std::vector<std::optional<std::uint64_t>> labels;  ///< of scan.classes; empty for images without one
  std::shared_ptr<catalog::ImageNotes> notes;        ///< the content of the .json members; null: there are none
  std::map<std::string, std::uint64_t> class_map;    ///< all classes of --class-map, also without a sample
  /// XXH3-64 of the group of each file of each class of the scan; empty without --group-by.
  std::vector<std::vector<std::uint64_t>> groups = {};
  double scan_seconds = 0;  ///< wall time
};

/// A list as the catalog reads it; `class_map` is empty where none numbers its labels.
catalog::ImageListOptions image_list(const ListOptions& images, std::map<std::string, std::uint64_t> class_map,
                                     catalog::Inputs& inputs);

/// One of several sets of a source; both members are empty if there is only one.
struct SourceSet {
  std::string name;                  ///< its folder below the source
  std::vector<std::string> classes;  ///< of all sets together, sorted bytewise
  bool json_lists = false;           ///< the samples that it has have lists of rows as .json
};

/// Scans a source, or takes the images of --list. A class gets its label from --class-map or else its position in
/// `set.classes`; if that is empty, among the classes of this source. Samples without a row in --metadata or a required
/// field become problems of the scan, unless --on-bad keeps them. `threads` empty: usable_threads(). Throws the errors
/// of check() and scan_image_folder(), and Error{not_found} for a class that has no label.
ScannedSource scan_source(const catalog::SourceFolder& images, const ShardingOptions& options, const SourceSet& set,
                          std::optional<std::uint64_t> threads, Context& context);

/// Like scan_source(), but files that cannot be read or do not exist, although a listing, a list or a template names
/// them, are planned with size and time 0, so that the plan may be amended by them. They stay problems if they are more
/// than --max-bad and its default allow, or if the set has their sample or recorded it as left out.
ScannedSource scan_whole_source(const catalog::SourceFolder& images, const ShardingOptions& options,
                                const SourceSet& set, std::optional<std::uint64_t> threads,
                                const std::function<bool(const std::string& path)>& left_out, Context& context);

/// Warns of class folders that are named by numbers but get others as labels, and of a source with one class only.
void warn_of_classes(const ScannedSource& source, const SourceSet& set, Context& context);

/// Fills in the groups of --group-by. `options` are those of the scan: with column:NAME their table is read again.
/// Throws Error{usage} for a sample without a group.
void find_groups(ScannedSource& source, const ShardingOptions& options, const SplitRule& rule, Context& context);

/// Divides all samples, in the scan's order; `known` returns the number of the set that has a group already. Throws the
/// errors of split_samples().
DividedSamples split_source(const ScannedSource& source, const SplitRule& rule,
                            const std::function<std::optional<std::size_t>(std::uint64_t group)>& known,
                            Context& context);

}  // namespace shardkit::dataset
