#include "cli/report_places.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "core/error.hpp"

namespace shardkit {
namespace {

/// Operands, and the files that options name, to be read or written.
void take_named(const std::vector<FieldNode>& options, std::vector<std::string>& files) {
  for (const FieldNode& option : options) {
    const bool names_files = !option.is_option() || option.field.value_name == "FILE";
    const auto* const file = std::get_if<std::string>(&option.value);
    const auto* const several = std::get_if<std::vector<std::string>>(&option.value);
    if (names_files && file != nullptr && !file->empty()) files.push_back(*file);
    if (names_files && several != nullptr) files.insert(files.end(), several->begin(), several->end());
    take_named(option.children, files);
  }
}

bool are_one_file(const std::string& a, const std::string& b) {
  namespace fs = std::filesystem;
  std::error_code error;  // what is not there yet is known by its name alone
  if (fs::equivalent(a, b, error)) return true;
  return fs::weakly_canonical(fs::absolute(a, error), error) == fs::weakly_canonical(fs::absolute(b, error), error);
}

}  // namespace

void require_places_apart(const std::vector<std::string>& reports, const std::vector<FieldNode>& options) {
  std::vector<std::string> files = reports;
  take_named(options, files);
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const auto others = files.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    if (std::none_of(others, files.end(), [&](const std::string& file) { return are_one_file(reports[i], file); })) {
      continue;
    }
    throw Error(
        ErrorCode::usage,
        fmt::format("'{}' was named for a report and for something else, and one of the two would be lost: name "
                    "another file for the report",
                    reports[i]),
        reports[i]);
  }
}

}  // namespace shardkit
