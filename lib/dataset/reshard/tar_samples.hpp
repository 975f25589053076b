#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.hpp"
#include "core/context.hpp"
#include "formats/shard_index.hpp"

/// The samples of a tar by its headers, also of tars with links, unrelated files or a truncated end.
namespace shardkit::dataset {

/// True for names of files that an operating system put next to samples (".DS_Store", "__MACOSX/x"), for hidden and
/// empty names: readers treat them differently.
bool is_stray_name(std::string_view name);

/// The name that a member has once it is unpacked: without "./" and a leading '/'; empty if it is outside the folder.
std::string unpacked_name(std::string_view name);

/// A tar to read.
struct TarReading {
  std::string path;                                ///< for messages
  std::size_t input = 0;                           ///< its number
  std::string extension = {};                      ///< of members without one; empty: they belong to no sample
  bool salvage = false;                            ///< a cut ends it; tars that were put together are read to the end
  std::uint64_t listed_bytes = 0;                  ///< its size in a manifest; 0: not known
  std::function<std::string(bool joined)> remedy;  ///< the command that salvages it, for messages
};

/// Other content of a tar.
struct TarSamples {
  std::uint64_t ignored = 0;                   ///< members that belong to no sample
  bool lacks_end = false;                      ///< it has no end-of-archive blocks
  bool cut = false;                            ///< with salvage: something was lost
  bool lost_one = false;                       ///< an incomplete sample was seen
  std::uint64_t end = 0;                       ///< where the last complete sample ends
  std::optional<std::uint64_t> nameless = {};  ///< where the content of the first member without an extension starts
  std::uint64_t lost_links = 0;                ///< of samples, to no file of the tar
  std::string lost_link = {};                  ///< the first of them, for messages
  std::vector<std::uint64_t> archive_starts = {};  ///< with salvage: of the tars that were put behind the first
};

/// Reads the headers of `tar`, and passes the samples to `take` in order, with their original keys and extensions, the
/// latter in lower case. Links become the files that they refer to, as they are once the tar is unpacked; readers of
/// shards see no content there. A link to no file of the tar is counted as lost. Memory grows only with the links.
/// Throws Error{corrupt} with tar and offset for a tar that readers do not read completely, unless it is to be
/// salvaged; Error{unsupported} for samples that portable shards cannot contain.
TarSamples read_tar_samples(ByteSource& tar, const TarReading& reading,
                            const std::function<void(formats::MovedSample&&)>& take, Context& context);

}  // namespace shardkit::dataset
