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
/// key alone; then the sample has one member that is no label, and that one is meant. Indexes are read where they fit,
/// else headers until the sample is found; of several samples with one key the first counts. Content is held against
/// the index's checksum: a wrong one is known, and thrown, after the bytes are out.
///
/// Throws Error{usage} without an output (--json - leaves no room for bytes) and for a key that means several members,
/// Error{not_found} with the nearest key, Error{corrupt} for content that is cut or changed, Error{unsupported} for a
/// sparse member.
CatResult cat(const CatOptions& options, Context& ctx);

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

}  // namespace shardkit::dataset
