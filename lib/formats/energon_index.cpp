#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/json.hpp"
#include "formats/brace_pattern.hpp"
#include "formats/index_kinds.hpp"

/// The files that Megatron-Energon reads beside the shards, as `energon prepare` 7.4.1 writes them (flavors/webdataset:
/// itar.py, prepare.py): "<shard>.idx" per tar, and in ".nv-meta" a count per shard, the split and the type of the
/// samples. index.sqlite is left out: reading in order does not need it.
namespace shardkit::formats {
namespace {

constexpr const char* kInfoName = ".nv-meta/.info.json";
constexpr const char* kSplitName = ".nv-meta/split.yaml";
constexpr const char* kDatasetName = ".nv-meta/dataset.yaml";
/// The release whose formats these are.
constexpr const char* kEnergonRelease = "7.4.1";

using Json = nlohmann::ordered_json;

/// A YAML scalar as PyYAML writes it: plain if that is safe, else in single quotes, else in double quotes.
std::string yaml_text(const std::string& text) {
  constexpr std::string_view safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./";
  const bool plain = safe.find(text.front()) != std::string_view::npos &&
                     text.find_first_not_of(std::string(safe) + "-+~{},") == std::string::npos;
  if (plain) return text;
  const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
  if (!std::ranges::all_of(text, printable)) return python_json_text(text);
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "''" : std::string(1, c);
  return quoted + "'";
}

/// `.info.json`: names and numbers of samples, in the order that numbers the shards.
std::string info_text(const std::vector<IndexedShard>& shards) {
  Json info;
  info["energon_version"] = kEnergonRelease;
  info["shard_counts"] = Json::object();
  for (const IndexedShard& shard : shards) info["shard_counts"][shard.name] = shard.samples;
  return python_json_text(info);
}

/// `split.yaml`: all shards are in "train"; "val" and "test" are empty.
std::string split_text(const std::vector<IndexedShard>& shards) {
  std::vector<std::string> names;
  for (const IndexedShard& shard : shards) names.push_back(shard.name);
  std::string text = "split_parts:\n  train:\n";
  for (const std::string& pattern : collapse_names(names)) text += fmt::format("  - {}\n", yaml_text(pattern));
  return text + "  val: []\n  test: []\nexclude: []\n";
}

/// `dataset.yaml` for classified images: image members with any of these extensions, labels in "cls".
std::string dataset_text(const std::set<std::string>& image_extensions) {
  return fmt::format(
      "sample_type:\n  __module__: megatron.energon\n  __class__: ImageClassificationSample\n"
      "field_map:\n  image: {}\n  label: cls\n",
      fmt::join(image_extensions, ","));
}

/// "<shard>.idx": where each sample's first record starts, and last where the archive's content ends; 8 bytes each,
/// little-endian.
class EnergonOffsets final : public ShardIndexLines {
 public:
  explicit EnergonOffsets(ByteSink& sink) : sink_(sink) {}
  void add(const IndexSample& sample) override { write(sample.offset); }
  void finish(std::uint64_t end) override { write(end); }

 private:
  void write(std::uint64_t offset) {
    std::array<std::byte, 8> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(offset >> (8 * i));
    sink_.write(bytes);
  }

  ByteSink& sink_;
};

SetIndex write_energon_set(const std::vector<IndexedShard>& shards, const std::string& prefix) {
  std::set<std::string> extensions;
  std::uint64_t unclassified = 0;
  for (const IndexedShard& shard : shards) {
    extensions.insert(shard.image_extensions.begin(), shard.image_extensions.end());
    unclassified += shard.unclassified;
  }
  SetIndexFile dataset{.name = kDatasetName, .text = {}, .users_edit = true};
  if (unclassified == 0) {
    dataset.text = dataset_text(extensions);
  } else {
    dataset.code = "energon_sample_type";
    dataset.unknown = fmt::format(
        "{} not an image with a .cls label; write '{}{}' yourself, which describes the samples for Energon",
        unclassified == 1 ? "a sample is" : fmt::format("{} samples are", unclassified), prefix, kDatasetName);
  }
  return {{{.name = kInfoName, .text = info_text(shards)},
           {.name = kSplitName, .text = split_text(shards), .users_edit = true},
           std::move(dataset)}};
}

std::vector<ShardCount> read_info(const std::string& text, const std::string& path) {
  const auto json = parse_json(text);
  const auto counts = json.is_object() ? json.find("shard_counts") : json.end();
  if (!json.is_object() || counts == json.end() || !counts->is_object()) {
    throw Error(ErrorCode::corrupt, At{path}, "'{}' has no shard_counts", path);
  }
  std::vector<ShardCount> shards;
  for (const auto& [shard, samples] : counts->items()) {
    if (const auto count = json_count(samples)) shards.push_back({shard, *count});
  }
  return shards;
}

}  // namespace

IndexKind energon_index_kind() {
  return {.name = "energon",
          .shard_file = [](std::string_view shard) { return fmt::format("{}.idx", shard); },
          .shard_writer = [](ByteSink& sink, const std::string&) -> std::unique_ptr<ShardIndexLines> {
            return std::make_unique<EnergonOffsets>(sink);
          },
          .set_files = {kInfoName, kSplitName, kDatasetName},
          .write_set = write_energon_set,
          .read_set = read_info};
}

}  // namespace shardkit::formats
