#include "catalog/kept_files.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "catalog/image_folder.hpp"
#include "catalog/image_table.hpp"
#include "core/command_text.hpp"
#include "core/error.hpp"
#include "core/remedies.hpp"

namespace shardkit::catalog {
namespace {

/// As the printed command would scan it; empty if it would fail.
std::optional<ImageFolderScan> scan_quietly(const SourceFolder& source, const ScanOptions& options) {
  Context quiet;
  try {
    return scan_image_folder(source, options, quiet);
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool is_coco_about(const std::string& file, const SourceFolder& source, const ImageFolderScan& scan) {
  Context quiet;
  try {
    const RowIndex rows(file, "path", source, quiet);
    return std::ranges::any_of(scan.classes, [&](const ScannedClass& owner) {
      return !owner.files.empty() && !rows.find(owner.path_of(owner.files.front())).empty();
    });
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::string command_that_keeps(const SourceFolder& source, const std::string& folder, std::string words, bool labeled) {
  const SourceFolder images = source.store ? SourceFolder(folder, true, source.inputs) : SourceFolder(folder);
  ScanOptions options{.allow_empty = true, .unlabeled = !labeled};
  const auto scan = scan_quietly(images, options);
  std::map<std::string, std::uint64_t> left = scan ? scan->ignored.kinds : std::map<std::string, std::uint64_t>();
  for (const auto& [kind, count] : left) {
    if (kind.starts_with('.') && !is_coco_name(kind)) options.sidecars.push_back(kind);
  }
  if (const auto with = options.sidecars.empty() ? std::nullopt : scan_quietly(images, options)) {
    for (const std::string& kind : options.sidecars) {
      const auto found = with->ignored.kinds.find(kind);
      const std::uint64_t still = found == with->ignored.kinds.end() ? 0 : found->second;
      if (still < left[kind]) words += " --sidecar " + shell_word(kind);
      left[kind] = still;
    }
  }
  for (const std::string& name : scan ? scan->ignored.first : std::set<std::string>()) {
    if (!is_coco_name(name) || !is_coco_about(images.path_of(name), images, *scan)) continue;
    words += " --metadata " + shell_word(images.path_of(name));
    --left[".json"];
    break;
  }
  std::vector<std::string> counts;
  for (const auto& [kind, count] : left) {
    if (count > 0) counts.push_back(fmt::format("{} {}", count, kind));
  }
  return remedy::in_text(remedy::convert(images.path, words)) +
         (counts.empty() ? "" : fmt::format(", which leaves out {}", fmt::join(counts, " and ")));
}

}  // namespace shardkit::catalog
