#include "formats/energon_index.hpp"

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "formats/brace_pattern.hpp"

namespace shardkit::formats {
namespace {

using Json = nlohmann::ordered_json;

/// A YAML scalar as PyYAML writes it: plain where that is safe, else in single quotes, else in double quotes.
std::string yaml_text(const std::string& text) {
  constexpr std::string_view safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./";
  const bool plain = safe.find(text.front()) != std::string_view::npos &&
                     text.find_first_not_of(std::string(safe) + "-+~{},") == std::string::npos;
  if (plain) return text;
  const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
  if (!std::all_of(text.begin(), text.end(), printable)) return Json(text).dump(-1, ' ', true);
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "''" : std::string(1, c);
  return quoted + "'";
}

}  // namespace

std::string energon_index_name(std::string_view shard) { return fmt::format("{}.idx", shard); }

void write_energon_offset(ByteSink& sink, std::uint64_t offset) {
  std::array<std::byte, 8> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(offset >> (8 * i));
  sink.write(bytes);
}

std::string write_energon_info(const std::vector<std::pair<std::string, std::uint64_t>>& shards) {
  Json info;
  info["energon_version"] = kEnergonVersion;
  info["shard_counts"] = Json::object();
  for (const auto& [name, samples] : shards) info["shard_counts"][name] = samples;
  return info.dump(2, ' ', true);
}

std::string write_energon_split(const std::vector<std::string>& shards) {
  std::string text = "split_parts:\n  train:\n";
  for (const std::string& pattern : collapse_names(shards)) text += fmt::format("  - {}\n", yaml_text(pattern));
  return text + "  val: []\n  test: []\nexclude: []\n";
}

std::string write_energon_dataset(const std::set<std::string>& image_extensions) {
  return fmt::format(
      "sample_type:\n  __module__: megatron.energon\n  __class__: ImageClassificationSample\n"
      "field_map:\n  image: {}\n  label: cls\n",
      fmt::join(image_extensions, ","));
}

}  // namespace shardkit::formats
