#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/bucket/object_upload.hpp"
#include "dataset/bucket/prefix_claim.hpp"
#include "io/output_files.hpp"

namespace shardkit::dataset {

/// How many bytes of shards are in memory while they are sent.
struct StoreMemory {
  std::uint64_t part_bytes = 16ULL << 20U;  ///< of a larger file; more for one of over kMostParts
  unsigned sent_parts = 8;                  ///< full ones, before wait_for_memory() waits
};

/// The objects below a prefix of a bucket as output files. Paths are their addresses.
///
/// A large file, such as a shard, is sent in parts while it is written, by the threads that write it; if it is not
/// published, its upload stays open, and a later process sends only the parts that are missing. Another file is kept in
/// the system's temporary folder until it is published as one object. Whether an object has its bytes is proved by its
/// size and checksum. rename() of a large file, a manifest or a sample index, and rename_new(), replace no other bytes:
/// Error{conflict}, or false; those of a claim that may replace them are replaced, and files that were given up.
///
/// Objects are listed by the first call that needs it, and after refresh(). Throws the errors of the store, and
/// Error{usage} for keys that are too long.
class StoreFiles final : public io::OutputFiles {
 public:
  /// `context` outlives it.
  StoreFiles(std::shared_ptr<io::ObjectStore> store, Context& context, StoreMemory memory = {});
  ~StoreFiles() override;

  /// The address of the prefix.
  const std::string& location() const { return store_->location(); }

  bool is_local() const override { return false; }
  io::Unpublished create_for(const std::string& path) override;
  /// A bucket has no folders; finds out whether objects can be written, and which checksums the store keeps of them.
  void create_directories(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  bool rename_new(const std::string& from, const std::string& to) override;
  void sync_directory(const std::string& /*path*/) override {}
  void remove(const std::string& path) override;
  void give_up(const std::string& path) override;
  std::optional<std::uint64_t> size_of(const std::string& path) override;
  bool exists(const std::string& path) override;
  std::unique_ptr<ByteSource> open(const std::string& path) override;
  std::vector<std::string> names_in(const std::string& folder) override;
  void claim(const std::string& folder, const std::string& writes, bool may_replace) override;
  void require_claims() override;
  void refresh() override;
  void wait_for_memory(const std::stop_token& stop) override;

 private:
  class StoreFile;
  class FullPart;

  std::string name_of(std::string_view path) const;
  Uploads& uploads();
  std::map<std::string, io::ObjectInfo>& objects();  ///< with the lock held
  std::optional<io::ObjectInfo> find(const std::string& name);
  StoreFile* unpublished(const std::string& path);
  bool forget(const std::string& path);
  bool yields(const std::string& name, bool is_large);
  bool publish(StoreFile& file, const std::string& name, bool may_replace);
  bool put(StoreFile& file, const std::string& name, bool may_replace);
  bool finish(ObjectUpload& upload, const std::string& name);
  std::unique_ptr<std::byte[]> take_memory(std::uint64_t bytes);
  void give_memory(std::uint64_t bytes, std::unique_ptr<std::byte[]> memory);

  const std::shared_ptr<io::ObjectStore> store_;
  Context& context_;
  const std::stop_token stop_;
  const StoreMemory memory_;
  std::mutex uploads_mutex_;                                    ///< guards the next two
  std::unique_ptr<Uploads> uploads_;                            ///< after the first file or folder
  std::map<std::string, std::unique_ptr<PrefixClaim>> claims_;  ///< by folder
  std::mutex mutex_;                                            ///< guards the next five
  bool may_replace_indexes_ = false;
  std::set<std::string> given_up_;                                ///< names of damaged objects
  std::uint64_t created_ = 0;                                     ///< files so far: their paths differ by it
  std::map<std::string, StoreFile*> unpublished_;                 ///< by path; their writers own them
  std::optional<std::map<std::string, io::ObjectInfo>> objects_;  ///< by name; after the listing
  std::mutex sent_mutex_;                                         ///< guards the next two
  unsigned full_parts_ = 0;                                       ///< being sent
  std::vector<std::unique_ptr<std::byte[]>> spare_parts_;         ///< memory for more of them
  std::condition_variable_any part_sent_;
};

}  // namespace shardkit::dataset
