#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/bytes.hpp"

namespace shardkit::io {

/// A file of a folder, or an object below a prefix, as it was when it was looked at.
struct ObjectInfo {
  std::string name;  ///< relative to the source, folders parted by '/'
  std::uint64_t size = 0;
  std::string version;  ///< changes with the bytes as far as the source can tell: an ETag, or size and mtime of a file
};

/// What became of a request for bytes.
enum class Fetched {
  whole,      ///< all that was asked for came
  no_ranges,  ///< the source gives objects as a whole only, and nothing was read: use fetch_whole()
  changed,    ///< the object is another one by now, shorter or gone; bytes that came so far may be of either
};

/// Where bytes are fetched from. Thread-safe.
class ObjectSource {
 public:
  virtual ~ObjectSource() = default;

  /// The source in full, for messages and records, with no secret in it: an absolute path, "s3://bucket/folder".
  virtual const std::string& location() const = 0;

  /// One object in full, for messages, with no secret in it: what location() is to the whole.
  virtual std::string address_of(const std::string& name) const;

  /// Everything below the source, by name. Throws Error{not_found, denied, io}; Error{conflict} for a folder link that
  /// leads into itself, Error{unsupported} for what is no file, such as a pipe.
  virtual std::vector<ObjectInfo> list() = 0;

  /// Names, relative to the source, of what lies right below `folder` ("" for the source itself), in any order; folders
  /// may be among them. One listing, and nothing is asked of single objects. Empty when there is no such folder, and
  /// where the source cannot list.
  virtual std::vector<std::string> names_in(const std::string& folder) = 0;

  /// One object as it is now; empty when it is not there, or is a folder. Throws Error{unsupported} for what is
  /// neither, such as a pipe.
  virtual std::optional<ObjectInfo> find(const std::string& name) = 0;

  /// Hands the bytes [offset, offset + length) of that very version to `write`, in order and each once. The range lies
  /// within object.size; an empty version is any. Throws what the source and `write` throw; Error{cancelled} on a stop.
  virtual Fetched fetch(const ObjectInfo& object, std::uint64_t offset, std::uint64_t length, const BodyWriter& write,
                        const std::stop_token& stop) = 0;

  /// All bytes of that version in one stream, from any source. `start` is called for each attempt, also when an earlier
  /// one had delivered bytes, and returns what takes them from the first on.
  virtual Fetched fetch_whole(const ObjectInfo& object, const std::function<BodyWriter()>& start,
                              const std::stop_token& stop) = 0;
};

/// A small object as text, of that very version. Throws Error{corrupt} when it is larger than `limit`, Error{io} when
/// it has changed.
std::string fetch_text(ObjectSource& source, const ObjectInfo& object, std::uint64_t limit,
                       const std::stop_token& stop);

/// The source that a SRC operand names: a folder. Throws Error{not_found} when there is none, Error{usage} for a file,
/// Error{unsupported} for a URL (object stores are not readable yet).
std::unique_ptr<ObjectSource> open_object_source(const std::string& location);

}  // namespace shardkit::io
