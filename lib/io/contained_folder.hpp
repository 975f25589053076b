#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.hpp"

/// Folders below a folder under names that a stranger chose; FileSystem makes the files in them. No link is ever
/// followed on the way: each component is opened by itself from its parent's descriptor with O_NOFOLLOW, so that a link
/// planted below the folder leads nowhere, however it came there.
namespace shardkit::io {

/// Thread-safe.
class ContainedFolder {
 public:
  /// Opens the folder at `path`, which the user named and which may be a link itself.
  explicit ContainedFolder(std::string path) : path_(std::move(path)), root_(File::open_read(path_, O_DIRECTORY)) {}

  const std::string& path() const { return path_; }

  /// Opens the folder `relative` ("" is the folder itself, else "a/b" without "." and ".."). What is missing on the way
  /// is made with mode 0777 less umask when `make`, else the answer is empty. Throws Error{conflict} where a link or a
  /// file stands in the way.
  std::optional<File> folder(std::string_view relative, bool make) const;

  /// Removes the folder `relative`, which is not the folder itself, when it is empty; else, and when it is gone, does
  /// nothing. Throws as folder().
  void remove_if_empty(std::string_view relative) const;

  /// The folder itself.
  const File& root() const { return root_; }

 private:
  std::string path_;
  File root_;
};

/// What stands under one name of a folder; a link is itself.
enum class Standing { nothing, file, other };
Standing standing_at(const File& folder, const std::string& name);

/// Names of all that lies in `folder`, wherever that was moved since it was opened; none when it was removed meanwhile.
std::vector<std::string> names_in(const File& folder);

/// Opens a file of `folder` for reading, never through a link.
File open_below(const File& folder, const std::string& name);

}  // namespace shardkit::io
