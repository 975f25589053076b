#include "system/lustre.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "system/sys_text.hpp"

namespace shardkit {
namespace {

constexpr std::uint64_t kMagicV1 = 0x0bd10bd0;
constexpr std::uint64_t kMagicV3 = 0x0bd30bd0;
constexpr std::uint64_t kMagicComposite = 0x0bd60bd0;
constexpr std::size_t kMostEntries = 16;  // of a folder that are asked for their layout
/// Where versions of Lustre keep their tunables; debugfs is the superuser's alone.
constexpr std::array kPlaces{"/sys/fs/lustre/", "/proc/fs/lustre/", "/sys/kernel/debug/lustre/"};

/// Little-endian, as clients on x86 and arm64 have it; 0 behind the end.
std::uint64_t number_at(std::string_view bytes, std::size_t offset, std::size_t size) {
  std::uint64_t number = 0;
  if (offset + size > bytes.size()) return 0;
  for (std::size_t i = size; i > 0; --i) number = number << 8U | static_cast<unsigned char>(bytes[offset + i - 1]);
  return number;
}

std::optional<LustreLayout> plain_layout(std::string_view bytes) {
  const std::uint64_t magic = number_at(bytes, 0, 4);
  if ((magic != kMagicV1 && magic != kMagicV3) || bytes.size() < 32) return std::nullopt;
  return LustreLayout{number_at(bytes, 28, 2), number_at(bytes, 24, 4), 1};
}

/// The least value among "osc/<target>/NAME" or "llite/<mount>/NAME" of the file system.
std::optional<double> tunable(const Probe& probe, const std::string& kind, const std::string& prefix,
                              const std::string& name) {
  std::optional<double> least;
  for (const std::string place : kPlaces) {
    for (const std::string& object : probe.names(place + kind)) {
      if (!object.starts_with(prefix)) continue;
      const std::string text = sys_word(probe, place + kind + "/" + object + "/" + name);
      double value = 0;
      const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error == std::errc() && value >= 0 && (!least || value < *least)) least = value;
    }
  }
  return least;
}

std::optional<std::uint64_t> whole(std::optional<double> value, double unit = 1) {
  return value ? std::optional(static_cast<std::uint64_t>(std::min(*value * unit, 1e18))) : std::nullopt;
}

std::optional<LustreLayout> layout_of(const Probe& probe, const std::string& path) {
  for (const char* name : {"lustre.lov", "trusted.lov"}) {
    if (const auto bytes = probe.attribute(path, name)) return parse_lustre_layout(*bytes);
  }
  return std::nullopt;
}

void add_layout(const Probe& probe, const std::string& path, LustreFacts& facts) {
  std::vector<std::string> places{path};
  if (const auto there = probe.stat(path); there && there->kind == PathFacts::Kind::folder) {
    for (const std::string& name : probe.names(path)) {
      if (places.size() <= kMostEntries) places.push_back(path + "/" + name);
    }
  }
  for (const std::string& place : places) {
    const auto layout = layout_of(probe, place);
    if (!layout) continue;
    facts.stripe_count = layout->stripe_count;
    facts.stripe_size = layout->stripe_size;
    facts.components = layout->components;
    facts.striped = place;
    return;
  }
}

}  // namespace

std::optional<LustreLayout> parse_lustre_layout(std::string_view bytes) {
  if (number_at(bytes, 0, 4) != kMagicComposite) return plain_layout(bytes);
  constexpr std::size_t kHeader = 32;
  constexpr std::size_t kEntry = 48;
  constexpr std::size_t kOffsetOfLayout = 24;  // within an entry: id, flags, extent of two times 8 bytes
  const std::uint64_t components = number_at(bytes, 14, 2);
  if (components == 0) return std::nullopt;
  const std::size_t last = kHeader + (components - 1) * kEntry;
  const std::uint64_t offset = number_at(bytes, last + kOffsetOfLayout, 4);
  if (offset < kHeader || offset >= bytes.size()) return std::nullopt;
  auto layout = plain_layout(bytes.substr(offset));
  if (layout) layout->components = components;
  return layout;
}

LustreFacts read_lustre(const Mount& mount, const std::string& path, const Probe& probe) {
  // The source is "10.0.0.1@o2ib:10.0.0.2@o2ib:/scratch" or ".../scratch/below"; objects are named after the first.
  const std::size_t slash = mount.source.find(":/");
  std::string name = slash == std::string::npos ? std::string() : mount.source.substr(slash + 2);
  name.erase(std::min(name.find('/'), name.size()));
  const std::string prefix = name + "-";
  LustreFacts facts;
  add_layout(probe, path, facts);
  facts.read_requests_in_flight = whole(tunable(probe, "osc", prefix, "max_rpcs_in_flight"));
  facts.pages_per_request = whole(tunable(probe, "osc", prefix, "max_pages_per_rpc"));
  facts.checksums = whole(tunable(probe, "osc", prefix, "checksums"));
  constexpr double kMebi = 1024 * 1024;
  facts.read_ahead = whole(tunable(probe, "llite", prefix, "max_read_ahead_mb"), kMebi);
  facts.read_ahead_per_file = whole(tunable(probe, "llite", prefix, "max_read_ahead_per_file_mb"), kMebi);
  return facts;
}

}  // namespace shardkit
