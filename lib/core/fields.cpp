#include "core/fields.hpp"

#include <cctype>

namespace shardkit {
namespace {

/// Whether `words` ("_per_second") stands in `name` ("files_per_second", "per_second_max") as whole words.
bool contains_words(const std::string& name, std::string_view words) {
  return ("_" + name + "_").find(std::string(words) + "_") != std::string::npos;
}

}  // namespace

std::string json_name(const Field& field, Unit group) {
  std::string name;
  for (const char c : field.name) {
    name += c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (field.unit == group) return name;
  const std::string_view suffix = unit_suffix(field.unit);
  if (!contains_words(name, suffix)) name += suffix;
  return name;
}

}  // namespace shardkit
