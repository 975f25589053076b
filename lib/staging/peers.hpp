#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "core/context.hpp"
#include "io/object_source.hpp"
#include "staging/file_copy.hpp"

namespace shardkit::staging {

/// Copies of a source on other nodes, such as node caches behind web servers. Names, sizes and versions are those of
/// the source. Only files that the caller compares with checksums of the source come from peers.
///
/// Each file is asked of the peers in another order, so that they share the work. A peer that lacks it is skipped. One
/// that fails, is too slow, or whose bytes are requested a second time because they were wrong, is dropped with a
/// warning. What peers do not deliver comes from the source, from the byte at which they stopped. Thread-safe.
class Peers {
 public:
  /// Without any, everything comes from the source. `context` outlives this object.
  Peers(std::vector<std::unique_ptr<io::ObjectSource>> peers, Context& context);

  /// Like ObjectSource::fetch() of `source`.
  io::Fetched fetch(io::ObjectSource& source, const StageFile& file, ByteRange range, const BodyWriter& write,
                    const std::stop_token& stop);

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

  std::vector<std::unique_ptr<Peer>> peers_;
  Context& context_;
  const std::uint64_t seed_;  ///< of this process, so that nodes do not all ask the same peer first
  std::atomic<std::uint64_t> bytes_ = 0;
  std::mutex mutex_;
  std::map<std::string, Delivered> delivered_;
};

}  // namespace shardkit::staging
