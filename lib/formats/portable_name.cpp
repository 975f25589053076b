#include "formats/portable_name.hpp"

#include <fmt/format.h>

#include "core/hash.hpp"
#include "core/text.hpp"
#include "formats/tar_header.hpp"

namespace shardkit::formats {
namespace {

constexpr std::size_t kHashMark = 17;      // '-' and 16 digits
constexpr std::size_t kCollisionMark = 9;  // '-' and 8 digits
constexpr std::size_t kShortestCutKey = 30;

bool is_portable(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '-'; }

void append_portable(std::string& out, char c) {
  if (is_portable(c)) {
    out += c;
  } else {
    fmt::format_to(std::back_inserter(out), "~{:02X}", static_cast<unsigned char>(c));
  }
}

/// Calls `use` for each part between separators, empty ones too.
template <class Use>
void for_each_part(std::string_view text, char separator, const Use& use) {
  while (true) {
    const std::size_t end = text.find(separator);
    use(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

/// In lower case and portable, but for the characters in `kept`.
std::string lower_portable(std::string_view text, std::string_view kept) {
  std::string out;
  for (const char c : text) {
    if (kept.find(c) != std::string_view::npos) {
      out += c;
    } else {
      const std::size_t start = out.size();
      append_portable(out, c);
      for (std::size_t i = start; i < out.size(); ++i) out[i] = lower_case(out[i]);
    }
  }
  return out;
}

/// Cut to `longest` bytes if longer, with a mark from the hash of `hashed` at its end.
std::string shortened(std::string key, std::size_t longest, std::string_view hashed) {
  if (key.size() <= longest) return key;
  key.resize(longest - kHashMark);
  while (key.ends_with('/')) key.pop_back();
  return key + '-' + to_hex(xxh3_64(as_bytes(hashed)));
}

bool is_carried_key(std::string_view key) {
  bool carried = true;
  for_each_part(key, '/', [&](std::string_view part) {
    carried = carried && !part.empty() && !part.starts_with("__");
    for (const char c : part) carried = carried && (is_portable(c) || c == '~');
  });
  return carried;
}

/// The key before it is cut or marked by a hash. A list may give an image of any folder any class; the class's own
/// folder is not written twice.
std::string whole_key(std::string_view class_name, std::string_view path, bool with_extension) {
  std::string_view below = path;
  if (below.size() > class_name.size() && below.starts_with(class_name) && below[class_name.size()] == '/') {
    below.remove_prefix(class_name.size() + 1);
  }
  std::string key = class_name.empty() ? std::string() : portable_component(class_name);
  const std::size_t name = below.rfind('/') + 1;  // npos + 1 is 0
  if (!with_extension) below = below.substr(0, name + split_extension(below.substr(name)).stem.size());
  for_each_part(below, '/', [&](std::string_view part) {
    if (!key.empty()) key += '/';
    key += portable_component(part);
  });
  return key;
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

std::string image_key(std::string_view class_name, std::string_view path, KeyMark mark, std::size_t longest_field) {
  const std::string whole = whole_key(class_name, path, mark == KeyMark::extension);
  const std::size_t of_mark = mark == KeyMark::hash ? kCollisionMark : 0;
  const auto cut_to = [&](std::size_t longest) {
    const std::string key = shortened(whole, longest, path);
    return of_mark > 0 ? marked_key(key, path) : key;
  };
  std::string key = cut_to(kLongestKey);
  if (key.size() + 1 + longest_field <= kTarNameLimit) return key;
  if (longest_field + 1 + of_mark + kShortestCutKey > kTarNameLimit) return key;
  return cut_to(kTarNameLimit - 1 - longest_field - of_mark);
}

std::string uncut_key(std::string_view key, std::string_view path) {
  const std::size_t mark = key.rfind('-' + to_hex(xxh3_64(as_bytes(path))));
  if (mark == std::string_view::npos) return std::string(key);
  // The first folder of the path is the class, or it is below another class.
  const std::string below = whole_key({}, path, false);
  for (const std::string& whole : {below, fmt::format("{}/{}", key.substr(0, key.find('/')), below)}) {
    if (whole.starts_with(key.substr(0, mark))) return whole;
  }
  return std::string(key);
}

std::string marked_key(const std::string& key, std::string_view path) {
  return key + '-' + to_hex(xxh3_64(as_bytes(path))).substr(0, 8);
}

std::string portable_moved_key(std::string_view key, std::size_t longest) {
  std::string_view name = key;
  while (name.starts_with("./") || name.starts_with('/')) name.remove_prefix(name.starts_with('/') ? 1 : 2);
  if (is_carried_key(name)) return shortened(std::string(name), longest, key);
  std::string mapped;
  for_each_part(name, '/', [&](std::string_view part) {
    if (!mapped.empty()) mapped += '/';
    mapped += portable_component(part);
  });
  return shortened(std::move(mapped), longest, key);
}

std::string portable_moved_extension(std::string_view extension) { return lower_portable(extension, ".~"); }

std::string portable_extension(std::string_view extension) {
  if (extension.starts_with('.') || extension.starts_with('_') || extension.starts_with('-'))
    extension.remove_prefix(1);
  std::string out = lower_portable(extension, ".");
  return out == "jpeg" ? "jpg" : out;
}

NameParts split_extension(std::string_view file_name) {
  const std::size_t dot = file_name.rfind('.');
  if (dot == std::string_view::npos) return {file_name, {}};
  return {file_name.substr(0, dot), file_name.substr(dot + 1)};
}

}  // namespace shardkit::formats
