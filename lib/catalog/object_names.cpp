#include "catalog/object_names.hpp"

#include <string_view>
#include <unordered_set>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/units.hpp"
#include "formats/tsv.hpp"

namespace shardkit {
namespace {

constexpr std::size_t kLongestComponent = 255;  // NAME_MAX of every file system in use

std::string_view trouble_of_component(std::string_view component) {
  if (component.empty()) return "a part between its slashes is empty";
  if (component == "." || component == "..") return "a part of it is '.' or '..'";
  if (component.find('\0') != std::string_view::npos) return "it holds a NUL";
  if (component.size() > kLongestComponent) return "a part of it is longer than 255 bytes";
  return {};
}

/// Why `name` can be no file; empty when it can.
std::string_view trouble_of(std::string_view name) {
  while (true) {
    const std::size_t slash = name.find('/');
    const std::string_view trouble = trouble_of_component(name.substr(0, slash));
    if (!trouble.empty() || slash == std::string_view::npos) return trouble;
    name.remove_prefix(slash + 1);
  }
}

/// For a message, whose text ends at a NUL.
std::string readable(std::string_view name) {
  std::string text;
  append_escaped(text, name.substr(0, name.find('\0')));
  return name.find('\0') == std::string_view::npos ? text : text + "\\0...";
}

std::unordered_set<std::string_view> folders_of(const std::vector<std::string>& names) {
  std::unordered_set<std::string_view> folders;
  for (const std::string_view name : names) {
    for (std::size_t slash = name.rfind('/'); slash != std::string_view::npos && slash > 0;
         slash = name.rfind('/', slash - 1)) {
      if (!folders.insert(name.substr(0, slash)).second) break;  // those above it are in as well
    }
  }
  return folders;
}

}  // namespace

void check_names(const std::vector<std::string>& names, const std::string& location) {
  const auto folders = folders_of(names);
  std::size_t bad = 0;
  std::string first;
  for (const std::string& name : names) {
    std::string_view trouble = trouble_of(name);
    if (trouble.empty() && folders.contains(name)) trouble = "other names have it as their folder";
    if (trouble.empty()) continue;
    if (bad++ == 0) first = fmt::format("'{}' ({})", readable(name), trouble);
  }
  if (bad == 0) return;
  throw Error(ErrorCode::unsupported,
              fmt::format("'{}' holds {} that cannot be files of a folder, first {}; rename them there, or name the "
                          "objects that are wanted: by a pattern x-{{000..146}}.tar, a list (*.txt) or a wids index",
                          location, format_count(bad, "name"), first),
              location);
}

}  // namespace shardkit
