#include "bench/input/sample_names.hpp"

#include <array>

#include "formats/tar_header.hpp"
#include "io/file.hpp"

namespace shardkit {
namespace {

std::string member_name(const std::string& shard, std::uint64_t content_offset) {
  std::array<std::byte, kTarBlock> block{};
  if (content_offset < kTarBlock) return shard;
  if (File::open_read(shard).read_at(content_offset - kTarBlock, block) < kTarBlock) return shard;
  TarHeader header;
  if (read_tar_header(block, header) != TarHeaderState::good) return shard;
  const std::string folder = header.prefix.empty() ? "" : std::string(header.prefix) + "/";
  return shard + "/" + folder + std::string(header.name);
}

}  // namespace

std::vector<std::string> sample_names(const InputSet& input, std::span<const SampleRef> samples) {
  std::vector<std::string> names;
  for (const SampleRef& sample : samples) {
    const InputFile& file = input.files[sample.file];
    names.push_back(file.is_shard ? member_name(file.path, sample.image_offset) : file.path);
  }
  return names;
}

}  // namespace shardkit
