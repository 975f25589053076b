#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catalog/inputs.hpp"
#include "core/context.hpp"
#include "formats/plan_file.hpp"

namespace shardkit::catalog {

using formats::FileState;

/// Files by their paths below a source; sorted, so that files of a folder are adjacent.
using FileStates = std::map<std::string, FileState>;

/// The folder of the images, local or in a store, and the inputs that open their tables.
struct SourceFolder {
  /// A local folder.
  SourceFolder(std::string folder) : path(std::move(folder)) {}
  /// SRC. Sends no request yet. Throws Error{usage} for a folder behind HTTP unless its files are `listed`, and for
  /// invalid addresses.
  SourceFolder(const std::string& operand, bool listed, std::shared_ptr<Inputs> opener);

  /// Address of one of its files, for messages and to open it, without secrets.
  std::string path_of(const std::string& name) const;
  /// Path by which a local file is opened. One outside, "../name", starts from the folder as it was written, not from
  /// the target of a link.
  std::string opened_path(const std::string& name) const;
  /// A message about one of its files, with paths relative to this folder, so that it does not depend on how the folder
  /// was given.
  std::string without_folder(std::string text) const;
  /// One of its folders.
  SourceFolder below(const std::string& folder) const;

  std::string path;                         ///< as given by the user; in a store without secrets
  std::shared_ptr<io::ObjectSource> store;  ///< null: the folder is local
  std::shared_ptr<Inputs> inputs = std::make_shared<Inputs>();
  /// Recorded states of files that a scan uses instead of the current ones: those of a plan that may be amended.
  FileStates known = {};
};

enum class EntryKind { folder, file };

struct ListedEntry {
  std::string name;
  EntryKind kind;
};

/// Direct contents of a local folder, by name. Links are followed, as in torchvision. A broken link counts as a file.
std::vector<ListedEntry> list_folder(const std::string& folder);

/// Direct contents of a folder of a source, by name. Throws the errors of listing, and Error{unsupported} for names in
/// a store that cannot be files.
std::vector<ListedEntry> entries_in(const SourceFolder& source, const std::string& folder);

/// Adds a file to others that are sorted by name, or updates the state of the one with that name.
void add_known_file(const std::string& name, const FileState& state, std::vector<io::ObjectInfo>& files);

/// The files directly in a folder of a source, by name, including recorded ones; none if it does not exist. In a store
/// with sizes and versions. Without files that macOS hides.
std::vector<io::ObjectInfo> list_files(const SourceFolder& source, const std::string& folder);

/// Warns of a system folder that is skipped; `torchvision` is what torchvision would do.
void warn_of_system_folder(Context& context, const std::string& path, std::string_view torchvision);

/// Files that belong to no sample.
struct IgnoredFiles {
  /// By kind: "hidden", "without extension", or the lower-case extension, such as ".gif".
  std::map<std::string, std::uint64_t> kinds = {};
  std::set<std::string> first = {};  ///< paths of a few, the first bytewise

  void merge(const IgnoredFiles& other);
};
/// Counts a file by its path below the source, unless it is one of shardkit's own.
void count_ignored(IgnoredFiles& ignored, const std::string& path);
/// Reverts count_ignored().
void uncount_ignored(IgnoredFiles& ignored, const std::string& path);
/// The start of paths of files outside of the source.
inline constexpr std::string_view kParent = "../";
/// The start of names that macOS gives to its metadata files: "._photo.jpg" is not a photo.
inline constexpr std::string_view kAppleDouble = "._";

/// The class folders directly in `folder` of a source, by name. Adds files there to `ignored`; warns of system folders.
/// Throws the errors of listing, and Error{unsupported} for names in a store that cannot be files.
std::vector<std::string> class_folders(const SourceFolder& source, const std::string& folder, Context& context,
                                       IgnoredFiles& ignored);

}  // namespace shardkit::catalog
