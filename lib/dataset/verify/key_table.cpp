#include "dataset/verify/key_table.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "catalog/shard_scan.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"

namespace shardkit {
namespace {

class RepeatFinder final : public TarHandler {
 public:
  RepeatFinder(const ShardSet& set, const std::vector<std::uint64_t>& hashes, std::vector<ShardReport>& reports)
      : set_(set), reports_(reports) {
    for (const std::uint64_t hash : hashes) first_.emplace(hash, Place{});
  }

  void start(std::size_t shard) { shard_ = shard; }
  bool entry(const TarEntry& entry) override {
    if (const auto done = grouper_.add(entry)) note(*done);
    return false;
  }
  void finding(const TarFinding&) override {}
  void finish() {
    if (const auto last = grouper_.finish()) note(*last);
  }

 private:
  struct Place {
    bool seen = false;
    std::string key;
    std::size_t shard = 0;
    std::uint64_t offset = 0;
  };

  void note(const Sample& sample) {
    const auto found = first_.find(xxh3_64(as_bytes(sample.key)));
    if (found == first_.end()) return;
    Place& first = found->second;
    if (!std::exchange(first.seen, true)) {
      first = {true, sample.key, shard_, sample.offset};
    } else if (first.key == sample.key) {
      const bool here = first.shard == shard_;
      reports_[shard_].log.add(here ? ProblemCode::split_sample : ProblemCode::duplicate_key, sample.offset, sample.key,
                               fmt::format("first in '{}' at byte {}", set_.shards[first.shard].name, first.offset));
    }
  }

  const ShardSet& set_;
  std::vector<ShardReport>& reports_;
  std::unordered_map<std::uint64_t, Place> first_;
  SampleGrouper grouper_;
  std::size_t shard_ = 0;
};

}  // namespace

void KeyTable::add(const std::vector<std::uint64_t>& hashes) {
  const std::scoped_lock lock(mutex_);
  for (const std::uint64_t hash : hashes) buckets_[hash >> (64U - kBucketBits)].push_back(hash);
}

KeyTable::Repeated KeyTable::repeated(std::size_t limit) {
  Repeated result;
  for (std::vector<std::uint64_t>& hashes : buckets_) {
    std::sort(hashes.begin(), hashes.end());
    for (auto item = hashes.begin(); item != hashes.end();) {
      const auto next = std::find_if(item, hashes.end(), [&](std::uint64_t hash) { return hash != *item; });
      if (next - item > 1 && ++result.total <= limit) result.hashes.push_back(*item);
      item = next;
    }
  }
  return result;
}

void note_repeated_keys(const ShardSet& set, const std::vector<std::uint64_t>& hashes,
                        std::vector<ShardReport>& reports, Context& ctx) {
  RepeatFinder finder(set, hashes, reports);
  ctx.progress().start("look for repeated keys", set.shards.size());
  for (std::size_t i = 0; i < set.shards.size(); ++i) {
    finder.start(i);
    try {
      scan_shard(set.shards[i].path, finder, ctx);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled) throw;
    }
    finder.finish();
    ++ctx.progress().items;
  }
}

}  // namespace shardkit
