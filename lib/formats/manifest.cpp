#include "formats/manifest.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "formats/shard_hash.hpp"

namespace shardkit::formats {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "shardkit-manifest";
constexpr std::uint64_t kManifestVersion = 1;

/// Reads typed fields of one JSON object and names the field that is wrong.
class FieldReader {
 public:
  FieldReader(const Json& object, std::string where, const std::string& path)
      : object_(object), where_(std::move(where)), path_(path) {
    if (!object.is_object()) fail("", "is not an object");
  }

  [[noreturn]] void fail(const std::string& field, std::string_view what) const {
    throw Error(ErrorCode::corrupt, At{path_}, "manifest '{}': {}{} {}", path_, where_, field, what);
  }
  std::uint64_t number(const char* field) const {
    if (const auto value = json_count(at(field))) return *value;
    fail(field, "is not a whole number");
  }
  std::string text(const char* field) const {
    const Json& value = at(field);
    if (!value.is_string()) fail(field, "is not a text");
    return value.get<std::string>();
  }
  Hash128 hash(const char* field) const {
    Hash128 value;
    if (!parse_hex(text(field), value)) fail(field, "is not 32 hexadecimal digits");
    return value;
  }
  const Json& array(const char* field) const {
    const Json& value = at(field);
    if (!value.is_array()) fail(field, "is not a list");
    return value;
  }
  bool has(const char* field) const { return object_.contains(field); }
  const Json& at(const char* field) const {
    const auto found = object_.find(field);
    if (found == object_.end()) fail(field, "is missing");
    return *found;
  }

 private:
  const Json& object_;
  std::string where_;
  const std::string& path_;
};

bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

ManifestShard read_shard(const FieldReader& object) {
  ManifestShard shard{object.text("name"), object.number("samples"), object.number("bytes"), object.hash("xxh3_128")};
  if (!is_plain_name(shard.name)) object.fail("name", "is not a plain file name");
  if (object.has("parts") && !parse_part_hashes(object.text("parts"), shard.bytes, shard.parts))
    object.fail("parts", "is not 32 hexadecimal digits for each 16 MiB");
  return shard;
}

ManifestFile read_file(const FieldReader& object) {
  ManifestFile file{object.text("name"), object.number("bytes"), object.hash("xxh3_128")};
  for (std::size_t begin = 0; begin <= file.name.size();) {
    const std::size_t end = std::min(file.name.find('/', begin), file.name.size());
    if (!is_plain_name(file.name.substr(begin, end - begin))) object.fail("name", "is not a name below the folder");
    begin = end + 1;
  }
  return file;
}

void check_sums(const Manifest& manifest, const FieldReader& root) {
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;
  std::set<std::string_view> names;
  const auto add = [&](const char* field, std::uint64_t part, std::uint64_t total, std::uint64_t& sum) {
    if (part > total - sum) root.fail(field, "is not the sum over its shards");  // which may not fit into 64 bits
    sum += part;
  };
  for (const ManifestShard& shard : manifest.shards) {
    add("samples", shard.samples, manifest.samples, samples);
    add("bytes", shard.bytes, manifest.bytes, bytes);
    if (!names.insert(shard.name).second) root.fail("shards", "name '" + shard.name + "' twice");
  }
  if (samples != manifest.samples) root.fail("samples", "is not the sum over its shards");
  if (bytes != manifest.bytes) root.fail("bytes", "is not the sum over its shards");
}

}  // namespace

std::string write_manifest(const Manifest& manifest) {
  Json root;
  root["format"] = kFormat;
  root["version"] = kManifestVersion;
  root["samples"] = manifest.samples;
  root["bytes"] = manifest.bytes;
  root["skipped"] = manifest.skipped;
  root["plan_hash"] = manifest.plan_hash;
  root["options"] = Json::object();
  for (const auto& [name, value] : manifest.options) root["options"][name] = value;
  root["shards"] = Json::array();
  for (const ManifestShard& shard : manifest.shards) {
    root["shards"].push_back({{"name", shard.name},
                              {"samples", shard.samples},
                              {"bytes", shard.bytes},
                              {"xxh3_128", to_hex(shard.xxh3_128)}});
    if (!shard.parts.empty()) root["shards"].back()["parts"] = part_hash_text(shard.parts);
  }
  for (const ManifestFile& file : manifest.files)
    root["files"].push_back({{"name", file.name}, {"bytes", file.bytes}, {"xxh3_128", to_hex(file.xxh3_128)}});
  root["classes"] = Json::array();
  for (const ManifestClass& item : manifest.classes) {
    root["classes"].push_back(
        {{"label", item.label}, {"name", name_in_manifest(item.name)}, {"samples", item.samples}});
  }
  return sealed_json_text(std::move(root));
}

