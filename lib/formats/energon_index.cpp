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

namespace {

class EnergonOffsets final : public ShardIndexLines {
 public:
  explicit EnergonOffsets(ByteSink& sink) : sink_(sink) {}
  void add(const Sample& sample) override { write_energon_offset(sink_, sample.offset); }
  void finish(std::uint64_t end) override { write_energon_offset(sink_, end); }

 private:
  ByteSink& sink_;
};

SetIndex write_set(const std::vector<IndexedShard>& shards, const std::string& prefix) {
  std::vector<std::pair<std::string, std::uint64_t>> counts;
  std::vector<std::string> names;
  std::set<std::string> extensions;
  std::uint64_t unclassified = 0;
  for (const IndexedShard& shard : shards) {
    counts.emplace_back(shard.name, shard.samples);
    names.push_back(shard.name);
    extensions.insert(shard.image_extensions.begin(), shard.image_extensions.end());
    unclassified += shard.unclassified;
  }
  SetIndexFile dataset{.name = kEnergonDatasetName, .text = {}, .users_edit = true};
  if (unclassified == 0) {
    dataset.text = write_energon_dataset(extensions);
  } else {
    dataset.code = "energon_sample_type";
    dataset.unknown = fmt::format(
        "{} no image with a .cls label; write '{}{}' yourself, which tells Energon what the samples are",
        unclassified == 1 ? "a sample is" : fmt::format("{} samples are", unclassified), prefix, kEnergonDatasetName);
  }
  return {{{.name = kEnergonInfoName, .text = write_energon_info(counts)},
           {.name = kEnergonSplitName, .text = write_energon_split(names), .users_edit = true},
           std::move(dataset)}};
}

std::vector<ShardCount> read_info(const std::string& text, const std::string& path) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto counts = json.is_object() ? json.find("shard_counts") : json.end();
  if (!json.is_object() || counts == json.end() || !counts->is_object()) {
    throw Error(ErrorCode::corrupt, fmt::format("'{}' has no shard_counts", path), path);
  }
  std::vector<ShardCount> shards;
  for (const auto& [shard, samples] : counts->items()) {
    if (samples.is_number_unsigned()) shards.push_back({shard, samples.get<std::uint64_t>()});
  }
  return shards;
}

}  // namespace

IndexKind energon_index_kind() {
  return {.name = "energon",
          .help = "also <shard>.tar.idx and .nv-meta/ of Megatron-Energon",
          .shard_file = energon_index_name,
          .shard_writer = [](ByteSink& sink, const std::string&) -> std::unique_ptr<ShardIndexLines> {
            return std::make_unique<EnergonOffsets>(sink);
          },
          .set_files = {kEnergonInfoName, kEnergonSplitName, kEnergonDatasetName},
          .write_set = write_set,
          .read_set = read_info};
}

}  // namespace shardkit::formats
