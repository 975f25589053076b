#include "staging/peers.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include "core/error.hpp"
#include "core/hash.hpp"

namespace shardkit::staging {

Peers::Peers(std::vector<std::unique_ptr<io::ObjectSource>> peers, Context& context)
    : context_(context), seed_(std::random_device{}()) {
  for (auto& peer : peers) peers_.push_back(std::make_unique<Peer>(std::move(peer)));
}

io::Fetched Peers::fetch(io::ObjectSource& source, const StageFile& file, ByteRange range, const BodyWriter& write,
                         const std::stop_token& stop) {
  const io::ObjectInfo& object = file.object;
  ByteRange left = range;
  if (!peers_.empty() && (file.hash || file.indexed) && !is_requested_again(object.name, left)) {
    const std::uint64_t first = seed_ + xxh3_64(as_bytes(object.name));
    for (std::size_t i = 0; i < peers_.size() && !left.empty(); ++i) {
      Peer& peer = *peers_[(first + i) % peers_.size()];
      if (!peer.is_dropped) left.begin += take(peer, object, left, write, stop);
    }
    if (left.empty() && !range.empty()) return io::Fetched::whole;
  }
  return source.fetch(object, left.begin, left.size(), write, stop);
}

/// The bytes that it passed on, from the first one on.
std::uint64_t Peers::take(Peer& peer, const io::ObjectInfo& object, ByteRange range, const BodyWriter& write,
                          const std::stop_token& stop) {
  std::uint64_t taken = 0;
  bool is_ours = false;  // the error
  const auto pass = [&](Bytes bytes) {
    is_ours = true;
    write(bytes);
    is_ours = false;
    taken += bytes.size();
  };
  peer.was_asked = true;
  try {
    // Of any version: the copy has another date and ETag than the source.
    const io::ObjectInfo copy{object.name, object.size, {}};
    if (peer.source->fetch(copy, range.begin, range.size(), pass, stop) == io::Fetched::no_ranges)
      drop(peer, "it sends files only as a whole");
  } catch (const Error& error) {
    if (is_ours || error.code() == ErrorCode::cancelled) throw;
    if (error.code() != ErrorCode::not_found) drop(peer, error.what());
  }
  if (taken > 0) note(peer, object.name, {range.begin, range.begin + taken});
  return taken;
}

/// Then the bytes were wrong: the peer that sent them is dropped.
bool Peers::is_requested_again(const std::string& name, ByteRange range) {
  const std::scoped_lock lock(mutex_);
  const auto found = delivered_.find(name);
  if (found == delivered_.end()) return false;
  RangeSet remaining = found->second.ranges;
  remaining.remove(range);
  if (remaining.total() == found->second.ranges.total()) return false;
  drop(*found->second.from, fmt::format("it sent wrong bytes of '{}'", name));
  return true;
}

void Peers::note(Peer& peer, const std::string& name, ByteRange range) {
  peer.was_useful = true;
  bytes_ += range.size();
  const std::scoped_lock lock(mutex_);
  Delivered& delivered = delivered_[name];
  delivered.from = &peer;
  delivered.ranges.add(range);
}

void Peers::drop(Peer& peer, const std::string& reason) {
  if (peer.is_dropped.exchange(true)) return;
  context_.warn("peer_dropped", "--peer {} is no longer used: {}", peer.source->location(), reason);
}

void Peers::warn_of_useless() const {
  for (const auto& peer : peers_) {
    if (peer->is_dropped || !peer->was_asked || peer->was_useful) continue;
    context_.warn("peer_useless", "--peer {} has none of the files: give the address of the folder with manifest.json",
                  peer->source->location());
  }
}

}  // namespace shardkit::staging
