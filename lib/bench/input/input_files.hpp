#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/timing/timed_run.hpp"
#include "catalog/inputs.hpp"
#include "core/context.hpp"
#include "stats/latency_histogram.hpp"

/// The input of a measurement: shards, or any files.
namespace shardkit::bench {

/// What listing folders found, and how long it took.
struct FolderListing {
  std::vector<std::string> files;   ///< sorted, without hidden ones
  stats::LatencyHistogram latency;  ///< of each folder: opened, all of it read, closed
};

/// Lists `roots` and everything below, one folder after another, like torchvision. Files are not opened. Links are
/// followed, but not into a folder that leads back to them. Updates the progress. Throws Error{not_found, denied, io}
/// for a folder that cannot be listed, Error{unsupported} for /proc and /sys, which are endless, Error{cancelled} on a
/// stop. Ends at the deadline, with a file at least if there are any.
FolderListing walk_folders(const std::vector<std::string>& roots, Context& context, const Deadline& deadline = {});

/// Calls `work` for the indices from 0 in order, on as many threads as the latency of the files requires to keep the
/// cores busy (LatencyPool). Returns how many were done when all `count` were done or the deadline had passed: at
/// least one, always the first ones. Rethrows the first exception; throws Error{cancelled} on a stop.
std::size_t for_each_file(std::size_t count, Context& context, const std::function<void(std::size_t)>& work,
                          const Deadline& deadline = {});

/// The numbers below `count`, so that any first part of them is evenly distributed.
std::vector<std::size_t> spread_order(std::size_t count);

struct InputFile {
  std::string path;  ///< local path, or the address of an object without secrets
  std::uint64_t bytes = 0;
  bool is_shard = false;
  /// For a shard from manifest or index, for a plain file 1; empty if only reading the shard shows it.
  std::optional<std::uint64_t> samples;
};

struct InputSet {
  std::vector<InputFile> files;               ///< in the given order; those of a folder by name
  std::uint64_t bytes = 0;                    ///< of all files, more than 0
  std::vector<std::string> operands{};        ///< the operand they came from; may be empty for a part of a set
  std::shared_ptr<catalog::Inputs> inputs{};  ///< opens objects; may be null for local files
};

/// Of all files together; empty if only reading one of them shows it.
std::optional<std::uint64_t> samples_of(std::span<const InputFile> files);
/// Whether a file is a compressed shard: its samples come one after the other as it is unpacked from its start, and its
/// bytes are the compressed ones.
bool is_compressed(const InputFile& file);
bool has_compressed(std::span<const InputFile> files);
/// Throws Error{unsupported} with a remedy if a shard is compressed. `way` says how it would have been read: "with
/// --direct".
void refuse_compressed(const InputSet& input, std::string_view way);
/// True if all files are shards.
bool has_only_shards(std::span<const InputFile> files);
/// Opens a file of the set, or one next to it.
std::unique_ptr<ByteSource> open_file(const InputSet& input, const std::string& path);
/// False for files that do not exist or may not be looked up.
bool file_exists(const InputSet& input, const std::string& path);
/// The last part of a path or an address, without its query.
std::string file_name(const std::string& path);
/// True if some of it is read over the network by iobench: such data has no page cache and no disk here.
bool has_objects(std::span<const InputFile> files);

/// The files of operands (catalog/operands.hpp): shards, any other files, or folders of either. In a folder without
/// shards of its own, shards at any depth are used, or if there are none all files that are not hidden. Compressed
/// shards of a folder are used if it has no plain ones, as by every verb. Links are followed. The same applies to a
/// folder in a bucket. For one behind HTTP, its manifest is used. A local .txt, .csv, .tsv or .json that lists no files
/// is data, with a warning. Throws Error{not_found} if there is nothing to read, Error{usage} for pipes, devices and
/// sockets, Error{cancelled} on a stop, and the errors of resolve_operands(). Warns if not all local files were found
/// before the deadline, and returns those that were.
InputSet find_input(const std::vector<std::string>& operands, Context& context, const catalog::StoreAccess& access = {},
                    const Deadline& deadline = {});

/// The same with existing stores, for callers that only read bytes: the number of samples is not determined. Throws
/// Error{usage} if some are local and some in stores.
InputSet find_objects(const std::vector<std::string>& operands, Context& context,
                      std::shared_ptr<catalog::Inputs> inputs);

/// "'/data/train'", or "'/data/train' and the other paths": as given by the user, for messages.
std::string named_text(const InputSet& input);
/// The first operand, or the first file of a set without operands.
const std::string& first_named(const InputSet& input);

/// The files in a fixed random order, so that those for which there is time are spread over all.
InputSet spread(InputSet input);

/// Path of our index of a shard, whether it exists or not.
std::string index_path(const InputFile& shard);

}  // namespace shardkit::bench
