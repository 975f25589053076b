#include "bench/input/sample_listing.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include <fmt/format.h>

#include "catalog/image_folder.hpp"
#include "catalog/shard_faults.hpp"
#include "core/error.hpp"
#include "core/remedies.hpp"
#include "formats/sample_name.hpp"
#include "formats/shard_index.hpp"
#include "formats/tar_header.hpp"
#include "formats/tar_scanner.hpp"

namespace shardkit::bench {
namespace {

/// Adds a sample of input.files[file] with these members. Leaves out samples that the end of the shard truncates: they
/// cannot be read completely.
template <class Member>
void add_sample(const InputSet& input, std::uint32_t file, const std::vector<Member>& members,
                std::vector<SampleRef>& samples) {
  const std::uint64_t bytes = input.files[file].bytes;
  const auto cut = [&](const Member& member) { return member.offset > bytes || member.size > bytes - member.offset; };
  if (std::ranges::any_of(members, cut)) return;
  SampleRef ref;
  ref.file = file;
  ref.offset = members.front().offset;
  ref.bytes = members.back().offset + members.back().size - ref.offset;
  const auto image = std::ranges::find_if(
      members, [](const Member& member) { return catalog::is_image_name("." + member.extension); });
  if (image != members.end()) {
    ref.has_image = true;
    ref.image_offset = image->offset;
    ref.image_bytes = image->size;
  }
  samples.push_back(ref);
}

void list_indexed(const InputSet& input, std::uint32_t file, std::vector<SampleRef>& samples) {
  const std::string path = index_path(input.files[file]);
  formats::ShardIndexVisitor visitor;
  visitor.sample = [&](formats::IndexSample&& sample) { add_sample(input, file, sample.members, samples); };
  formats::read_shard_index(*open_file(input, path), path, visitor);
}

/// False if the deadline ended it.
bool list_scanned(const InputSet& input, std::uint32_t file, std::vector<SampleRef>& samples, Context& context,
                  const Deadline& deadline) {
  const std::string& path = input.files[file].path;
  const auto source = open_file(input, path);
  bool warned = false;
  formats::TarScanner scanner(*source, [&](const formats::TarFinding& finding) {
    if (!std::exchange(warned, true)) catalog::warn_of_damage(path, finding, context);
  });
  formats::SampleGrouper grouper;
  formats::TarEntry entry;
  while (scanner.next(entry)) {
    context.throw_if_stopped();
    if (const auto sample = grouper.add(entry)) add_sample(input, file, sample->members, samples);
    if (!samples.empty() && is_over(deadline)) return false;
  }
  if (const auto sample = grouper.finish()) add_sample(input, file, sample->members, samples);
  return true;
}

void list_plain(const InputFile& file, std::uint32_t index, std::vector<SampleRef>& samples) {
  const bool image = catalog::is_image_name(file_name(file.path));
  samples.push_back({index, 0, file.bytes, image, 0, image ? file.bytes : 0});
}

std::string member_name(const InputSet& input, const std::string& shard, std::uint64_t content_offset) {
  std::array<std::byte, formats::kTarBlock> block{};
  if (content_offset < formats::kTarBlock) return shard;
  if (open_file(input, shard)->read_at(content_offset - formats::kTarBlock, block) < block.size()) return shard;
  formats::TarHeader header;
  if (formats::read_tar_header(block, header) != formats::TarHeaderState::good) return shard;
  const std::string folder = header.prefix.empty() ? "" : std::string(header.prefix) + "/";
  return shard + "/" + folder + std::string(header.name);
}

bool is_plain_shard(const InputFile& file) { return file.is_shard && !is_compressed(file); }

}  // namespace

std::vector<std::uint32_t> choose_shards(const InputSet& input, std::size_t most, bool (*test)(const InputFile&)) {
  const auto shards = static_cast<std::size_t>(std::ranges::count_if(input.files, test));
  const std::size_t taken = std::min(shards, most);
  std::vector<std::uint32_t> chosen;
  std::size_t shard = 0;
  for (std::uint32_t i = 0; i < input.files.size(); ++i) {
    if (!test(input.files[i])) continue;
    if ((shard + 1) * taken / shards > shard * taken / shards) chosen.push_back(i);  // its share passes a whole number
    ++shard;
  }
  return chosen;
}

std::vector<SampleRef> list_samples(const InputSet& input, std::size_t most_shards, Context& context,
                                    const Deadline& deadline) {
  const std::vector<std::uint32_t> shards = choose_shards(input, most_shards, is_plain_shard);
  std::vector<std::vector<SampleRef>> of_shards(shards.size());
  std::atomic<bool> is_cut = false;
  const auto list = [&](std::size_t i) {
    if (input.files[shards[i]].samples) return list_indexed(input, shards[i], of_shards[i]);
    if (!list_scanned(input, shards[i], of_shards[i], context, deadline)) is_cut = true;
  };
  if (for_each_file(shards.size(), context, list, deadline) < shards.size()) is_cut = true;
  std::vector<SampleRef> samples;
  for (std::uint32_t i = 0; i < input.files.size(); ++i) {
    if (!input.files[i].is_shard) list_plain(input.files[i], i, samples);
  }
  for (const auto& some : of_shards) samples.insert(samples.end(), some.begin(), some.end());
  if (is_cut && std::ranges::none_of(samples, &SampleRef::has_image)) {
    throw Error(ErrorCode::usage, At{first_named(input)},
                "no image of {} was found in time: use a longer --budget, or create indexes with {}", named_text(input),
                remedy::in_text(remedy::index(input.operands)));
  }
  return samples;
}

std::vector<std::string> sample_names(const InputSet& input, std::span<const SampleRef> samples) {
  std::vector<std::string> names;
  for (const SampleRef& sample : samples) {
    const InputFile& file = input.files[sample.file];
    names.push_back(is_plain_shard(file) ? member_name(input, file.path, sample.image_offset) : file.path);
  }
  return names;
}

}  // namespace shardkit::bench
