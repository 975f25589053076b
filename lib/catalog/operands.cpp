#include "catalog/operands.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fnmatch.h>

#include "catalog/image_folder.hpp"
#include "catalog/shard_set.hpp"
#include "core/error.hpp"
#include "core/folder.hpp"
#include "core/text.hpp"
#include "formats/brace_pattern.hpp"
#include "formats/manifest.hpp"
#include "formats/portable_name.hpp"
#include "formats/wids_index.hpp"
#include "io/publish.hpp"

namespace fs = std::filesystem;

namespace shardkit::catalog {

namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// One path or URL a line.
std::vector<std::string> entries_of(std::string_view text) {
  std::vector<std::string> entries;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  for (const auto part : text | std::views::split('\n')) {
    std::string_view line(part.begin(), part.end());
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) entries.emplace_back(line);
  }
  return entries;
}

/// Of a list file, as written. Throws Error{not_found} if there are none, Error{usage} for data.
std::vector<std::string> listed_shards(std::string_view text, const std::string& path) {
  if (text.find('\0') != std::string_view::npos) {
    throw Error(ErrorCode::usage, At{path},
                "'{}' is data, not a list of names: it contains bytes that are 0; give a tar as a file or an address",
                path);
  }
  std::vector<std::string> shards = entries_of(text);
  if (!shards.empty()) return shards;
  throw Error(ErrorCode::not_found, At{path}, "list '{}' contains no shard", path);
}

/// URLs of a wids index, in its order. Throws Error{usage} if it is not one, Error{not_found} if it is empty.
std::vector<std::string> wids_shards(std::string_view text, const std::string& path) {
  if (!formats::is_wids_index(text)) {
    throw Error(ErrorCode::usage, At{path},
                "'{}' has no \"shardlist\", so it is not a wids index; for a set with a manifest, give its folder",
                path);
  }
  std::vector<std::string> shards;
  for (formats::WidsShard& shard : formats::read_wids_index(text, path).shards) shards.push_back(std::move(shard.url));
  if (!shards.empty()) return shards;
  throw Error(ErrorCode::not_found, At{path}, "wids index '{}' contains no shard", path);
}

constexpr std::size_t kLongestExtension = 12;  // of "model.safetensors" 11

/// "x.idx" and "x.mp4", but neither "v1.0" nor ".hidden".
bool has_extension(std::string_view name) {
  const auto [stem, extension] = formats::split_extension(name);
  return !stem.empty() && extension.size() <= kLongestExtension && std::ranges::any_of(extension, is_letter) &&
         std::ranges::all_of(extension, [](char c) { return is_letter(c) || is_digit(c); });
}

bool has_known_extension(std::string_view name) {
  return name.ends_with(".tar") || name.ends_with(".txt") || name.ends_with(".json") || is_compressed_tar_name(name);
}

std::string base_name(const ObjectLocation& location) {
  return decoded(location, std::string_view(location.path).substr(location.folder().path.size()));
}

/// The part of an operand that may be a pattern: of a URL neither its login nor its query, which messages never show.
std::pair<std::size_t, std::size_t> pattern_part(std::string_view operand) {
  const std::size_t scheme = operand.find("://");
  if (scheme == std::string_view::npos) return {0, operand.size()};
  const std::size_t host = scheme + 3;
  const net::StoreScheme* known = net::find_store_scheme(operand);
  const bool has_query = known == nullptr || known->is_web;
  const std::size_t end = has_query ? std::min(operand.find_first_of("?#", host), operand.size()) : operand.size();
  const std::size_t path = std::min(operand.find('/', host), end);
  const std::size_t at = operand.substr(0, path).rfind('@');
  return {at == std::string_view::npos || at < host ? host : at + 1, end};
}

/// The operands that a pattern matches; none if it is not a pattern.
std::vector<std::string> expanded(const std::string& operand) {
  const auto [begin, end] = pattern_part(operand);
  const std::string pattern = operand.substr(begin, end - begin);
  if (pattern.find('{') == std::string::npos) return {};
  std::vector<std::string> operands = formats::expand_braces(pattern);
  if (operands.size() == 1 && operands.front() == pattern) return {};
  for (std::string& one : operands) one = fmt::format("{}{}{}", operand.substr(0, begin), one, operand.substr(end));
  return operands;
}

/// Whether the last part of a path or key has wildcards; those of folders are the shell's to expand.
bool has_wildcards(std::string_view operand) {
  const auto [begin, end] = pattern_part(operand);
  const std::string_view path = operand.substr(begin, end - begin);
  if (is_address(operand) && path.find('/') == std::string_view::npos) return false;  // only a bucket or host
  return path.find_first_of("*?[", path.rfind('/') + 1) != std::string_view::npos;
}

bool matches(const std::string& pattern, const std::string& name) {
  return ::fnmatch(pattern.c_str(), name.c_str(), FNM_PERIOD) == 0;
}

