#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/bytes.hpp"

namespace shardkit {

/// A file of a folder, or an object below a prefix, as it was when it was looked at.
struct ObjectInfo {
  std::string name;  ///< relative to the source, folders parted by '/'
  std::uint64_t size = 0;
  std::string version;  ///< changes with the bytes as far as the source can tell: an ETag, or size and mtime of a file
};

/// Where bytes are fetched from. Thread-safe.
class ObjectSource {
 public:
  virtual ~ObjectSource() = default;

  /// The source in full, for messages and records: an absolute path.
  virtual const std::string& location() const = 0;

  /// Everything below the source, by name. Throws Error{not_found, denied, io}; Error{conflict} for a folder link that
  /// leads into itself, Error{unsupported} for what is no file, such as a pipe.
  virtual std::vector<ObjectInfo> list() = 0;

  /// Names, relative to the source, of what lies right below `folder` ("" for the source itself), in any order; folders
  /// may be among them. One listing, and nothing is asked of single objects. Empty when there is no such folder, and
  /// where the source cannot list.
  virtual std::vector<std::string> names_in(const std::string& folder) = 0;

  /// One object as it is now; empty when it is not there.
  virtual std::optional<ObjectInfo> find(const std::string& name) = 0;

  /// Opens that very version for ranged reads. Throws Error{conflict} when the source holds another one by now.
  virtual std::unique_ptr<ByteSource> open(const ObjectInfo& object) = 0;
};

/// The source that a SRC operand names: a folder. Throws Error{not_found} when there is none, Error{usage} for a file,
/// Error{unsupported} for a URL (object stores are not readable yet).
std::unique_ptr<ObjectSource> open_object_source(const std::string& location);

}  // namespace shardkit
