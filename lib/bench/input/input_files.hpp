#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "catalog/inputs.hpp"
#include "core/context.hpp"
#include "stats/latency_histogram.hpp"

/// What a measurement reads: shards, or any files.
namespace shardkit::bench {

/// What listing folders found and took.
struct FolderListing {
  std::vector<std::string> files;   ///< sorted; hidden ones are left out
  stats::LatencyHistogram latency;  ///< of each folder: opened, all of it read, closed
};

/// Lists `roots` and what is below them, one folder after another, as torchvision's walk does; nothing is asked of the
/// files but what the folders say. Links are followed, but not back into a folder that leads to them. Raises the
/// progress's items. Throws Error{not_found, denied, io} for a folder that cannot be listed, Error{unsupported} for
/// /proc and /sys, which have no end, Error{cancelled} on a stop.
FolderListing walk_folders(const std::vector<std::string>& roots, Context& context);

/// Calls `work` for the indices from 0 in their order, on as many threads at once as the files' latency takes to keep
/// the cores busy (AdaptiveWorkers). Returns how many were done when all `count` were or the deadline had passed: at
/// least one, and no other than the first ones. Rethrows the first exception; throws Error{cancelled} on a stop.
std::size_t for_each_file(std::size_t count, Context& context, const std::function<void(std::size_t)>& work,
                          const std::optional<std::chrono::steady_clock::time_point>& deadline = {});

struct InputFile {
  std::string path;  ///< local, or the address of an object without secrets
  std::uint64_t bytes = 0;
  bool is_shard = false;
  /// Of a shard whose manifest or index says so, of a plain file 1; empty where only reading the shard tells.
  std::optional<std::uint64_t> samples;
};

struct InputSet {
  std::vector<InputFile> files;         ///< in the order named; those of a folder by name
  std::uint64_t bytes = 0;              ///< of all files, more than 0
  std::vector<std::string> operands{};  ///< what they came from, as the user named it; may be empty for a part of a set
  std::shared_ptr<catalog::Inputs> inputs{};  ///< opens objects; may be null for local files
};

/// Of all files together; empty where only reading one of them tells.
std::optional<std::uint64_t> samples_of(std::span<const InputFile> files);
/// Opens a file of the set, or what lies beside one.
std::unique_ptr<ByteSource> open_file(const InputSet& input, const std::string& path);
/// False for what is not there or may not be looked for.
bool file_exists(const InputSet& input, const std::string& path);
/// The last part of a path or an address, without what stands for a query.
std::string file_name(const std::string& path);
/// True where some of it is read over the network by us: it has no page cache and lies on no disk of this machine.
bool has_objects(std::span<const InputFile> files);

/// What operands name (catalog/operands.hpp): shards, any other files, or folders of either. Of a folder without shards
/// of its own the shards at any depth are taken, and where there are none all files but hidden ones; links are
/// followed. A folder of a bucket likewise; of one behind HTTP what its manifest lists. A local .txt or .json that
/// names no files is data, with a warning. Throws Error{not_found} when there is nothing to read, Error{usage} for
/// pipes, devices and sockets, Error{cancelled} on a stop, and what resolve_operands() throws.
InputSet find_input(const std::vector<std::string>& operands, Context& context,
                    const catalog::StoreAccess& access = {});

/// The same by stores that are set up already, for what reads no more than their bytes: how many samples the shards in
/// them hold is not asked. Throws Error{usage} where some are local and some in stores.
InputSet find_objects(const std::vector<std::string>& operands, Context& context,
                      std::shared_ptr<catalog::Inputs> inputs);

/// "'/data/train'", or "'/data/train' and what was named beside it": the user's own words, for messages.
std::string named_text(const InputSet& input);
/// The first of them, or the first file of a set without.
const std::string& first_named(const InputSet& input);

/// The files in an order that is drawn once and for all, so that as many as there is time for are spread over all.
InputSet spread(InputSet input);

/// Where our index of a shard lies when it has one.
std::string index_path(const InputFile& shard);

}  // namespace shardkit::bench
