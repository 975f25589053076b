#include "dataset/reshard/tar_samples.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/ascii.hpp"
#include "io/file.hpp"

namespace shardkit {
namespace {

constexpr std::size_t kMostMembers = 4096;
constexpr std::uint64_t kLabelRead = 64;  // longer than any label

}  // namespace

bool is_stray_name(std::string_view name) {
  const std::string_view base = name.substr(name.rfind('/') + 1);
  return base.empty() || base.starts_with('.') || name.starts_with("__MACOSX/") ||
         name.find("/__MACOSX/") != std::string_view::npos;
}

bool TarSamples::entry(const TarEntry& entry) {
  if (needs_links_ || entry.type == TarType::directory) return false;
  const auto link = links_.find(entry.header_offset);
  if (entry.type == TarType::hard_link && link == links_.end()) {
    needs_links_ = true;
    return false;
  }
  const bool linked = link != links_.end();
  const auto name = split_sample_name(entry.name);
  if (!(linked || entry.type == TarType::regular) || is_metadata_name(entry.name) || is_stray_name(entry.name) ||
      !name || name->extension.empty()) {
    ++ignored_;
    return false;
  }
  if (entry.facts.has(TarFact::sparse)) {
    fail(ErrorCode::unsupported, entry.header_offset,
         fmt::format("'{}' is stored as a sparse file; pack it again without --sparse", entry.name));
  }
  TarEntry member = entry;
  if (linked) {
    member.type = TarType::regular;
    member.data_offset = link->second.offset;
    member.size = link->second.size;
  }
  add(member);
  if (lower_case(name->extension) != kLabelExtension) return false;
  label_reader_.start();
  if (linked) read_linked_label(link->second);
  return !linked;
}

void TarSamples::finding(const TarFinding& finding) {
  if (finding.fault == TarFault::short_end) return;
  if (finding.fault == TarFault::missing_end) {
    lacks_end_ = true;
    return;
  }
  fail(ErrorCode::corrupt, finding.offset, finding.text);
}

void TarSamples::finish() {
  if (auto last = grouper_.finish()) give(std::move(*last));
}

void TarSamples::fail(ErrorCode code, std::uint64_t offset, const std::string& text) const {
  throw Error(code,
              fmt::format("shard '{}' cannot be read, at byte {}: {}; `shardctl verify` tells all that is wrong with a "
                          "tar",
                          name_, offset, text),
              name_, offset);
}

void TarSamples::add(const TarEntry& member) {
  if (auto done = grouper_.add(member)) {
    give(std::move(*done));
    members_ = 0;
  }
  if (++members_ > kMostMembers) {
    fail(ErrorCode::unsupported, member.header_offset,
         fmt::format("more than {} members in a row share the key of '{}'; is this a tar of samples?", kMostMembers,
                     member.name));
  }
}

void TarSamples::read_linked_label(const LinkedContent& content) {
  std::vector<std::byte> bytes(std::min(content.size, kLabelRead));
  bytes.resize(FileSource(tar_).read_at(content.offset, bytes));
  label_reader_.add(bytes);
  label_ = label_reader_.label();
}

void TarSamples::give(Sample&& found) {
  MovedSample sample;
  sample.source_key = std::move(found.key);
  sample.label = std::exchange(label_, std::nullopt);
  for (SampleMember& member : found.members) {
    sample.members.push_back({std::move(member.extension), member.offset, member.size, std::nullopt});
  }
  on_sample_(std::move(sample));
}

}  // namespace shardkit