Manifest read_manifest(std::string_view text, const std::string& path) {
  Json json = parse_ordered_json(text);
  if (json.is_discarded()) throw Error(ErrorCode::corrupt, At{path}, "manifest '{}' is not JSON", path);
  const FieldReader root(json, "", path);
  if (root.text("format") != kFormat) root.fail("format", fmt::format("is not '{}'", kFormat));
  if (root.number("version") != kManifestVersion) {
    throw Error(ErrorCode::unsupported, At{path}, "manifest '{}' has version {}; this program reads version {}", path,
                root.number("version"), kManifestVersion);
  }
  if (!unseal(json)) {
    throw Error(ErrorCode::corrupt, At{path},
                "manifest '{}' has changed since it was written: its checksum does not match", path);
  }
  Manifest manifest;
  manifest.samples = root.number("samples");
  manifest.bytes = root.number("bytes");
  manifest.skipped = root.number("skipped");
  manifest.plan_hash = root.text("plan_hash");
  for (const Json& item : root.array("shards")) {
    const std::string where = fmt::format("shards[{}].", manifest.shards.size());
    manifest.shards.push_back(read_shard(FieldReader(item, where, path)));
  }
  if (root.has("files")) {
    for (const Json& item : root.array("files")) {
      manifest.files.push_back(read_file(FieldReader(item, fmt::format("files[{}].", manifest.files.size()), path)));
    }
  }
  for (const Json& item : root.array("classes")) {
    const FieldReader object(item, fmt::format("classes[{}].", manifest.classes.size()), path);
    manifest.classes.push_back({object.text("name"), object.number("label"), object.number("samples")});
  }
  const Json& options = root.at("options");
  if (!options.is_object()) root.fail("options", "is not an object");
  for (const auto& [name, value] : options.items()) {
    if (!value.is_string()) root.fail("options", "contains something other than texts");
    manifest.options[name] = value.get<std::string>();
  }
  check_sums(manifest, root);
  return manifest;
}

std::string name_in_manifest(const std::string& name) {
  std::string text;
  for (std::string_view left = name; !left.empty();) {
    const std::size_t bad = std::min(find_invalid_utf8(left), left.size());
    text += left.substr(0, bad);
    if (bad < left.size()) text += fmt::format("~{:02X}", static_cast<unsigned char>(left[bad]));
    left.remove_prefix(std::min(bad + 1, left.size()));
  }
  return text;
}

Manifest join_manifests(Manifest earlier, const Manifest& added) {
  earlier.shards.insert(earlier.shards.end(), added.shards.begin(), added.shards.end());
  earlier.samples += added.samples;
  earlier.bytes += added.bytes;
  earlier.skipped += added.skipped;
  earlier.plan_hash = added.plan_hash;
  for (const auto& [name, value] : added.options) earlier.options.insert_or_assign(name, value);
  std::map<std::string, std::size_t> positions;
  for (std::size_t i = 0; i < earlier.classes.size(); ++i) positions.emplace(earlier.classes[i].name, i);
  for (const ManifestClass& item : added.classes) {
    const std::string replaced = as_utf8(item.name);  // as earlier versions wrote it
    const std::string name = positions.contains(replaced) ? replaced : name_in_manifest(item.name);
    const auto [position, is_new] = positions.try_emplace(name, earlier.classes.size());
    if (is_new) {
      earlier.classes.push_back(item);
    } else {
      earlier.classes[position->second].samples += item.samples;
    }
  }
  return earlier;
}

bool extends(const Manifest& later, const Manifest& earlier) {
  std::map<std::string_view, const ManifestShard*> shards;
  for (const ManifestShard& shard : later.shards) shards.emplace(shard.name, &shard);
  const auto has_shard = [&](const ManifestShard& shard) {
    const auto found = shards.find(shard.name);
    return found != shards.end() && found->second->bytes == shard.bytes && found->second->xxh3_128 == shard.xxh3_128;
  };
  std::map<std::string_view, std::uint64_t> labels;
  for (const ManifestClass& item : later.classes) labels.emplace(item.name, item.label);
  const auto has_label = [&](const ManifestClass& item) {
    const auto found = labels.find(item.name);
    return found != labels.end() && found->second == item.label;
  };
  return later.plan_hash.empty() == earlier.plan_hash.empty() && std::ranges::all_of(earlier.shards, has_shard) &&
         std::ranges::all_of(earlier.classes, has_label);
}

bool is_part_name(std::string_view name) { return name.starts_with("part-") && name.ends_with(".json"); }

std::optional<std::pair<std::uint64_t, std::uint64_t>> parse_part_name(std::string_view name) {
  constexpr std::string_view kStart = "part-", kMiddle = "-of-", kEnd = ".json";
  const std::size_t middle = name.find(kMiddle);
  if (!is_part_name(name) || middle == std::string_view::npos) return std::nullopt;
  std::pair<std::uint64_t, std::uint64_t> part;
  const std::size_t count = middle + kMiddle.size();
  const bool read = parse_number(name.substr(kStart.size(), middle - kStart.size()), part.first) &&
                    parse_number(name.substr(count, name.size() - kEnd.size() - count), part.second);
  return read ? std::optional(part) : std::nullopt;
}

bool is_foreign_manifest(std::string_view text) {
  if (text.find(fmt::format("\"{}\"", kFormat)) != std::string_view::npos) return false;
  const bool is_page = text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size())).starts_with('<');
  return is_page || !parse_json(text).is_discarded();
}

}  // namespace shardkit::formats
