#include "dataset/cat/key_search.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <tuple>

#include "sync/task_group.hpp"

namespace shardkit::dataset {
namespace {

class Search {
 public:
  Search(const catalog::ShardSet& set, const std::string& key, Context& ctx)
      : set_(set), key_(key), ctx_(ctx), lister_(set, ctx), first_(set.shards.size()), nearest_(key) {}

  KeySearch run(unsigned threads) {
    sync::TaskGroup group(ctx_.stop_token());
    for (std::size_t i = 0; i < std::min<std::size_t>(threads, set_.shards.size()); ++i) {
      group.spawn([this](const std::stop_token& stop) { work(stop); });
    }
    group.wait();
    ctx_.throw_if_stopped();
    return {first_, std::move(sample_), nearest_.key()};
  }

 private:
  /// Shards are taken in their order, so all before the first that has the key were looked through.
  void work(const std::stop_token& stop) {
    NearestKey nearest(key_);
    for (std::size_t at = next_++; at < first_ && !stop.stop_requested(); at = next_++) {
      const catalog::ShardFile& shard = set_.shards[at];
      ListingVisitor visitor;
      visitor.sample = [&](ListedSample&& sample) {
        if (sample.key == key_) {
          found(at, std::move(sample));
          return false;
        }
        nearest.consider(sample.key);
        return at < first_;
      };
      visitor.finding = warn_of_damage(shard, ctx_);
      lister_.list(shard, visitor);
      ++ctx_.progress().items;
    }
    const std::scoped_lock lock(mutex_);
    nearest_.merge(nearest);
  }

  void found(std::size_t at, ListedSample&& sample) {
    const std::scoped_lock lock(mutex_);
    if (at >= first_) return;
    first_ = at;
    sample_ = std::move(sample);
  }

  const catalog::ShardSet& set_;
  const std::string& key_;
  Context& ctx_;
  const SampleLister lister_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> first_;
  std::mutex mutex_;
  std::optional<ListedSample> sample_;
  NearestKey nearest_;
};

}  // namespace

void NearestKey::consider(const std::string& key) {
  if (key.size() > wanted_.size() && key.ends_with(wanted_) && key[key.size() - wanted_.size() - 1] == '/') {
    return take({}, key);
  }
  const Distance found = distance(key, wanted_);
  if (found.bytes <= std::max<std::size_t>(2, wanted_.size() / 3)) take(found, key);
}

/// What of the longer one lies between a common start and a common end.
NearestKey::Distance NearestKey::distance(const std::string& a, const std::string& b) {
  const std::size_t shorter = std::min(a.size(), b.size());
  const std::size_t longer = std::max(a.size(), b.size());
  std::size_t start = 0;
  while (start < shorter && a[start] == b[start]) ++start;
  std::size_t end = 0;
  while (end < shorter - start && a[a.size() - 1 - end] == b[b.size() - 1 - end]) ++end;
  return {longer - start - end, longer - start};
}

void NearestKey::merge(const NearestKey& other) {
  if (!other.key_.empty()) take(other.distance_, other.key_);
}

void NearestKey::take(const Distance& distance, const std::string& key) {
  if (!key_.empty() && std::tie(distance_, key_) <= std::tie(distance, key)) return;
  distance_ = distance;
  key_ = key;
}

KeySearch find_key(const catalog::ShardSet& set, const std::string& key, unsigned threads, Context& ctx) {
  std::uint64_t bytes = 0;
  for (const catalog::ShardFile& shard : set.shards) bytes += shard.bytes;
  ctx.progress().start("search", set.shards.size(), bytes);
  return Search(set, key, ctx).run(threads);
}

}  // namespace shardkit::dataset