class Resolver {
 public:
  Resolver(Inputs& inputs, Lists lists) : inputs_(inputs), lists_(lists) {}

  void add_operand(const std::string& operand) {
    if (operand.empty()) throw usage_error("an empty text was given as source");
    named_by_ = without_secrets(operand);
    if (operand == "-") return add_standard_input();
    const bool is_local = !is_address(operand);
    if (is_local ? add_existing(operand) : add_existing_object(operand)) return;
    const auto operands = expanded(operand);
    for (const std::string& one : operands) add_expanded(one);
    if (!operands.empty()) return;
    if (has_wildcards(operand)) return add_matches(operand);
    if (is_local) throw system_error(ENOENT, "open", operand);
    const ObjectLocation location = inputs_.parse_named(operand);
    const bool is_bucket = location.kind == ObjectLocation::Kind::bucket;
    const bool is_file = is_bucket ? is_bucket_object(location) : has_extension(base_name(location));
    if (is_file && !location.is_folder()) return add_file(location, location.display());
    add_folder(location, {});
  }

  std::vector<NamedInput> take() { return std::move(locations_); }

 private:
  /// False when nothing local has this very name.
  bool add_existing(const std::string& operand) {
    std::error_code error;
    const fs::file_status status = fs::status(operand, error);
    if (fs::is_directory(status)) {
      add_folder(parse_location(operand), operand);
    } else if (fs::is_regular_file(status)) {
      add_file(parse_location(operand), operand);
    } else if (fs::exists(status)) {
      throw Error(ErrorCode::usage, At{operand}, "'{}' is a pipe, socket or device; give files, shards or a folder",
                  operand);
    }
    // A pattern may be longer than any name.
    const bool absent = error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory ||
                        error == std::errc::filename_too_long;
    if (error && !absent) throw system_error(error.value(), "look at", operand);
    return fs::exists(status);
  }

  /// False if it is not a pattern, and when no bucket has an object or a folder of this very name.
  bool add_existing_object(const std::string& operand) {
    const std::size_t key = std::min(operand.find('/', pattern_part(operand).first), operand.size());
    const bool has_braces = operand.find_first_of("{}", key) != std::string::npos;
    if (operand.find('{') < key || !(has_braces || has_wildcards(operand))) return false;
    const ObjectLocation location = parse_location(operand);
    if (location.kind != ObjectLocation::Kind::bucket) return false;
    const OpenObject open = inputs_.object(location);
    try {
      if (open.source->find(open.name)) {
        add_file(location, location.display());
      } else if (!open.source->names_in(open.name).empty()) {
        add_folder(location, {});
      } else {
        return false;
      }
    } catch (const Error& error) {
      if (error.code() != ErrorCode::denied && error.code() != ErrorCode::not_found) throw;
      return false;
    }
    return true;
  }

  /// A name from a brace pattern.
  void add_expanded(const std::string& name) {
    std::error_code ignored;
    if (has_wildcards(name)) {
      if (is_address(name) && add_existing_object(name)) return;
      if (is_address(name) || !fs::exists(name, ignored)) return add_matches(name);
    }
    add(inputs_.parse_named(name), name);
  }

  /// The files that a pattern with wildcards matches.
  void add_matches(const std::string& pattern) {
    const ObjectLocation location = parse_location(pattern);
    if (location.kind == ObjectLocation::Kind::web) {
      throw Error(ErrorCode::usage, At{named_by_},
                  "'{}' has wildcards, but HTTP has no listing to match; give the files as a pattern "
                  "x-{{000..146}}.tar or a list (*.txt)",
                  named_by_);
    }
    if (location.kind == ObjectLocation::Kind::local ? add_local_matches(pattern) : add_bucket_matches(location))
      return;
    throw Error(ErrorCode::not_found, At{named_by_}, "nothing matches '{}'", named_by_);
  }

  bool add_local_matches(const std::string& pattern) {
    const std::string folder = io::parent_folder(pattern);
    std::vector<std::string> names;
    std::error_code error;
    for (FolderEntry& entry : folder_entries(folder, error)) {
      if (!matches(pattern.substr(pattern.rfind('/') + 1), entry.name) || entry.is_folder()) continue;
      names.push_back(std::move(entry.name));
    }
    std::ranges::sort(names);
    for (const std::string& name : names) {
      const std::string path = pattern.substr(0, pattern.rfind('/') + 1) + name;
      add(parse_location(path), path);
    }
    return !names.empty();
  }

  bool add_bucket_matches(const ObjectLocation& pattern) {
    ObjectLocation location = pattern.folder();
    const std::string folder = location.path;
    bool found = false;
    for (const io::ObjectInfo& object : inputs_.list(location)) {
      if (!matches(base_name(pattern), object.name)) continue;
      location.path = folder + object.name;
      add(location);
      found = true;
    }
    return found;
  }

  void add_standard_input() {
    static const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
    named_by_ = "standard input";
    for (const std::string& entry : listed_shards(text, named_by_)) add(inputs_.parse_named(entry), entry);
  }

