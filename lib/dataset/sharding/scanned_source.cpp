#include "dataset/sharding/scanned_source.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "catalog/file_metadata.hpp"
#include "catalog/image_keys.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "formats/portable_name.hpp"
#include "formats/sample_name.hpp"
#include "system/limits.hpp"

namespace shardkit::dataset {
namespace {

using Labels = std::map<std::string, std::uint64_t>;

[[noreturn]] void bad(const std::string& path, const std::string& why) {
  throw Error(ErrorCode::corrupt, fmt::format("class map '{}': {}", path, why), path);
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
  if (!json.is_object()) bad(path, "is not a JSON object {\"class\": label}");
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

/// Reads labels by class name: a JSON object {"name": label}, or text with one class name a line, the first label 0;
/// empty without a path. Throws Error{corrupt} with the position of a repeated name or a label that is not a whole
/// number.
Labels read_class_map(const std::string& path, catalog::Inputs& inputs) {
  if (path.empty()) return {};
  const std::string text = inputs.text(path, 64U * 1024U * 1024U);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) bad(path, "is empty");
  Labels labels = text[first] == '{' ? from_json(text, path) : from_lines(text, path);
  if (labels.empty()) bad(path, "names no class");
  return labels;
}

Labels numbered(const std::vector<std::string>& classes) {
  Labels numbers;
  for (const std::string& name : classes) numbers.emplace(name, numbers.size());
  return numbers;
}

/// `map_file` is the name of `class_map` for messages.
std::vector<std::optional<std::uint64_t>> labels_of(const catalog::ImageFolderScan& scan, const Labels& class_map,
                                                    const std::vector<std::string>& classes,
                                                    const std::string& map_file) {
  std::vector<std::optional<std::uint64_t>> labels = catalog::labels_by_position(scan);
  if (!scan.labeled() || (class_map.empty() && classes.empty())) return labels;
  const Labels known = class_map.empty() ? numbered(classes) : class_map;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::string& name = scan.classes[i].name;
    if (name.empty()) continue;
    const auto found = known.find(name);
    if (found == known.end()) {
      throw Error(ErrorCode::not_found,
                  class_map.empty()
                      ? fmt::format("class folder '{}' appeared while the source was scanned; try again", name)
                      : fmt::format("class '{}' is not in the class map '{}'", name, map_file),
                  name);
    }
    labels[i] = found->second;
  }
  return labels;
}

/// Reads --metadata and, for images with several, the labels or rows of a list.
std::shared_ptr<catalog::ImageNotes> read_notes(const catalog::SourceFolder& images, const ShardingOptions& options,
                                                const std::optional<catalog::ImageListOptions>& labels, Context& ctx) {
  auto notes = std::make_shared<catalog::ImageNotes>();
  if (!options.metadata.empty()) notes->add_metadata(options.metadata, options.images.path_column, images, ctx);
  if (labels) notes->add_labels(*labels, images, ctx);
  return notes->empty() ? nullptr : notes;
}

/// A row and a file would both become the sample's .json.
void refuse_two_jsons(const catalog::ImageFolderScan& scan, const catalog::SourceFolder& images) {
  for (const catalog::ScannedClass& owner : scan.classes) {
    for (const catalog::ScannedMember& member : owner.members) {
      if (scan.member_name(member) != "json") continue;
      const std::string path = images.path_of(owner.path_of(member.file));
      throw Error(ErrorCode::conflict,
                  fmt::format("'{}' and a row of a table would both be the sample's .json; declare the file as a field "
                              "with another name, such as --field 'notes.json={{dir}}/{{stem}}.json'",
                              path),
                  path);
    }
  }
}

void warn_of_images_without_rows(const ScannedSource& source, const ShardingOptions& options, Context& ctx) {
  std::uint64_t without = 0;
  for (const catalog::ScannedClass& owner : source.scan.classes) {
    for (const catalog::ScannedFile& file : owner.files) {
      if (!source.notes->knows(owner.path_of(file))) ++without;
    }
  }
  if (without > 0) {
    ctx.warn("images_without_metadata",
             fmt::format("{} without a row in '{}': no .json", format_count(without, "image"), options.metadata));
  }
}

void hold_against_notes(ScannedSource& source, const ShardingOptions& options, Context& ctx) {
  refuse_two_jsons(source.scan, source.images);
  if (options.metadata.empty()) return;
  const catalog::ImageNotes::Unused unused = source.notes->unused(source.scan);
  if (unused.rows > 0) {
    ctx.warn("metadata_rows_unused", fmt::format("{} of '{}' name no image of the source, the first in line {}",
                                                 format_count(unused.rows, "row"), options.metadata, unused.line));
  }
  if (options.on_bad == OnBad::keep) return warn_of_images_without_rows(source, options, ctx);
  catalog::leave_out(
      source.scan, [&](const catalog::ScannedClass& owner, const catalog::ScannedFile& file) -> std::optional<Error> {
        if (source.notes->knows(owner.path_of(file))) return std::nullopt;
        const std::string path = source.images.path_of(owner.path_of(file));
        return Error(ErrorCode::corrupt, fmt::format("'{}' has no row in the table of --metadata", path), path);
      });
}

/// The required fields that each sample lacks, as one text; empty for samples that have all.
std::vector<std::string> fields_lacking(const catalog::ImageFolderScan& scan, const catalog::ScannedClass& owner,
                                        std::map<std::string, std::uint64_t>& optional_lacking) {
  std::vector<std::vector<bool>> has(scan.fields.size(), std::vector<bool>(owner.files.size()));
  for (const catalog::ScannedMember& member : owner.members) has[member.field][member.image] = true;
  std::vector<std::string> lacking(owner.files.size());
  for (std::size_t field = 0; field < scan.fields.size(); ++field) {
    if (scan.fields[field].beside) continue;
    for (std::size_t image = 0; image < lacking.size(); ++image) {
      if (has[field][image]) continue;
      if (scan.fields[field].required) {
        lacking[image] += (lacking[image].empty() ? "" : ", ") + scan.fields[field].name;
      } else {
        ++optional_lacking[scan.fields[field].name];
      }
    }
  }
  return lacking;
}

/// A sample that lacks a required field is a bad one; those that lack an optional one are counted.
void settle_fields(ScannedSource& source, const ShardingOptions& options, Context& ctx) {
  if (options.fields.empty()) return;
  std::map<std::string, std::uint64_t> optional_lacking;
  std::map<const catalog::ScannedClass*, std::vector<std::string>> lacking;
  for (const catalog::ScannedClass& owner : source.scan.classes) {
    lacking.emplace(&owner, fields_lacking(source.scan, owner, optional_lacking));
  }
  for (const auto& [name, samples] : optional_lacking) {
    ctx.warn("field_missing", fmt::format("{} without the optional field '{}'", format_count(samples, "sample"), name));
  }
  if (options.on_bad == OnBad::keep) return;
  catalog::leave_out(
      source.scan, [&](const catalog::ScannedClass& owner, const catalog::ScannedFile& file) -> std::optional<Error> {
        const std::string& names = lacking.at(&owner)[static_cast<std::size_t>(&file - owner.files.data())];
        if (names.empty()) return std::nullopt;
        const std::string path = source.images.path_of(owner.path_of(file));
        return Error(ErrorCode::corrupt, fmt::format("'{}' lacks a required field: {}", path, names), path);
      });
}

/// As a --field: a suffix that no file has would turn the files that are meant into samples of their own.
void refuse_unused_sidecars(const ScannedSource& source, const ShardingOptions& options) {
  const catalog::ImageFolderScan& scan = source.scan;
  std::set<std::string> found;
  for (const catalog::ScannedClass& owner : scan.classes) {
    for (const catalog::ScannedMember& member : owner.members) found.insert(scan.fields[member.field].name);
  }
  for (const std::string& suffix : options.sidecars) {
    if (found.contains(formats::portable_extension(suffix)) || scan.images() == 0) continue;
    const auto owner = std::ranges::find_if(scan.classes, [](const auto& item) { return !item.files.empty(); });
    const std::string path = owner->path_of(owner->files.front());
    const std::string_view stem = formats::split_extension(std::string_view(path).substr(path.rfind('/') + 1)).stem;
    throw Error(
        ErrorCode::not_found,
        fmt::format("--sidecar '{}' matches no file below '{}': for '{}' it would be '{}{}'; correct the "
                    "suffix, or leave it out",
                    suffix, source.images.path, path, path.substr(0, path.rfind('/') + 1 + stem.size()), suffix),
        source.images.path);
  }
}

void warn_of_ignored(const catalog::ImageFolderScan& scan, Context& ctx) {
  if (scan.ignored.empty()) return;
  std::uint64_t files = 0;
  std::vector<std::string> kinds;
  for (const auto& [kind, count] : scan.ignored) {
    files += count;
    kinds.push_back(fmt::format("{} {}", count, kind));
  }
  ctx.warn("files_ignored", fmt::format("{} ignored, because they belong to no sample: {}", format_count(files, "file"),
                                        fmt::join(kinds, ", ")));
}

}  // namespace

