#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/bytes.hpp"
#include "core/context.hpp"
#include "formats/moved_sample.hpp"

/// The samples of a tar by its headers: foreign ones with hard links and files that do not belong there, cut ones.
namespace shardkit::dataset {

/// True for names of files that an operating system put beside samples (".DS_Store", "__MACOSX/x"), of hidden ones, and
/// of none: readers disagree about them.
bool is_stray_name(std::string_view name);

struct TarReading {
  std::string path;             ///< for messages
  std::size_t input = 0;        ///< its number
  std::string extension = {};   ///< of members without one; empty: they belong to no sample
  bool salvage = false;         ///< a cut ends the tar
  std::string salvage_command;  ///< the command that does that, for the message without it
};

/// Is told of the samples in order, with keys and extensions as they are there, the latter in lower case.
struct TarSamplesVisitor {
  std::function<void(formats::MovedSample&&)> sample;
  /// Forget the samples so far: hard links were met, and all come again.
  std::function<void()> restart;
};

/// What else a tar held.
struct TarSamples {
  std::uint64_t ignored = 0;  ///< members that belong to no sample
  bool lacks_end = false;     ///< it has no end-of-archive blocks
  bool cut = false;           ///< with salvage: something was lost
  bool lost_one = false;      ///< a sample was seen that is not whole
  std::uint64_t end = 0;      ///< where the last whole sample ends
};

/// Reads the headers of `tar`. Hard links become the files that they stand for: GNU tar writes them for files that
/// share an inode; readers of shards see nothing there. Memory grows with the links alone. Throws Error{corrupt} with
/// tar and offset for one that readers do not read whole, unless it is to be salvaged, and for a link that leads to no
/// file of the tar or back to itself; Error{unsupported} for samples that portable shards cannot hold.
TarSamples read_tar_samples(ByteSource& tar, const TarReading& reading, const TarSamplesVisitor& visitor, Context& ctx);

}  // namespace shardkit::dataset
