#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/image_source.hpp"
#include "core/error.hpp"
#include "core/fields.hpp"
#include "dataset/sharding/shard_target.hpp"
#include "dataset/sharding/sharding_options.hpp"
#include "io/file_system.hpp"

/// The bad files that runs of a convert found, in `.shardkit/<shard>.bad` (docs/explain/formats.md, "Bad files"). They
/// may amend a plan: they may be corrected, deleted or left out, and only their shards are written again.
namespace shardkit::dataset {

/// In the order in which they count, if samples of a shard share a file.
enum class BadState {
  open,       ///< its shard waits for it
  left_out,   ///< --on-bad skip left out its sample
  deleted,    ///< it was deleted after it was listed, and its sample left out
  corrected,  ///< it was corrected, and its shard has the new bytes
};
constexpr auto enum_names(BadState) {
  return std::to_array<std::string_view>({"open", "left_out", "deleted", "corrected"});
}

/// The state of the file with a name.
struct FileStatus {
  std::optional<catalog::FileState> state = {};  ///< empty: it cannot be read
  bool gone = false;                             ///< the file does not exist
};

/// A source file that could not be read, or whose bytes are not of the type that its name says.
struct BadFile {
  BadState state = BadState::open;
  std::string path;            ///< relative to the source
  catalog::FileState planned;  ///< as the plan has it
  FileStatus seen;             ///< when it was read
  std::string reason;
  Fault fault = {};  ///< the reason without the file's name; without a text if no other file can have it, and in a list

  ErrorCode code() const {
    return seen.state ? ErrorCode::corrupt : seen.gone ? ErrorCode::not_found : ErrorCode::denied;
  }
};

inline constexpr std::size_t kMostBadListed = 1000;

/// The bad files that a run found.
struct BadFiles {
  std::vector<BadFile> open = {};  ///< by path, the first kMostBadListed
  std::uint64_t open_files = 0;    ///< all
  std::uint64_t gone_files = 0;    ///< of these: files that existed when they were planned, and no longer do
  std::uint64_t samples = 0;       ///< open or left out, but for deleted ones
};

/// A sample that is left out of its shard, or that keeps it open. Its text is the reason.
class BadSample : public Error {
 public:
  /// `listed_as`: its path for the index.
  BadSample(std::string listed_as, const Error& why, std::vector<BadFile> bad = {})
      : Error(why), in_index(std::move(listed_as)), files(std::move(bad)) {}

  std::string in_index;
  std::vector<BadFile> files;  ///< those that are bad, which all have one state; none: the sample is left out
};

inline constexpr std::string_view kBadListEnding = ".bad";  ///< behind the shard's name

/// Publishes the list of bad files of a shard; removes the list if there are none.
void keep_bad_files(io::OutputFiles& files, const std::string& folder, const std::string& shard,
                    const std::vector<BadFile>& bad);

/// The files that the list of a shard names; none without a list. Throws Error{corrupt} for a damaged one.
std::vector<BadFile> bad_files_of(io::OutputFiles& files, const std::string& folder, const std::string& shard);

/// Bad files as a message lists them, those with one fault together, each entry with "; " behind it. `all`: how many
/// there are, also outside of `files`; `lists` names the files that contain the others.
std::string files_by_reason(const std::vector<BadFile>& files, std::uint64_t all, const std::string& lists);

/// "'a/1.jpg', 'a/2.jpg', 'a/3.jpg' and 7 more", of `all` files.
std::string first_of(const std::vector<std::string>& paths, std::uint64_t all);

/// Whether two states have the same content, judged by `identity`.
bool is_same_file(const catalog::FileState& one, const catalog::FileState& other, FileIdentity identity);

/// Looks at a file of a source. Throws the errors of reading, except for files that are missing or denied.
FileStatus source_status(const catalog::SourceFolder& images, const std::string& path);

/// A file that an earlier run listed.
struct KnownBadFile {
  BadFile listed;
  FileStatus now;

  /// It existed when it was listed, and no longer does.
  bool is_deleted() const { return now.gone && (listed.state == BadState::deleted || !listed.seen.gone); }
  /// An earlier run left it out, and it is still the same.
  bool is_left_out(FileIdentity identity) const;
};

/// How a run amends the plan of its target. Nothing in a target without a plan.
struct Amendments {
  std::map<std::string, KnownBadFile> files = {};  ///< by path
  /// Finished shards that left out files which have since changed, or that contain such files in an unfinished set.
  std::vector<std::size_t> reopened = {};
};

/// Reads the lists of a target that has a plan, and looks at each file. Throws Error{corrupt} for damaged lists, and
/// the errors of reading the source, except for files that are missing or denied.
Amendments find_amendments(const ShardTarget& target, const catalog::SourceFolder& images, FileIdentity identity);

}  // namespace shardkit::dataset