  bool is_bucket_object(const ObjectLocation& location) {
    if (location.is_folder()) return false;
    if (has_known_extension(base_name(location))) return true;
    const OpenObject open = inputs_.object(location);
    try {
      if (!open.source->find(open.name)) return false;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::denied)
        return false;  // also for a user who may read the objects in it, but not list them
      throw;
    }
    return open.source->names_in(open.name).empty();
  }

  /// A file by the kind that its name shows.
  void add_file(const ObjectLocation& location, const std::string& path) {
    const std::string name = base_name(location);
    inputs_.add(location);
    const bool is_list = name.ends_with(".txt");
    if (!is_list && !name.ends_with(".json")) return add(location, path);
    const bool may_be_data = lists_ == Lists::by_content && location.kind == ObjectLocation::Kind::local;
    if (name == formats::kManifestName && !may_be_data) return add_manifest(location, path);
    const std::optional<std::string> text = !may_be_data ? inputs_.text(path)
                                            : is_list    ? list_text(location, path)
                                                         : index_text(name, path);
    if (!text) return add(location, path);
    if (name == formats::kManifestName) return add_manifest(location, path);
    add_all(location, path, is_list ? listed_shards(*text, path) : wids_shards(*text, path));
  }

  /// The text of a local .json that reads as a wids index or a manifest.
  std::optional<std::string> index_text(const std::string& name, const std::string& path) {
    constexpr std::uint64_t kLargestIndex = 64U << 20U;  // a larger file is data
    if (inputs_.open(path)->size() > kLargestIndex) return std::nullopt;
    std::string text = inputs_.text(path);
    const bool names_files =
        name == formats::kManifestName ? !formats::is_foreign_manifest(text) : formats::is_wids_index(text);
    return names_files ? std::optional(std::move(text)) : std::nullopt;
  }

  /// The text of a local .txt that reads as a list.
  std::optional<std::string> list_text(const ObjectLocation& file, const std::string& path) {
    constexpr std::size_t kFirst = 64U << 10U;
    std::string text(kFirst, '\0');
    text.resize(inputs_.open(path)->read_at(0, std::as_writable_bytes(std::span(text))));
    if (!names_file_first(file, text)) return std::nullopt;
    return text.size() < kFirst ? std::move(text) : inputs_.text(path);
  }

  /// Whether the first line names a file.
  static bool names_file_first(const ObjectLocation& file, std::string_view text) {
    const std::vector<std::string> entries = entries_of(text);
    if (entries.empty()) return false;
    const std::string& first = entries.front();
    if (is_address(first) || is_tar_name(first) || is_image_name(first)) return true;
    std::error_code ignored;
    const fs::file_status status = fs::status(location_in_list(file, first).display(), ignored);
    return first.ends_with('/') ? fs::is_directory(status) : fs::is_regular_file(status);
  }

  void add_manifest(const ObjectLocation& location, const std::string& path) {
    if (inputs_.exists(path)) return add_folder(location.folder(), io::parent_folder(path));
    throw Error(ErrorCode::not_found, At{location.display()}, "'{}' does not exist", location.display());
  }

  void add_all(const ObjectLocation& list, const std::string& path, const std::vector<std::string>& entries) {
    named_by_ = path;
    const bool is_local = list.kind == ObjectLocation::Kind::local;
    for (const std::string& entry : entries) {
      const bool is_relative = is_local && !is_address(entry) && !entry.starts_with('/');
      if (is_local && is_address(entry)) inputs_.parse_named(entry);  // a list that the user has written
      add(location_in_list(list, entry), is_relative ? io::join_path(io::parent_folder(path), entry) : entry);
    }
  }

  void add_folder(ObjectLocation location, const std::string& path) {
    if (!location.is_folder()) location.path += '/';
    add(location, path);
  }

  /// `path` is that of a local location.
  void add(const ObjectLocation& location, const std::string& path = {}) {
    if (!seen_.insert(fmt::format("{}\n{}", location.access(), location.path)).second) return;
    inputs_.add(location);
    locations_.push_back(
        {location, location.kind == ObjectLocation::Kind::local ? path : location.display(), named_by_});
  }

  Inputs& inputs_;
  const Lists lists_;
  std::vector<NamedInput> locations_;
  std::string named_by_;
  std::set<std::string> seen_;
};

}  // namespace

std::vector<NamedInput> resolve_operands(const std::vector<std::string>& operands, Inputs& inputs, Lists lists) {
  if (operands.empty()) {
    throw usage_error(
        "no source was given; use a folder, a file, a pattern x-{{000..146}}.tar, a list (*.txt) or a wids index "
        "(*.json): local, s3:// or http(s)://");
  }
  Resolver resolver(inputs, lists);
  for (const std::string& operand : operands) resolver.add_operand(operand);
  return resolver.take();
}

}  // namespace shardkit::catalog
