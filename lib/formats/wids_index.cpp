#include "formats/wids_index.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "formats/tsv.hpp"

namespace shardkit::formats {
namespace {

/// Everything before the MD5.
std::string binding(const ManifestShard& shard) {
  std::string line = "shardkit-md5\t2\t";
  append_escaped(line, shard.name);
  return line + fmt::format("\t{}\t{}\t", shard.bytes, to_hex(shard.xxh3_128));
}

using SortedJson = nlohmann::json;

[[noreturn]] void damaged(const std::string& path, const std::string& what) {
  throw Error(ErrorCode::corrupt, At{path}, "wids index '{}': {}", path, what);
}

WidsShard read_shard(const SortedJson& json, std::size_t position, const std::string& path) {
  const auto where = [&](const char* field) { return fmt::format("shardlist[{}].{}", position, field); };
  if (!json.is_object()) damaged(path, fmt::format("shardlist[{}] is not an object", position));
  const auto url = json.find("url");
  if (url == json.end() || !url->is_string() || url->get_ref<const std::string&>().empty()) {
    damaged(path, where("url") + " is not a text");
  }
  const auto samples = json_count(json.value("nsamples", SortedJson()));
  if (!samples) damaged(path, where("nsamples") + " is not a whole number");
  return {url->get<std::string>(), *samples, json_count(json.value("filesize", SortedJson()))};
}

/// The key according to wids: everything up to the first dot in the last component that has one.
std::string_view wids_key(std::string_view name) {
  const std::size_t last_dot = name.rfind('.');
  const std::size_t slash = name.substr(0, last_dot).rfind('/');
  return name.substr(0, name.find('.', slash == std::string_view::npos ? 0 : slash));
}

bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '_'; }

bool is_number(std::string_view word) { return word.find_first_not_of("0123456789") == std::string_view::npos; }

SetIndex write_wids_set(const std::vector<IndexedShard>& shards, const std::string& prefix) {
  WidsIndex index;
  SetIndex result;
  index.name = wids_set_name(shards.front().name);
  for (const IndexedShard& shard : shards) {
    index.shards.push_back({shard.name, shard.wids_samples, shard.bytes, shard.md5});
    if (!shard.wids_trouble) continue;
    result.warnings.push_back(
        {"wids_misreads", fmt::format("shard '{}{}', {}; write the shard again with plain headers", prefix, shard.name,
                                      *shard.wids_trouble)});
  }
  result.files.push_back({.name = kWidsIndexName, .text = write_wids_index(std::move(index))});
  return result;
}

std::vector<ShardCount> read_set(const std::string& text, const std::string& path) {
  std::vector<ShardCount> shards;
  for (WidsShard& shard : read_wids_index(text, path).shards) {
    shards.push_back({std::move(shard.url), shard.samples, shard.bytes});
  }
  return shards;
}

}  // namespace

std::string shard_md5_path(std::string_view shard) { return fmt::format("{}/{}.md5", kStateFolder, shard); }

std::string write_shard_md5(const ManifestShard& shard, std::string_view md5) {
  std::string line = binding(shard).append(md5);
  seal_line(line);
  return line;
}

std::optional<std::string> read_shard_md5(std::string_view text, const ManifestShard& shard) {
  const std::string start = binding(shard);
  if (!text.ends_with('\n')) return std::nullopt;
  text.remove_suffix(1);
  if (!unseal_line(text) || !text.starts_with(start)) return std::nullopt;
  return std::string(text.substr(start.size()));
}

bool is_wids_index(std::string_view text) {
  const SortedJson json = parse_json(text);
  return json.is_object() && json.contains("shardlist");
}

WidsIndex read_wids_index(std::string_view text, const std::string& path) {
  const SortedJson json = parse_json(text);
  if (!json.is_object()) damaged(path, "it is not a JSON object");
  const auto version = json.find("wids_version");
  if (version == json.end() || !json_count(*version)) damaged(path, "wids_version is not a whole number");
  if (*version != 1U) {
    throw Error(ErrorCode::unsupported, At{path}, "wids index '{}' has version {}; this program reads version 1", path,
                version->dump());
  }
  const auto list = json.find("shardlist");
  if (list == json.end() || !list->is_array()) damaged(path, "shardlist is not a list");
  WidsIndex index;
  if (const auto name = json.find("name"); name != json.end() && name->is_string()) index.name = *name;
  for (std::size_t i = 0; i < list->size(); ++i) index.shards.push_back(read_shard((*list)[i], i, path));
  return index;
}

std::string write_wids_index(WidsIndex index) {
  std::ranges::sort(index.shards, {}, &WidsShard::url);
  nlohmann::ordered_json root;
  root["__kind__"] = "wids-shard-index-v1";
  root["wids_version"] = 1;
  root["shardlist"] = SortedJson::array();
  for (const WidsShard& shard : index.shards) {
    nlohmann::ordered_json item;
    item["url"] = shard.url;
    if (!shard.md5.empty()) item["md5sum"] = shard.md5;
    item["nsamples"] = shard.samples;
    if (shard.bytes) item["filesize"] = *shard.bytes;
    root["shardlist"].push_back(std::move(item));
  }
  if (!index.name.empty()) root["name"] = index.name;
  try {
    return python_json_text(root);
  } catch (const SortedJson::type_error&) {
    throw Error(ErrorCode::unsupported, "a shard's name is not UTF-8, so a wids index cannot contain it; rename it");
  }
}

std::string wids_set_name(std::string_view first_url) {
  first_url = first_url.substr(0, first_url.rfind('.'));
  std::set<std::string_view> seen;
  std::string name;
  while (!first_url.empty()) {
    const auto end = std::ranges::find_if_not(first_url, is_word);
    const std::string_view word(first_url.begin(), end);
    if (!is_number(word) && seen.insert(word).second) name += (name.empty() ? "" : "-") + std::string(word);
    first_url.remove_prefix(std::min(word.size() + 1, first_url.size()));
  }
  return name;
}

void WidsSampleCounter::add(const TarEntry& entry) {
  if (entry.type != TarType::regular || entry.name.find('.') == std::string::npos) return;
  const std::string_view key = wids_key(entry.name);
  if (samples_ > 0 && key == key_) return;
  key_ = key;
  ++samples_;
}

std::string_view wids_trouble(const TarEntry& entry) {
  if (entry.type != TarType::regular) return {};
  const bool ascii =
      std::ranges::none_of(entry.name, [](char c) { return (static_cast<unsigned char>(c) & 0x80U) != 0; });
  const bool elsewhere = entry.facts.has(TarFact::gnu_long_name) || entry.facts.has(TarFact::ustar_prefix) ||
                         (entry.facts.has(TarFact::pax_header) && (entry.name.size() > 100 || !ascii));
  if (elsewhere) return "its name is not stored completely in its header, and wids reads only that";
  if (entry.facts.has(TarFact::base256_size)) return "its size is stored in binary, which wids cannot read";
  return {};
}

IndexKind wids_index_kind() {
  return {.name = "wids",
          .help = "also write shardindex.json of wids, WebDataset's indexed reader; computes each shard's MD5",
          .set_files = {kWidsIndexName},
          .write_set = write_wids_set,
          .read_set = read_set,
          .needs_md5 = true};
}

}  // namespace shardkit::formats
