#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/context.hpp"
#include "io/object_source.hpp"
#include "staging/file_copy.hpp"

namespace shardkit::staging {

/// A source whose bytes come from copies on other nodes first, such as node caches behind web servers. Names, sizes and
/// versions are those of the source. Only files that the caller compares with checksums of the source come from peers.
///
/// Each file is asked of the peers in another order, so that they share the work. A peer that lacks it is skipped. One
/// that fails, is too slow, or whose bytes are requested a second time because they were wrong, is dropped with a
/// warning. What peers do not deliver comes from the source, from the byte at which they stopped. Thread-safe.
class PeerSource final : public io::ObjectSource {
 public:
  /// Referenced objects outlive it.
  PeerSource(io::ObjectSource& source, std::vector<std::unique_ptr<io::ObjectSource>> peers, Context& ctx);

  /// Before the first fetch: the wanted files. Those with a checksum of the source may come from peers.
  void offer(const std::vector<StageFile>& files);

  const std::string& location() const override { return source_.location(); }
  std::string address_of(const std::string& name) const override { return source_.address_of(name); }
  std::vector<io::ObjectInfo> list(const std::string& folder) override { return source_.list(folder); }
  std::vector<std::string> names_in(const std::string& folder) override { return source_.names_in(folder); }
  std::optional<io::ObjectInfo> find(const std::string& name) override { return source_.find(name); }
  void bypass_caches(const std::string& name) override { source_.bypass_caches(name); }
  bool knows_checksums() const override { return source_.knows_checksums(); }
  io::Fetched fetch(const io::ObjectInfo& object, std::uint64_t offset, std::uint64_t length, const BodyWriter& write,
                    const std::stop_token& stop) override;
  io::Fetched fetch_whole(const io::ObjectInfo& object, const std::function<BodyWriter()>& start,
                          const std::stop_token& stop) override {
    return source_.fetch_whole(object, start, stop);
  }

  /// Bytes that came from peers.
  std::uint64_t bytes() const { return bytes_; }
  /// Warns of peers that were asked and had nothing: their addresses may be wrong.
  void warn_of_useless() const;

 private:
  struct Peer {
    std::unique_ptr<io::ObjectSource> source;
    std::atomic<bool> is_dropped = false;
    std::atomic<bool> was_asked = false;
    std::atomic<bool> was_useful = false;
  };
  struct Delivered {
    Peer* from = nullptr;
    RangeSet ranges;
  };

  std::uint64_t take(Peer& peer, const io::ObjectInfo& object, ByteRange range, const BodyWriter& write,
                     const std::stop_token& stop);
  bool is_requested_again(const std::string& name, ByteRange range);
  void note(Peer& peer, const std::string& name, ByteRange range);
  void drop(Peer& peer, const std::string& reason);

  io::ObjectSource& source_;
  std::vector<std::unique_ptr<Peer>> peers_;
  Context& ctx_;
  const std::uint64_t seed_;  ///< of this process, so that nodes do not all ask the same peer first
  std::unordered_set<std::string> compared_;
  std::atomic<std::uint64_t> bytes_ = 0;
  std::mutex mutex_;
  std::map<std::string, Delivered> delivered_;
};

}  // namespace shardkit::staging
