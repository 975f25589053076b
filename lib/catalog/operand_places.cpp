#include "catalog/operand_places.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "catalog/shard_set.hpp"
#include "core/error.hpp"
#include "formats/brace_pattern.hpp"
#include "formats/manifest.hpp"
#include "formats/portable_name.hpp"
#include "formats/wids_index.hpp"

namespace fs = std::filesystem;

namespace shardkit::catalog {

std::vector<std::string> listed_shards(std::string_view text, const std::string& path) {
  std::vector<std::string> shards;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) shards.emplace_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (!shards.empty()) return shards;
  throw Error(ErrorCode::not_found, fmt::format("list '{}' names no shard", path), path);
}

std::vector<std::string> wids_shards(std::string_view text, const std::string& path) {
  if (!formats::is_wids_index(text)) {
    throw Error(ErrorCode::usage,
                fmt::format("'{}' has no \"shardlist\", so it is no wids index; for a set with a manifest name its "
                            "folder",
                            path),
                path);
  }
  std::vector<std::string> shards;
  for (formats::WidsShard& shard : formats::read_wids_index(text, path).shards) shards.push_back(std::move(shard.url));
  if (!shards.empty()) return shards;
  throw Error(ErrorCode::not_found, fmt::format("wids index '{}' names no shard", path), path);
}

namespace {

constexpr std::size_t kLongestExtension = 8;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// "x.idx" and "x.mp4", but neither "v1.0" nor ".hidden".
bool has_extension(std::string_view name) {
  const auto [stem, extension] = formats::split_extension(name);
  return !stem.empty() && extension.size() <= kLongestExtension && std::ranges::any_of(extension, is_letter) &&
         std::ranges::all_of(extension, [](char c) { return is_letter(c) || is_digit(c); });
}

bool has_known_extension(std::string_view name) {
  return name.ends_with(".tar") || name.ends_with(".txt") || name.ends_with(".json") || is_compressed_tar_name(name);
}

std::string base_name(const ObjectPlace& place) {
  return decoded(place, std::string_view(place.path).substr(place.folder().path.size()));
}

/// The part of an operand that may be a pattern: of a URL neither its login nor its query, which messages never show.
std::pair<std::size_t, std::size_t> pattern_part(std::string_view operand) {
  const std::size_t scheme = operand.find("://");
  if (scheme == std::string_view::npos) return {0, operand.size()};
  const std::size_t host = scheme + 3;
  const std::size_t end =
      net::is_s3_url(operand) ? operand.size() : std::min(operand.find_first_of("?#", host), operand.size());
  const std::size_t path = std::min(operand.find('/', host), end);
  const std::size_t at = operand.substr(0, path).rfind('@');
  return {at == std::string_view::npos || at < host ? host : at + 1, end};
}

/// The operands that a pattern stands for; none when it is no pattern.
std::vector<std::string> expanded(const std::string& operand) {
  const auto [begin, end] = pattern_part(operand);
  const std::string pattern = operand.substr(begin, end - begin);
  if (pattern.find('{') == std::string::npos) return {};
  std::vector<std::string> operands = formats::expand_braces(pattern);
  if (operands.size() == 1 && operands.front() == pattern) return {};
  for (std::string& one : operands) one = fmt::format("{}{}{}", operand.substr(0, begin), one, operand.substr(end));
  return operands;
}

class Resolver {
 public:
  explicit Resolver(ObjectOpener& opener) : opener_(opener) {}

  void add_operand(const std::string& operand) {
    if (operand.empty()) throw Error(ErrorCode::usage, "a source is named by an empty text");
    if (!is_address(operand)) return add_local(operand);
    const auto operands = expanded(operand);
    for (const std::string& one : operands) add(parse_place(one));
    if (!operands.empty()) return;
    const ObjectPlace place = parse_place(operand);
    const bool is_file = place.kind == ObjectPlace::Kind::s3 ? is_s3_object(place) : has_extension(base_name(place));
    if (is_file && !place.is_folder()) return add_file(place);
    add_folder(place);
  }

  OperandPlaces take() {
    // A source that is named as a whole has its objects already.
    std::erase_if(places_.objects, [&](const ObjectPlace& object) {
      return std::ranges::any_of(places_.folders, [&](const ObjectPlace& folder) {
        return object.path.starts_with(folder.path) && object.access() == folder.access();
      });
    });
    return std::move(places_);
  }

 private:
  void add_local(const std::string& operand) {
    std::error_code error;
    const fs::file_status status = fs::status(operand, error);
    if (fs::is_directory(status)) return add_folder(parse_place(operand));
    if (fs::exists(status)) return add_file(parse_place(operand));
    // A pattern may be longer than any name.
    const bool absent = error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory ||
                        error == std::errc::filename_too_long;
    if (error && !absent) throw system_error(error.value(), "look at", operand);
    const auto operands = expanded(operand);
    if (operands.empty()) throw system_error(ENOENT, "open", operand);
    for (const std::string& one : operands) add(parse_place(one));
  }

  bool is_s3_object(const ObjectPlace& place) {
    if (place.is_folder()) return false;
    if (has_known_extension(base_name(place))) return true;
    const OpenObject open = opener_.object(place);
    try {
      if (!open.source->find(open.name)) return false;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::denied) return false;  // so is whoever may read what lies below it, and not list
      throw;
    }
    return open.source->names_in(open.name).empty();
  }

  /// A file by what its name says it holds.
  void add_file(const ObjectPlace& place) {
    const std::string name = base_name(place);
    if (name == formats::kManifestName) return add_manifest(place);
    if (name.ends_with(".txt")) return add_all(place, listed_shards(opener_.text(place), place.display()));
    if (name.ends_with(".json")) return add_all(place, wids_shards(opener_.text(place), place.display()));
    add(place);
  }

  void add_manifest(const ObjectPlace& place) {
    if (opener_.exists(place)) return add_folder(place.folder());
    throw Error(ErrorCode::not_found, fmt::format("'{}' is not there", place.display()), place.display());
  }

  void add_all(const ObjectPlace& list, const std::vector<std::string>& entries) {
    for (const std::string& entry : entries) add(place_in_list(list, entry));
  }

  void add_folder(ObjectPlace place) {
    if (!place.is_folder()) place.path += '/';
    add(place);
  }

  void add(const ObjectPlace& place) {
    if (!seen_.insert(fmt::format("{}\n{}", place.access(), place.path)).second) return;
    (place.is_folder() ? places_.folders : places_.objects).push_back(place);
  }

  ObjectOpener& opener_;
  OperandPlaces places_;
  std::set<std::string> seen_;
};

}  // namespace

OperandPlaces resolve_operands(const std::vector<std::string>& operands, ObjectOpener& opener) {
  if (operands.empty()) {
    throw Error(
        ErrorCode::usage,
        "no source was named; name a folder, a file, a pattern x-{000..146}.tar, a list (*.txt) or a wids index "
        "(*.json): local, s3:// or http(s)://");
  }
  Resolver resolver(opener);
  for (const std::string& operand : operands) resolver.add_operand(operand);
  return resolver.take();
}

}  // namespace shardkit::catalog
