#include "formats/shard_md5.hpp"

#include <fmt/format.h>

#include "formats/tsv.hpp"

namespace shardkit {
namespace {

constexpr std::size_t kDigits = 32;

/// All that stands before the MD5.
std::string binding(const ManifestShard& shard) {
  std::string line = "shardkit-md5\t1\t";
  append_escaped(line, shard.name);
  return line + fmt::format("\t{}\t{}\t", shard.bytes, to_hex(shard.xxh3_128));
}

}  // namespace

std::string shard_md5_path(std::string_view shard) { return fmt::format("{}/{}.md5", kStateFolder, shard); }

std::string write_shard_md5(const ManifestShard& shard, std::string_view md5) {
  return fmt::format("{}{}\n", binding(shard), md5);
}

std::optional<std::string> read_shard_md5(std::string_view text, const ManifestShard& shard) {
  const std::string start = binding(shard);
  if (text.size() != start.size() + kDigits + 1 || !text.starts_with(start) || !text.ends_with('\n'))
    return std::nullopt;
  const std::string md5(text.substr(start.size(), kDigits));
  if (md5.find_first_not_of("0123456789abcdef") != std::string::npos) return std::nullopt;
  return md5;
}

}  // namespace shardkit