catalog::ImageListOptions image_list(const ListOptions& images, std::map<std::string, std::uint64_t> class_map,
                                     catalog::Inputs& inputs) {
  return {inputs.add_named(images.list), images.path_column, images.label_column, images.label_separator,
          std::move(class_map)};
}

ScannedSource scan_source(const catalog::SourceFolder& images, const ShardingOptions& given, const SourceSet& set,
                          std::optional<std::uint64_t> threads, Context& ctx) {
  check(given);
  ShardingOptions options = given;  // with names that may be shown
  options.metadata = images.inputs->add_named(given.metadata);
  options.class_map = images.inputs->add_named(given.class_map);
  const auto start = std::chrono::steady_clock::now();
  catalog::ScanOptions scanning = scan_options(options, set.name);
  scanning.cores = system::thread_count(threads);
  ScannedSource source{images, {}, {}, nullptr, read_class_map(options.class_map, *images.inputs), 0};
  const Labels& class_map = source.class_map;
  std::optional<catalog::ImageListOptions> several;
  if (options.images.list.empty()) {
    source.scan = catalog::scan_image_folder(images, scanning, ctx);
    warn_of_ignored(source.scan, ctx);
  } else {
    const catalog::ImageListOptions rows = image_list(options.images, class_map, *images.inputs);
    catalog::ImageList list = catalog::scan_image_list(images, rows, scanning, ctx);
    source.scan = std::move(list.scan);
    if (list.several_labels || list.several_rows) several = rows;
  }
  refuse_unused_sidecars(source, options);
  settle_fields(source, options, ctx);
  source.notes = read_notes(images, options, several, ctx);
  if (source.notes) source.notes->settle(source.scan);
  if (source.notes) hold_against_notes(source, options, ctx);
  catalog::choose_keys(source.scan);
  source.labels = labels_of(source.scan, class_map, set.classes, options.class_map);
  source.scan_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return source;
}

