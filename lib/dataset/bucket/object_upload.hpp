#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "core/context.hpp"
#include "dataset/bucket/upload_records.hpp"
#include "io/store_checks.hpp"

/// Uploads that a process without a disk can continue, because their records are at the store until they have finished.
namespace shardkit::dataset {

/// For what a command cleans up when it fails or is stopped: calls `work` with a token that stops it after two seconds,
/// and ignores its errors.
void clean_up(const std::function<void(const std::stop_token& stop)>& work);

/// Tries which checksums the store keeps, and whether it may replace objects that must be new: then warns about it.
/// Removes what a killed command has left of that.
io::StoreChecks probe_store(io::ObjectStore& store, const StoreListing& objects, Context& context);

class ObjectUpload;

/// The uploads in parts of one command below the prefix of a store. Thread-safe.
class Uploads {
 public:
  /// `objects` were listed before. All outlive it.
  Uploads(io::ObjectStore& store, const io::StoreChecks& checks, const StoreListing& objects, Context& context);

  const io::StoreChecks& checks() const { return checks_; }

  /// Continues an upload of the same shape that an earlier command has left, and gives up its others; or begins one.
  std::unique_ptr<ObjectUpload> open(const std::string& name, std::uint64_t bytes, std::uint64_t part_bytes);
  /// Gives up all that earlier commands have left of an object, which is complete.
  void give_up_earlier(const std::string& name);

  /// Whether there were open uploads at the start, of this or other objects.
  bool has_open() const { return !open_.empty(); }
  /// The same for uploads without a record of objects that `is_complete` knows, as they are now: a request to begin one
  /// may reach the store after its command was killed and this one has listed what is open. Also for probes that were
  /// open at the start and are now.
  void give_up_late(const std::function<bool(const std::string& name)>& is_complete);

  /// The command is refused: from now on, uploads that end unfinished are given up, because nobody will continue them.
  void refuse() { is_refused_ = true; }

 private:
  friend class ObjectUpload;

  /// An upload that an earlier command has left; without a record its id is all that is known.
  struct Earlier {
    std::string record_name;
    PartsRecord record;
  };
  void list_open();
  std::vector<Earlier> earlier(const std::string& name) const;
  void give_up(const std::string& name, const Earlier& earlier);
  void forget(const std::string& record_name, const std::stop_token& stop);

  io::ObjectStore& store_;
  const io::StoreChecks checks_;
  Context& context_;
  std::multimap<std::string, io::ObjectInfo> records_;  ///< by the name of their object
  std::multimap<std::string, std::string> open_;        ///< ids by the name of their object
  std::atomic<bool> is_refused_ = false;
  std::atomic<bool> has_warned_ = false;
};

/// Writes a large object as blocks of a fixed size, the last of which may be shorter. Each block is in memory only
/// during its write(). An upload that does not finish stays open, with its record, for a later command. Thread-safe.
class ObjectUpload {
 public:
  /// `uploads` outlives it. `wanted` has no id yet.
  ObjectUpload(Uploads& uploads, std::string name, PartsRecord wanted);
  ~ObjectUpload();
  ObjectUpload(const ObjectUpload&) = delete;
  ObjectUpload& operator=(const ObjectUpload&) = delete;

  /// Writes block `index`, in any order. False if the store has it already: then nothing is sent.
  bool write(std::uint64_t index, Bytes block, const std::stop_token& stop);

  /// After all blocks, and their writes, have ended. Written::done also if another command wrote an object with these
  /// bytes; Written::lost: all of them have to be written again, by another upload. This one and its record are gone.
  io::Written finish(const std::stop_token& stop);

  void give_up(const std::stop_token& stop);

 private:
  void begin(PartsRecord record);
  bool resume(const Uploads::Earlier& earlier);
  std::vector<io::UploadPart> parts() const;
  io::ObjectProof proof() const;
  bool has(std::uint64_t number, const Checksum& checksum, std::uint64_t size);
  bool is_sent_well(const io::UploadPart& part, const Checksum& checksum) const;
  bool is_there(const std::stop_token& stop);

  Uploads& uploads_;
  io::ObjectStore& store_;
  const io::StoreChecks& checks_;
  io::OpenUpload upload_;
  std::string record_name_;
  bool is_open_ = true;
  std::mutex mutex_;
  std::map<std::uint64_t, io::UploadPart> known_;    ///< at the store when the upload was continued
  std::map<std::uint64_t, io::UploadPart> written_;  ///< by number
  bool is_lost_ = false;
};

}  // namespace shardkit::dataset
