#include "catalog/kept_files.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "catalog/image_folder.hpp"
#include "catalog/image_table.hpp"
#include "core/command_text.hpp"
#include "core/error.hpp"
#include "core/remedies.hpp"
#include "core/units.hpp"

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

std::string unlabeled_command(const SourceFolder& source, const std::string& folder) {
  const SourceFolder images =
      source.store ? SourceFolder(source.path_of(folder), true, source.inputs) : source.below(folder);
  ScanOptions options{.allow_empty = true, .unlabeled = true};
  std::string words = " --unlabeled";
  std::string left_out;
  if (const auto scan = scan_quietly(images, options)) {
    for (const std::string& name : scan->ignored.first) {
      if (!is_coco_name(name) || !is_coco_about(images.path_of(name), images, *scan)) continue;
      words += " --metadata " + shell_word(images.path_of(name));
      break;
    }
    for (const auto& [kind, count] : scan->ignored.kinds) {
      const bool is_read = kind == ".json" && words.find(" --metadata ") != std::string::npos;
      std::uint64_t left = is_read ? count - 1 : count;
      options.sidecars.push_back(kind);
      if (const auto with =
              kind.starts_with('.') && !is_coco_name(kind) ? scan_quietly(images, options) : std::nullopt) {
        const auto still = with->ignored.kinds.find(kind);
        left = still == with->ignored.kinds.end() ? 0 : still->second;
      }
      if (left < count && !is_read) words += " --sidecar " + kind;
      if (left == count) options.sidecars.pop_back();
      if (left > 0) left_out += fmt::format("{}{} {}", left_out.empty() ? ", which leaves out " : ", ", left, kind);
    }
  }
  return remedy::in_text(remedy::convert(images.path, words)) + left_out;
}

}  // namespace shardkit::catalog
