#include "io/object_store.hpp"

namespace shardkit::io {

Evidence compare(const ObjectInfo& found, const ObjectProof& proof) {
  if (found.size != proof.size) return Evidence::other;
  if (proof.checksum && found.checksum && found.checksum->kind == proof.checksum->kind)
    return found.checksum == proof.checksum ? Evidence::same : Evidence::other;
  if (proof.version.empty() || found.version.starts_with("W/")) return Evidence::none;
  return found.version == proof.version ? Evidence::same : Evidence::other;
}

}  // namespace shardkit::io
