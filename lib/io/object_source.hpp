#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
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

  /// Everything below `folder` ("" for the source itself), by name. Names are relative to the source. Throws
  /// Error{not_found, denied, io}; Error{conflict} for a folder link that leads into itself, Error{unsupported} for
  /// what is no file, such as a pipe.
  virtual std::vector<ObjectInfo> list(const std::string& folder = {}) = 0;

  /// Names, relative to the source, of what lies right below `folder` ("" for the source itself), in any order; those
  /// of folders end with '/'. One listing, and nothing is asked of single objects. Empty when there is no such folder,
  /// and where the source cannot list.
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

/// An object as bytes at offsets, always of the same version. Small reads that follow each other come from a block
/// that is read ahead, of 64 KiB at first and of 8 MiB at most; large reads elsewhere ask for their bytes only. Where
/// the source gives objects only as a whole, small ones are kept in memory. Thread-safe.
///
/// Reading throws Error{io} when the object has changed, Error{unsupported} for reads within a large object that the
/// source gives only as a whole, Error{cancelled} on a stop, and what the source throws.
class ObjectReader final : public ByteSource {
 public:
  static constexpr std::uint64_t kLargestWhole = 64U << 20U;

  ObjectReader(std::shared_ptr<ObjectSource> source, ObjectInfo object, std::stop_token stop);

  std::uint64_t size() const override { return object_.size; }
  std::size_t read_at(std::uint64_t offset, MutableBytes buffer) override;
  /// One request for all of it, but for small pieces that follow each other.
  std::uint64_t stream(std::uint64_t offset, std::uint64_t length, const BodyWriter& write) override;

 private:
  bool goes_on(std::uint64_t offset) const;
  bool follows(std::uint64_t offset, std::uint64_t length);
  std::size_t copy(std::uint64_t offset, MutableBytes buffer) const;
  void load(std::uint64_t offset);
  void load_whole();
  Fetched fetch(std::uint64_t offset, MutableBytes buffer);
  Fetched stream_whole(std::uint64_t offset, std::uint64_t length, const BodyWriter& write);

  const std::shared_ptr<ObjectSource> source_;
  const ObjectInfo object_;
  const std::stop_token stop_;
  std::mutex mutex_;
  std::uint64_t begin_ = 0;  ///< of the block in the object
  std::vector<std::byte> block_;
  std::uint64_t ahead_ = 0;  ///< size of the next block
  std::uint64_t last_ = 0;   ///< where the last request ended
};

/// Fills `out`, which has the object's size, with all bytes of that very version. Never Fetched::no_ranges.
Fetched fetch_bytes(ObjectSource& source, const ObjectInfo& object, MutableBytes out, const std::stop_token& stop);

/// A small object as text, of that very version. Throws Error{corrupt} when it is larger than `limit`, Error{io} when
/// it has changed.
std::string fetch_text(ObjectSource& source, const ObjectInfo& object, std::uint64_t limit,
                       const std::stop_token& stop);

/// The source that a local folder is. Throws Error{not_found} when there is none, Error{usage} for a file.
std::unique_ptr<ObjectSource> open_object_source(const std::string& location);

}  // namespace shardkit::io
