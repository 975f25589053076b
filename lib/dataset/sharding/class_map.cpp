#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/json.hpp"
#include "dataset/sharding/sharding_options.hpp"
#include "formats/sample_name.hpp"

namespace shardkit::dataset {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

using Labels = std::map<std::string, std::uint64_t>;

[[noreturn]] void bad(const std::string& path, const std::string& why) {
  throw Error(ErrorCode::corrupt, At{path}, "class map '{}': {}", path, why);
}

/// An array has the names in the order of their labels, as a list of lines has.
Labels from_json_array(const nlohmann::json& json, const std::string& path) {
  Labels labels;
  for (const nlohmann::json& name : json) {
    if (!name.is_string() || name.get_ref<const std::string&>().empty())
      bad(path, fmt::format("element {} of the array is not the name of a class", labels.size() + 1));
    if (!labels.emplace(name, labels.size()).second)
      bad(path, fmt::format("element {} repeats '{}'", labels.size() + 1, name.get_ref<const std::string&>()));
  }
  return labels;
}

Labels from_json(const std::string& text, const std::string& path) {
  Labels labels;
  // nlohmann keeps the last of two equal names; a class map with two is a mistake, so they are counted while parsing.
  std::size_t names = 0;
  const auto count = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json&) {
    if (depth == 1 && event == nlohmann::json::parse_event_t::key) ++names;
    return true;
  };
  const nlohmann::json json = nlohmann::json::parse(text, count, false);
  if (json.is_array()) return from_json_array(json, path);
  if (!json.is_object()) bad(path, "is neither a JSON object {\"class\": label} nor an array of names");
  for (const auto& [name, label] : json.items()) {
    const auto number = json_count(label);
    if (!number || *number > formats::kLargestLabel) {
      bad(path, fmt::format("the label of '{}' is not {}", name, formats::kLabelRange));
    }
    labels[name] = *number;
  }
  if (names != labels.size()) bad(path, "lists a class twice");
  return labels;
}

void refuse_utf16(std::string_view text, const std::string& path) {
  const bool is_marked = text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
  if (!is_marked && text.find('\0') == std::string_view::npos) return;
  bad(path, fmt::format("{}; save it as UTF-8",
                        is_marked ? "is in UTF-16" : "is not UTF-8: it has zero bytes, as UTF-16 has"));
}

Labels from_lines(std::string_view text, const std::string& path) {
  Labels labels;
  std::uint64_t label = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) bad(path, fmt::format("line {} is empty", label + 1));
    if (!labels.emplace(line, label).second) bad(path, fmt::format("line {} repeats '{}'", label + 1, line));
    ++label;
  }
  return labels;
}

}  // namespace

Labels read_class_map(const std::string& path, catalog::Inputs& inputs) {
  if (path.empty()) return {};
  std::string text = inputs.text(path, 64U * 1024U * 1024U);
  refuse_utf16(text, path);
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) bad(path, "is empty");
  Labels labels = text[first] == '{' || text[first] == '[' ? from_json(text, path) : from_lines(text, path);
  if (labels.empty()) bad(path, "names no class");
  return labels;
}

}  // namespace shardkit::dataset
