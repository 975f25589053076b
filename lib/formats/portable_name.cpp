#include "formats/portable_name.hpp"

#include <fmt/format.h>

#include "core/hash.hpp"

namespace shardkit {
namespace {

constexpr std::size_t kHashMark = 17;  // '-' and 16 digits

bool is_portable(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

void append_portable(std::string& out, char c) {
  if (is_portable(c)) {
    out += c;
  } else {
    fmt::format_to(std::back_inserter(out), "~{:02X}", static_cast<unsigned char>(c));
  }
}

}  // namespace

std::string portable_component(std::string_view component) {
  if (component.empty()) return "~";
  std::string out;
  if (component.starts_with("__")) {
    out = "~5F";
    component.remove_prefix(1);
  }
  for (const char c : component) append_portable(out, c);
  return out;
}

std::string portable_key(std::string_view class_name, std::string_view stem, std::string_view path) {
  std::string key = portable_component(class_name) + '/' + portable_component(stem);
  if (key.size() <= kLongestKey) return key;
  key.resize(kLongestKey - kHashMark);
  while (key.ends_with('/')) key.pop_back();
  return key + '-' + to_hex(xxh3_64(as_bytes(path)));
}

std::string marked_key(const std::string& key, std::string_view path) {
  return key + '-' + to_hex(xxh3_64(as_bytes(path))).substr(0, 8);
}

std::string portable_extension(std::string_view extension) {
  if (extension.starts_with('.') || extension.starts_with('_') || extension.starts_with('-'))
    extension.remove_prefix(1);
  std::string out;
  for (const char c : extension) {
    if (c == '.') {
      out += c;
    } else {
      append_portable(out, c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
    }
  }
  return out == "jpeg" ? "jpg" : out;
}

NameParts split_extension(std::string_view file_name) {
  const std::size_t dot = file_name.rfind('.');
  if (dot == std::string_view::npos) return {file_name, {}};
  return {file_name.substr(0, dot), file_name.substr(dot + 1)};
}

}  // namespace shardkit
