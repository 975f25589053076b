#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catalog/inputs.hpp"
#include "core/context.hpp"

namespace shardkit::catalog {

/// How a file is recognised: by its size and the time of its last change, or in a store by its version.
struct FileState {
  std::uint64_t size = 0;                   ///< bytes
  std::int64_t mtime_ns = 0;                ///< since 1970; of an object 0
  std::optional<std::string> version = {};  ///< of an object of a store; may be empty
  bool operator==(const FileState&) const = default;
};

/// Files by their paths below a source; sorted, so that those of a folder are neighbours.
using FileStates = std::map<std::string, FileState>;

/// Where images are: a folder here or in a store, with what opens the tables that speak of them.
struct SourceFolder {
  /// A local folder.
  SourceFolder(std::string folder) : path(std::move(folder)) {}
  /// What SRC names. Nothing is asked yet. Throws Error{usage} for a folder behind HTTP unless something `listed` its
  /// files, and for addresses that are none.
  SourceFolder(const std::string& operand, bool listed, std::shared_ptr<Inputs> opener);

  /// One of its files, for messages and to open it: with no secret in it.
  std::string path_of(const std::string& name) const;
  /// A message about one of its files, with paths that start in this folder: the same however the folder was named.
  std::string without_folder(std::string text) const;
  /// One of its folders.
  SourceFolder below(const std::string& folder) const;

  std::string path;                         ///< as the user named it; in a store without secrets
  std::shared_ptr<io::ObjectSource> store;  ///< null: the folder is local
  std::shared_ptr<Inputs> inputs = std::make_shared<Inputs>();
  /// Files that a scan takes to be as they are here, whatever has become of them: those of a plan that may be amended.
  FileStates known = {};
};

/// Sources that hold several sets: train/, val/ and the like, each an ImageFolder tree of its own.
struct SetFolders {
  std::vector<std::string> names;    ///< such as {"train", "val"}; empty where the source is one set
  std::vector<std::string> classes;  ///< class folders of all sets together, sorted bytewise: one label for each
};

/// Looks whether all visible folders of `root` are called train, val, valid, validation, dev or test, with train and at
/// least one other, and train holds folders. Taken for classes they would give every image of a set one label. A set
/// without class folders, such as the test images of ImageNet, is left out with a warning; so is a set that lacks
/// classes of another warned of, since torchvision would number its classes anew. Throws as scan_image_folder() does
/// for what cannot be listed.
/// Without `labelled` sets need no class folders: images right in them will do.
SetFolders find_set_folders(const SourceFolder& source, Context& ctx, bool labelled = true);

enum class EntryKind { folder, file };

struct ListedEntry {
  std::string name;
  EntryKind kind;
};

/// What lies right in a local folder, by name; links are followed as torchvision does. A broken link counts as a file.
std::vector<ListedEntry> list_folder(const std::string& folder);

/// Adds a file to others that are sorted by name, or gives the one of that name this state.
void add_known_file(const std::string& name, const FileState& state, std::vector<io::ObjectInfo>& files);

/// The files right in a folder of a source, by name, those that it is known to have too; none where it is not there. Of
/// a store with sizes and versions. Files that macOS hides are left out.
std::vector<io::ObjectInfo> list_files(const SourceFolder& source, const std::string& folder);

/// True for folders that are never data: hidden ones, and those that systems make: __MACOSX (archives of macOS), @eaDir
/// (Synology), lost+found (ext4).
bool is_system_folder(std::string_view name);

/// Warns of a system folder that is skipped; `torchvision` says what it would do instead.
void warn_of_system_folder(Context& ctx, const std::string& path, std::string_view torchvision);

/// Files that are no part of any sample, counted by kind: "hidden", "without extension", or the extension in lower
/// case, such as ".gif".
using IgnoredFiles = std::map<std::string, std::uint64_t>;
/// Counts a file, unless it is one of shardkit's own.
void count_ignored(IgnoredFiles& ignored, std::string_view name);
/// Takes that back.
void uncount_ignored(IgnoredFiles& ignored, std::string_view name);
/// The start of the names that macOS gives to its notes on files: "._photo.jpg" is no photo.
inline constexpr std::string_view kAppleDouble = "._";

/// The class folders right in `folder` of a source, by name. Adds files there to `ignored`; warns of system folders.
/// Throws what listing throws, and Error{unsupported} for names in a store that cannot be files.
std::vector<std::string> class_folders(const SourceFolder& source, const std::string& folder, Context& ctx,
                                       IgnoredFiles& ignored);

}  // namespace shardkit::catalog
