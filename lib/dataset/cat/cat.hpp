#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "catalog/inputs.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"

namespace shardkit::dataset {

struct CatOptions {
  std::vector<std::string> shards;
  std::string name;
  std::optional<std::uint64_t> threads = {};
  catalog::StoreAccess access = {};

  void describe(FieldVisitor& v);
};

/// Where the bytes came from.
struct CatResult {
  std::string shard;
  std::string name;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> label;

  void describe(FieldVisitor& v);
};

/// Writes one member's content to Context::output(): `shardctl cat`. `name` is a member's name as `ls` shows it, or its
/// key if the sample has one member that is not a label. Reads indexes that fit, otherwise headers until the sample is
/// found; of several samples with one key, takes the first. Content is compared with the index's checksum: a difference
/// is known, and thrown, after the bytes are written.
///
/// Throws Error{usage} without an output (--json - leaves no room for bytes) and for a key that means several members,
/// Error{not_found} with the closest key, Error{corrupt} for content that is truncated or changed, Error{unsupported}
/// for a sparse member.
CatResult cat(const CatOptions& options, Context& ctx);

/// Finds the key that is most similar to a wanted one. Looks for typing errors in one place of the key, which costs no
/// more than comparing; a key that only lacks its folders is the closest of all. Of errors of equal length, prefers the
/// later one in the key.
class NearestKey {
 public:
  explicit NearestKey(std::string wanted) : wanted_(std::move(wanted)) {}

  void consider(const std::string& key);
  /// Takes the other's key if it is closer; of equally close ones the first by name, so that the result does not depend
  /// on threads.
  void merge(const NearestKey& other);
  /// Empty if no key is close.
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

}  // namespace shardkit::dataset
