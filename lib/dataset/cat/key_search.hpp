#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "core/context.hpp"
#include "dataset/samples/sample_lister.hpp"

namespace shardkit::dataset {

/// The key most like a wanted one: what its writer may have meant. Slips are looked for in one place of the key, which
/// costs no more than comparing; a key that only lacks its folders is the nearest of all. Of slips of one length the
/// later one in the key is the likelier.
class NearestKey {
 public:
  explicit NearestKey(std::string wanted) : wanted_(std::move(wanted)) {}

  void consider(const std::string& key);
  /// Takes over the other's when it is nearer; of equally near ones the first by name, so that no thread decides.
  void merge(const NearestKey& other);
  /// Empty when none is near.
  const std::string& key() const { return key_; }

 private:
  struct Distance {
    std::size_t bytes = 0;     ///< that differ
    std::size_t from_end = 0;  ///< of the key, where they start
    auto operator<=>(const Distance&) const = default;
  };
  static Distance distance(const std::string& a, const std::string& b);
  void take(const Distance& distance, const std::string& key);

  std::string wanted_;
  std::string key_;
  Distance distance_;
};

struct KeySearch {
  std::size_t shard = 0;               ///< within the set
  std::optional<ListedSample> sample;  ///< empty when there is none
  std::string nearest;                 ///< set without a sample; may be empty
};

/// The first sample of that key in the order of shards, looked for in `threads` shards at a time.
KeySearch find_key(const catalog::ShardSet& set, const std::string& key, unsigned threads, Context& ctx);

}  // namespace shardkit::dataset