ScannedSource scan_whole_source(const catalog::SourceFolder& images, const ShardingOptions& options,
                                const SourceSet& set, std::optional<std::uint64_t> threads,
                                const std::set<std::string>& left_out, Context& ctx) {
  ScannedSource source = scan_source(images, options, set, threads, ctx);
  catalog::SourceFolder with_unreadable = images;
  std::uint64_t unreadable = 0;
  for (const catalog::ScanProblem& problem : source.scan.problems) {
    const ErrorCode code = problem.error.code();
    if ((code != ErrorCode::not_found && code != ErrorCode::denied) || left_out.contains(problem.path)) continue;
    catalog::FileState none;
    if (images.store) none.version.emplace();
    with_unreadable.known.emplace(problem.path, none);
    ++unreadable;
  }
  if (unreadable == 0 || unreadable > most_bad(options.max_bad, source.scan.images() + unreadable)) return source;
  ctx.warn("files_unreadable", fmt::format("{} cannot be read yet; the plan reserves a position for {}",
                                           format_count(unreadable, "file"), unreadable == 1 ? "it" : "them"));
  return scan_source(with_unreadable, options, set, threads, ctx);
}

void warn_of_classes(const ScannedSource& source, const SourceSet& set, Context& ctx) {
  const std::vector<catalog::ScannedClass>& classes = source.scan.classes;
  if (source.scan.listed || !source.class_map.empty() || classes.empty()) return;
  const std::size_t count = std::max(classes.size(), set.classes.size());
  if (count == 1) {
    const std::string& name = classes.front().name;
    const bool nested = std::ranges::any_of(classes.front().files, [&](const catalog::ScannedFile& file) {
      return classes.front().name_of(file).find('/') != std::string_view::npos;
    });
    ctx.warn(
        "one_class",
        fmt::format(
            "all samples get one label, because '{}' is the only folder in the source. {}For images without "
            "labels use --unlabeled",
            name,
            nested ? fmt::format("If the classes are the folders in it, convert '{}'. ", source.images.path_of(name))
                   : std::string()));
  }
  std::optional<std::size_t> at;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const std::optional<std::uint64_t> number = parse_count(classes[c].name);
    if (!number) return;
    if (!at && number != source.labels[c]) at = c;
  }
  if (!at) return;
  ctx.warn(
      "labels_differ_from_names",
      fmt::format("class folders have numbers as names, but '{}' gets label {}: labels follow the bytewise order of "
                  "names; to use the numbers, give a --class-map",
                  classes[*at].name, source.labels[*at].value_or(0)));
}

}  // namespace shardkit::dataset
