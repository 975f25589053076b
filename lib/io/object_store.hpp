#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/bytes.hpp"
#include "core/hash.hpp"
#include "io/object_source.hpp"
#include "system/clock.hpp"

namespace shardkit::io {

/// How the bytes of a written object are recognized. An empty member proves nothing.
struct ObjectProof {
  std::uint64_t size = 0;
  std::optional<Checksum> checksum = {};  ///< of all bytes
  std::string version = {};               ///< as the store makes it from MD5s: an ETag
};

/// An upload in parts that was begun and neither finished nor given up.
struct OpenUpload {
  std::string name;
  std::string id;
  std::string started_at = {};  ///< ISO 8601; empty: not known
};

/// A part that a store has received.
struct UploadPart {
  std::uint64_t number = 0;  ///< from 1
  std::uint64_t size = 0;
  std::string version = {};               ///< its ETag
  std::optional<Checksum> checksum = {};  ///< empty if the store keeps none
  std::string written_at = {};            ///< ISO 8601; only of parts()
};

/// Outcome of a write.
enum class Written {
  done,    ///< the object has these bytes, as its size and checksum show
  exists,  ///< there is an object of that name with other bytes, or with a proof that cannot be compared
  lost,    ///< the upload no longer exists, or another write of the object ran at the same time: begin another upload
};

/// What an object shows about the bytes that were to be written.
enum class Evidence { other, none, same };
Evidence compare(const ObjectInfo& found, const ObjectProof& proof);

/// A source whose objects can be written. Thread-safe. Every call retries temporary failures and throws Error{denied,
/// not_found, network, unsupported}, Error{corrupt} if the store reports other bytes than were sent, Error{cancelled}.
class ObjectStore : public virtual ObjectSource {
 public:
  /// Writes a whole object. Sends `proof.checksum` along, which the store compares with what it received. Does not
  /// replace an object unless `may_replace`, like finish(). Never Written::lost.
  virtual Written put(const std::string& name, Bytes bytes, const ObjectProof& proof, bool may_replace,
                      const std::stop_token& stop) = 0;

  /// Begins an upload whose parts carry checksums of that kind, and returns its id.
  virtual std::string begin(const std::string& name, ChecksumKind kind, const std::stop_token& stop) = 0;
  /// Sends a part, and returns it as the answer describes it; one of the same number is replaced. Empty if the upload
  /// no longer exists.
  virtual std::optional<UploadPart> send(const OpenUpload& upload, std::uint64_t number, Bytes bytes,
                                         const Checksum& checksum, const std::stop_token& stop) = 0;
  /// The parts received so far, by number; empty if the upload no longer exists.
  virtual std::vector<UploadPart> parts(const OpenUpload& upload, const std::stop_token& stop) = 0;
  /// Makes the object of `parts`. Afterwards the upload no longer exists, unless this throws. Looks whether there is
  /// another object before, so that it is only replaced by a store that ignores conditions, and if both are finished at
  /// the same moment.
  virtual Written finish(const OpenUpload& upload, const std::vector<UploadPart>& parts, const ObjectProof& proof,
                         const std::stop_token& stop) = 0;
  /// Gives an upload up; one that no longer exists is not an error.
  virtual void abandon(const OpenUpload& upload, const std::stop_token& stop) = 0;
  /// All open uploads of the object, or with an empty name of all objects below this store's folder.
  virtual std::vector<OpenUpload> uploads(const std::string& name, const std::stop_token& stop) = 0;

  /// Whether the store refuses to replace an object that must be new, written whole or in parts. Tries it with the
  /// object `name`, which exists and has `bytes`.
  virtual bool keeps_objects(const std::string& name, Bytes bytes, const std::stop_token& stop) = 0;
  /// The time since an object was written, by the store's clock; empty if it does not exist, or the store does not say.
  virtual std::optional<system::Seconds> age_of(const std::string& name, const std::stop_token& stop) = 0;

  /// An object that does not exist is not an error.
  virtual void remove(const std::string& name, const std::stop_token& stop) = 0;
};

}  // namespace shardkit::io
