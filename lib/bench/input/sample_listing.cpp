#include "bench/input/sample_listing.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "catalog/image_folder.hpp"
#include "core/error.hpp"
#include "formats/dali_index.hpp"
#include "formats/sample_name.hpp"
#include "formats/shard_index.hpp"
#include "formats/tar_header.hpp"
#include "formats/tar_scanner.hpp"
#include "io/publish.hpp"

namespace shardkit::bench {
namespace {

/// Adds a sample of input.files[file] that has these members. Leaves out what the end of the shard cuts: it cannot be
/// read whole.
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

std::string dali_index_path(const InputFile& shard) {
  const std::string name = file_name(shard.path);
  return io::join_path(io::parent_folder(shard.path), formats::dali_index_name(name));
}

/// True when a member's header stands where an index says. Contents follow their headers.
bool is_member(ByteSource& shard, const formats::DaliMember& member) {
  if (member.offset < formats::kTarBlock) return false;
  std::array<std::byte, formats::kTarBlock> block{};
  if (shard.read_at(member.offset - formats::kTarBlock, block) < block.size()) return false;
  formats::TarHeader header;
  return formats::read_tar_header(block, header) == formats::TarHeaderState::good && header.size == member.size;
}

/// By DALI's index beside the shard. False where there is none, or it is of another shard: its first or last member is
/// not where it says.
bool list_by_dali(const InputSet& input, std::uint32_t file, std::vector<SampleRef>& samples, Context& context) {
  const InputFile& shard = input.files[file];
  const std::string path = dali_index_path(shard);
  if (!file_exists(input, path)) return false;
  std::vector<std::vector<formats::DaliMember>> indexed;
  try {
    formats::read_dali_index(*open_file(input, path), path,
                             [&](const std::vector<formats::DaliMember>& members) { indexed.push_back(members); });
  } catch (const Error& error) {
    if (error.code() != ErrorCode::corrupt) throw;
    context.warn("stale_index", fmt::format("{}; the shard's headers are read instead", error.what()));
    return false;
  }
  const auto source = open_file(input, shard.path);
  const bool fits = indexed.empty() || (is_member(*source, indexed.front().front()) &&  //
                                        is_member(*source, indexed.back().back()));
  if (!fits) {
    context.warn("stale_index",
                 fmt::format("'{}' speaks of another shard than '{}'; its headers are read instead", path, shard.path));
    return false;
  }
  for (const auto& members : indexed) add_sample(input, file, members, samples);
  return true;
}

void list_scanned(const InputSet& input, std::uint32_t file, std::vector<SampleRef>& samples, Context& context) {
  const std::string& path = input.files[file].path;
  const auto source = open_file(input, path);
  formats::TarScanner scanner(*source, [&](const formats::TarFinding& finding) {
    context.warn("damaged_shard", fmt::format("'{}' at byte {}: {}", path, finding.offset, finding.text));
  });
  formats::SampleGrouper grouper;
  formats::TarEntry entry;
  while (scanner.next(entry)) {
    context.throw_if_stopped();
    if (const auto sample = grouper.add(entry)) add_sample(input, file, sample->members, samples);
  }
  if (const auto sample = grouper.finish()) add_sample(input, file, sample->members, samples);
}

void list_plain(const InputFile& file, std::uint32_t index, std::vector<SampleRef>& samples) {
  const bool image = catalog::is_image_name(file_name(file.path));
  samples.push_back({index, 0, file.bytes, image, 0, image ? file.bytes : 0});
}

std::vector<SampleRef> list_shard(const InputSet& input, std::uint32_t file, Context& context) {
  std::vector<SampleRef> samples;
  if (input.files[file].samples) {
    list_indexed(input, file, samples);
  } else if (!list_by_dali(input, file, samples, context)) {
    list_scanned(input, file, samples, context);
  }
  return samples;
}

/// Indices of at most `most` shards: those where their running share passes a whole number.
std::vector<std::uint32_t> choose_shards(const InputSet& input, std::size_t most) {
  const auto shards = static_cast<std::size_t>(std::ranges::count_if(input.files, &InputFile::is_shard));
  const std::size_t taken = std::min(shards, most);
  std::vector<std::uint32_t> chosen;
  std::size_t shard = 0;
  for (std::uint32_t i = 0; i < input.files.size(); ++i) {
    if (!input.files[i].is_shard) continue;
    if ((shard + 1) * taken / shards > shard * taken / shards) chosen.push_back(i);
    ++shard;
  }
  return chosen;
}

}  // namespace

std::vector<SampleRef> list_samples(const InputSet& input, std::size_t most_shards, Context& context) {
  const std::vector<std::uint32_t> shards = choose_shards(input, most_shards);
  std::vector<std::vector<SampleRef>> of_shards(shards.size());
  for_each_file(shards.size(), context, [&](std::size_t i) { of_shards[i] = list_shard(input, shards[i], context); });
  std::vector<SampleRef> samples;
  for (std::uint32_t i = 0; i < input.files.size(); ++i) {
    if (!input.files[i].is_shard) list_plain(input.files[i], i, samples);
  }
  for (const auto& some : of_shards) samples.insert(samples.end(), some.begin(), some.end());
  return samples;
}

namespace {

std::string member_name(const InputSet& input, const std::string& shard, std::uint64_t content_offset) {
  std::array<std::byte, formats::kTarBlock> block{};
  if (content_offset < formats::kTarBlock) return shard;
  if (open_file(input, shard)->read_at(content_offset - formats::kTarBlock, block) < block.size()) return shard;
  formats::TarHeader header;
  if (formats::read_tar_header(block, header) != formats::TarHeaderState::good) return shard;
  const std::string folder = header.prefix.empty() ? "" : std::string(header.prefix) + "/";
  return shard + "/" + folder + std::string(header.name);
}

}  // namespace

std::vector<std::string> sample_names(const InputSet& input, std::span<const SampleRef> samples) {
  std::vector<std::string> names;
  for (const SampleRef& sample : samples) {
    const InputFile& file = input.files[sample.file];
    names.push_back(file.is_shard ? member_name(input, file.path, sample.image_offset) : file.path);
  }
  return names;
}

}  // namespace shardkit::bench
