#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/bytes.hpp"
#include "core/hash.hpp"

namespace shardkit::io {

/// A file of a folder, or an object below a prefix, as it was when listed or looked up.
struct ObjectInfo {
  std::string name;  ///< relative to the source, folders separated by '/'
  std::uint64_t size = 0;
  std::string version;  ///< changes with the bytes as far as the source can tell: an ETag, or size and mtime of a file
  std::optional<Checksum> checksum = {};  ///< that the source knows of this version
};

/// Outcome of a request for bytes.
enum class Fetched {
  whole,      ///< all requested bytes were received
  no_ranges,  ///< the source sends objects only as a whole, and nothing was read: use fetch_whole()
  changed,    ///< the object has changed, became shorter or was deleted; bytes received so far may be of either version
};

/// A source of bytes. Thread-safe.
class ObjectSource {
 public:
  virtual ~ObjectSource() = default;

  /// The complete address for messages and records, without secrets: an absolute path, "s3://bucket/folder".
  virtual const std::string& location() const = 0;

  /// The complete address of one object for messages, without secrets.
  virtual std::string address_of(const std::string& name) const;

  /// Everything below `folder` ("" for the source itself), by name. Names are relative to the source. Throws
  /// Error{not_found, denied, io}; Error{conflict} for a folder link that leads into itself, Error{unsupported} for
  /// special files such as a pipe.
  virtual std::vector<ObjectInfo> list(const std::string& folder = {}) = 0;

  /// Names, relative to the source, of the direct contents of `folder` ("" for the source itself), in any order; those
  /// of folders end with '/'. One listing, without requests for single objects. Empty if there is no such folder, or
  /// the source cannot list.
  virtual std::vector<std::string> names_in(const std::string& folder) = 0;

  /// One object now; empty if it does not exist, or is a folder. Throws Error{unsupported} for anything else, such as a
  /// pipe.
  virtual std::optional<ObjectInfo> find(const std::string& name) = 0;

  /// From now on, answers about this object are to come from its origin, not from a cache on the way.
  virtual void bypass_caches(const std::string& /*name*/) {}

  /// Whether find() may know checksums, which list() does not.
  virtual bool knows_checksums() const { return false; }

  /// Passes the bytes [offset, offset + length) of exactly that version to `write`, in order and each once. The range
  /// is inside object.size; an empty version matches any. Throws the errors of the source and `write`; Error{cancelled}
  /// on a stop.
  virtual Fetched fetch(const ObjectInfo& object, std::uint64_t offset, std::uint64_t length, const BodyWriter& write,
                        const std::stop_token& stop) = 0;

  /// All bytes of that version in one stream, from any source. `start` is called for each attempt, also if an earlier
  /// one had delivered bytes, and returns the receiver of all bytes.
  virtual Fetched fetch_whole(const ObjectInfo& object, const std::function<BodyWriter()>& start,
                              const std::stop_token& stop) = 0;
};

/// Whether the source gives another version with each answer about an object of this size: then a version shows
/// nothing. Throws the errors of the source.
bool is_version_random(ObjectSource& source, const ObjectInfo& object);

/// An object as bytes at offsets, always of the same version. Small adjacent reads use a read-ahead block of 64 KiB at
/// first and of 8 MiB at most; large reads elsewhere request only their bytes. If the source sends objects only as a
/// whole, small ones are kept in memory. Thread-safe.
///
/// Reading throws Error{io} if the object has changed, Error{unsupported} for reads in a large object that the source
/// sends only as a whole, Error{cancelled} on a stop, and the errors of the source.
class ObjectReader final : public ByteSource {
 public:
  static constexpr std::uint64_t kLargestWhole = 64U << 20U;

  ObjectReader(std::shared_ptr<ObjectSource> source, ObjectInfo object, std::stop_token stop);

  std::uint64_t size() const override { return object_.size; }
  std::size_t read_at(std::uint64_t offset, MutableBytes buffer) override;
  /// One request for all of it, except for small adjacent pieces.
  std::uint64_t stream(std::uint64_t offset, std::uint64_t length, const BodyWriter& write) override;

 private:
  bool goes_on(std::uint64_t offset) const;
  bool follows(std::uint64_t offset, std::uint64_t length);
  std::size_t copy(std::uint64_t offset, MutableBytes buffer) const;
  void load(std::uint64_t offset);
  void load_whole();
  Fetched fetch(std::uint64_t offset, MutableBytes buffer);
  Fetched fetch(std::uint64_t offset, std::uint64_t length, const BodyWriter& write);
  ObjectInfo pinned() const;
  bool forget_version();
  Fetched stream_whole(std::uint64_t offset, std::uint64_t length, const BodyWriter& write);

  const std::shared_ptr<ObjectSource> source_;
  const ObjectInfo object_;
  const std::stop_token stop_;
  std::mutex mutex_;
  std::atomic<bool> has_steady_version_{true};  ///< the source gives the same version with each answer
  std::uint64_t begin_ = 0;                     ///< of the block in the object
  std::vector<std::byte> block_;
  std::uint64_t ahead_ = 0;  ///< size of the next block
  std::uint64_t last_ = 0;   ///< where the last request ended
};

/// Fills `out`, which has the object's size, with all bytes of exactly that version. Never Fetched::no_ranges.
Fetched fetch_bytes(ObjectSource& source, const ObjectInfo& object, MutableBytes out, const std::stop_token& stop);

/// A small object as text, of exactly that version. Throws Error{corrupt} if it is larger than `limit`, Error{io} if it
/// has changed.
std::string fetch_text(ObjectSource& source, const ObjectInfo& object, std::uint64_t limit,
                       const std::stop_token& stop);

/// A local folder as source. Throws Error{not_found} if it does not exist, Error{usage} for a file.
std::unique_ptr<ObjectSource> open_object_source(const std::string& location);

}  // namespace shardkit::io
