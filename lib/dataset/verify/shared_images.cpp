#include "dataset/verify/shared_images.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.hpp"
#include "core/units.hpp"
#include "dataset/checks/image_fault.hpp"
#include "formats/shard_index.hpp"
#include "io/publish.hpp"

namespace shardkit::dataset {
namespace {

using Hashes = std::vector<std::uint64_t>;  ///< ascending, each once

/// Of the images in a shard's index.
Hashes image_hashes(catalog::Inputs& inputs, const catalog::ShardFile& shard, const Context& context) {
  Hashes hashes;
  const std::string path = io::join_path(io::parent_folder(shard.path), formats::shard_index_path(shard.name));
  if (!inputs.exists(path)) return hashes;
  formats::ShardIndexVisitor visitor;
  visitor.sample = [&](formats::IndexSample&& sample) {
    context.throw_if_stopped();
    for (const formats::IndexMember& member : sample.members) {
      if (member.xxh3 && is_image_member(member.extension, {})) hashes.push_back(*member.xxh3);
    }
  };
  try {
    formats::read_shard_index(*inputs.open(path), path, visitor);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) throw;
    hashes.clear();  // the check of its set reports it
  }
  return hashes;
}

}  // namespace

std::optional<std::string> images_in_several_sets(const catalog::ShardSet& set, Context& context) {
  std::map<std::string, Hashes> sets;
  for (const catalog::ShardFile& shard : set.shards) {
    const Hashes hashes = image_hashes(*set.inputs, shard, context);
    Hashes& all = sets[io::parent_folder(shard.path)];
    all.insert(all.end(), hashes.begin(), hashes.end());
  }
  Hashes together;
  for (auto& [folder, hashes] : sets) {
    std::ranges::sort(hashes);
    const auto repeated = std::ranges::unique(hashes);
    hashes.erase(repeated.begin(), repeated.end());
    together.insert(together.end(), hashes.begin(), hashes.end());
  }
  std::ranges::sort(together);
  std::uint64_t shared = 0;
  for (auto hash = together.begin(); hash != together.end();) {
    const auto next = std::find_if(hash, together.end(), [&](std::uint64_t other) { return other != *hash; });
    shared += next - hash > 1 ? 1 : 0;
    hash = next;
  }
  if (shared == 0) return std::nullopt;
  std::vector<std::string> folders;
  for (const auto& [folder, hashes] : sets) folders.push_back(fmt::format("'{}'", folder));
  return fmt::format("{} in more than one of {}", format_count(shared, "image"), fmt::join(folders, ", "));
}

}  // namespace shardkit::dataset
