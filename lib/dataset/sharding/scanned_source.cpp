#include "dataset/sharding/scanned_source.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <ranges>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "catalog/image_folder.hpp"
#include "catalog/image_table.hpp"
#include "catalog/set_folders.hpp"
#include "catalog/similar_name.hpp"
#include "catalog/tree_meaning.hpp"
#include "core/command_text.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/json.hpp"
#include "core/remedies.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "formats/portable_name.hpp"
#include "io/publish.hpp"
#include "system/limits.hpp"

namespace shardkit::dataset {
namespace {

using Labels = std::map<std::string, std::uint64_t>;
constexpr std::size_t kMostFilesNamed = 3;

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
    if (found == known.end() && !class_map.empty()) {
      const auto longer = known.upper_bound(name);
      const bool more = longer != known.end() && longer->first.starts_with(name) &&
                        std::string_view(" ,;\t").find(longer->first[name.size()]) != std::string_view::npos;
      throw Error(
          ErrorCode::not_found, At{name}, "class '{}' is not in the class map '{}'{}", name, map_file,
          more ? fmt::format(": each line is a whole class name, and one is '{}'", longer->first) : std::string());
    }
    if (found == known.end()) {
      throw Error(ErrorCode::not_found, At{name}, "class folder '{}' appeared while the source was scanned; try again",
                  name);
    }
    labels[i] = found->second;
  }
  return labels;
}

/// Reads --metadata and, for images with several, the labels or rows of a list.
std::shared_ptr<catalog::ImageNotes> read_notes(const catalog::SourceFolder& images, const ShardingOptions& options,
                                                const std::optional<catalog::ImageListOptions>& labels,
                                                Context& context) {
  auto notes = std::make_shared<catalog::ImageNotes>();
  if (!options.metadata.empty()) notes->add_metadata(options.metadata, options.images.path_column, images, context);
  if (labels) notes->add_labels(*labels, images, context);
  return notes->empty() ? nullptr : notes;
}

/// A row and a file would both become the sample's .json.
void refuse_two_jsons(const catalog::ImageFolderScan& scan, const catalog::SourceFolder& images) {
  for (const catalog::ScannedClass& owner : scan.classes) {
    for (const catalog::ScannedMember& member : owner.members) {
      if (scan.member_name(member) != "json") continue;
      const std::string path = images.path_of(owner.path_of(member.file));
      throw Error(ErrorCode::conflict, At{path},
                  "'{}' and a row of a table would both be the sample's .json; declare the file as a field with "
                  "another name, such as --field 'notes.json={{dir}}/{{stem}}.json'",
                  path);
    }
  }
}

void warn_of_images_without_rows(const ScannedSource& source, const ShardingOptions& options, Context& context) {
  std::uint64_t without = 0;
  for (const catalog::ScannedClass& owner : source.scan.classes) {
    for (const catalog::ScannedFile& file : owner.files) {
      if (!source.notes->knows(owner.path_of(file))) ++without;
    }
  }
  if (without > 0) {
    context.warn("images_without_metadata", "{} without a row in '{}' and so without .json",
                 format_count(without, "image"), options.metadata);
  }
}

/// No row of --metadata names an image: its paths are relative to another folder, or the column is another one.
[[noreturn]] void refuse_other_paths(const ScannedSource& source, const ShardingOptions& options) {
  catalog::ImageTable table(options.metadata, options.images.path_column, source.images);
  formats::TableRow row;
  nlohmann::ordered_json fields;
  std::string path;
  table.next(row, fields, path);
  const auto owner = std::ranges::find_if(source.scan.classes, [](const auto& item) { return !item.files.empty(); });
  throw Error(ErrorCode::not_found, At{options.metadata},
              "no row of '{}' names an image: line {} is '{}', but images are named as '{}', relative to "
              "'{}'{}; correct the paths in the table, or choose another --path-column",
              options.metadata, row.line, path, owner->path_of(owner->files.front()), source.images.path,
              catalog::similar_file(source.images, path).empty()
                  ? ""
                  : " (that file's name has another Unicode form, NFC or NFD, or '/' for '\\')");
}

void compare_with_notes(ScannedSource& source, const ShardingOptions& options, Context& context) {
  refuse_two_jsons(source.scan, source.images);
  if (options.metadata.empty()) return;
  const catalog::ImageNotes::Unused unused = source.notes->unused(source.scan);
  if (unused.all && source.scan.images() > 0) refuse_other_paths(source, options);
  if (unused.rows > 0 && unused.is_fault && options.on_bad.value_or(kDefaultOnBad) == OnBad::fail) {
    throw Error(ErrorCode::not_found, At{options.metadata},
                "{} of '{}' {} not in '{}', the first in line {}: if the source is complete, add --on-bad skip",
                format_count(unused.rows, "image"), options.metadata, unused.rows == 1 ? "is" : "are",
                source.images.path, unused.line);
  }
  if (unused.rows > 0) {
    context.warn("metadata_rows_unused", "{} of '{}' without an image in the source, the first in line {}",
                 format_count(unused.rows, "row"), options.metadata, unused.line);
  }
  if (options.on_bad == OnBad::keep) return warn_of_images_without_rows(source, options, context);
  catalog::leave_out(
      source.scan, [&](const auto& owner, const catalog::ScannedFile& file) -> std::optional<catalog::ScanProblem> {
        const std::string image = owner.path_of(file);
        if (source.notes->knows(image)) return std::nullopt;
        const std::string path = source.images.path_of(image);
        return {{image, Error(ErrorCode::corrupt, At{path}, Fault{"has no row in the table of --metadata"})}};
      });
}

/// The names of the required fields that each sample lacks.
std::vector<std::vector<std::string>> fields_lacking(const catalog::ImageFolderScan& scan,
                                                     const catalog::ScannedClass& owner,
                                                     std::map<std::string, std::uint64_t>& optional_lacking) {
  std::vector<std::vector<bool>> has(scan.fields.size(), std::vector<bool>(owner.files.size()));
  for (const catalog::ScannedMember& member : owner.members) has[member.field][member.image] = true;
  std::vector<std::vector<std::string>> lacking(owner.files.size());
  for (std::size_t field = 0; field < scan.fields.size(); ++field) {
    if (scan.fields[field].beside) continue;
    for (std::size_t image = 0; image < lacking.size(); ++image) {
      if (has[field][image]) continue;
      if (scan.fields[field].required) {
        lacking[image].push_back(scan.fields[field].name);
      } else {
        ++optional_lacking[scan.fields[field].name];
      }
    }
  }
  return lacking;
}

/// Where the file of a field would be; `path` is that of the sample, from the folder where templates start. Empty if
/// its stem lacks the SUFFIX of the template.
std::optional<catalog::FieldTemplate::FilePattern> looked_for(const ShardingOptions& options, const std::string& field,
                                                              const std::string& path) {
  for (const std::string& declared : options.fields) {
    const catalog::FieldTemplate made(declared);
    if (made.name() == field) return made.pattern_for(path);
  }
  return std::nullopt;
}

/// A sample of `set` that lacks these required fields. Files whose names the templates tell may still come.
catalog::ScanProblem lacking_sample(const catalog::SourceFolder& images, const ShardingOptions& options,
                                    const std::string& set, const std::string& image,
                                    const std::vector<std::string>& fields) {
  const std::string path = images.path_of(image);
  Fault fault{fmt::format("lacks a required field: {}", fmt::join(fields, ", "))};
  std::vector<std::string> unread;
  for (const std::string& field : fields) {
    const auto looked = looked_for(options, field, io::join_path(set, image));
    if (looked && fields.size() == 1) fault.details = fmt::format(" (looked for '{}')", looked->text());
    if (looked && looked->parts.size() == 1) unread.push_back(catalog::below_set(set, looked->text()));
  }
  if (unread.size() < fields.size()) unread.clear();
  return {image, Error(ErrorCode::corrupt, At{path}, std::move(fault)), std::move(unread)};
}

/// A sample that lacks a required field is a bad one; those that lack an optional one are counted.
void settle_fields(ScannedSource& source, const ShardingOptions& options, const std::string& set, Context& context) {
  if (options.fields.empty()) return;
  std::map<std::string, std::uint64_t> optional_lacking;
  std::map<const catalog::ScannedClass*, std::vector<std::vector<std::string>>> lacking;
  for (const catalog::ScannedClass& owner : source.scan.classes) {
    lacking.emplace(&owner, fields_lacking(source.scan, owner, optional_lacking));
  }
  for (const auto& [name, samples] : optional_lacking) {
    context.warn("field_missing", "{} without the optional field '{}'", format_count(samples, "sample"), name);
  }
  if (options.on_bad == OnBad::keep) {
    std::ptrdiff_t kept = 0;
    for (const auto& [owner, names] : lacking)
      kept += std::ranges::count_if(names, [](const auto& of_sample) { return !of_sample.empty(); });
    if (kept > 0) context.warn("field_missing", "{} kept without a required field", format_count(kept, "sample"));
    return;
  }
  catalog::leave_out(source.scan,
                     [&](const auto& owner, const catalog::ScannedFile& file) -> std::optional<catalog::ScanProblem> {
                       const auto& names = lacking.at(&owner)[static_cast<std::size_t>(&file - owner.files.data())];
                       if (names.empty()) return std::nullopt;
                       return lacking_sample(source.images, options, set, owner.path_of(file), names);
                     });
}

/// Each of them is a class of its own.
void warn_of_alike_classes(const ScannedSource& source, Context& context) {
  std::map<std::string, const std::string*> names;
  for (const catalog::ScannedClass& item : source.scan.classes) {
    if (item.name.empty()) continue;  // folders without labels
    const auto [other, is_new] = names.emplace(catalog::alike_key(item.name), &item.name);
    const bool same_letters = !is_new && lower_case(*other->second) == lower_case(item.name);
    if (is_new || (!same_letters && !catalog::looks_alike(*other->second, item.name))) continue;
    context.warn("classes_alike", "the classes '{}' and '{}' differ only in {}, and get different labels",
                 *other->second, item.name, same_letters ? "upper and lower case" : "the Unicode form of their names");
  }
}

void warn_of_columns(const catalog::ImageList& list, const ShardingOptions& options, Context& context) {
  if (list.other_columns.empty()) return;
  context.warn(
      "columns_unused", "the shards will not contain {} of '{}': give {}--metadata {} for all columns as .json",
      fmt::join(list.other_columns, ", "), options.images.list,
      options.images.label_column.empty() ? "--label-column for the label, or " : "", shell_word(options.images.list));
}

/// Images whose rows have different labels have none: they are in the class without a name.
void warn_of_contradictions(const ScannedSource& source, Context& context) {
  const auto none = std::ranges::find(source.scan.classes, std::string(), &catalog::ScannedClass::name);
  if (none == source.scan.classes.end() || !source.scan.labeled()) return;
  std::vector<std::string> first;
  for (const catalog::ScannedFile& file : none->files | std::views::take(kMostFilesNamed))
    first.push_back(source.notes->lines_of(none->path_of(file)));
  context.warn("labels_contradict",
               "{} without a label, because rows of the list disagree: {}{}; correct the list, or write "
               "several labels as an array in .jsonl",
               format_count(none->files.size(), "image"), fmt::join(first, "; "),
               none->files.size() > kMostFilesNamed ? "; ..." : "");
}

/// As a --field: a suffix that no file has would turn the files that are meant into samples of their own.
void check_sidecars(const ScannedSource& source, const ShardingOptions& options, Context& context) {
  const catalog::ImageFolderScan& scan = source.scan;
  std::map<std::string, std::uint64_t> found;
  for (const catalog::ScannedClass& owner : scan.classes) {
    for (const catalog::ScannedMember& member : owner.members) {
      if (scan.fields[member.field].beside) ++found[scan.fields[member.field].name];
    }
  }
  for (const std::string& suffix : options.sidecars) {
    const std::uint64_t having = found[formats::portable_extension(suffix)];
    if (having > 0 && having < scan.images())
      context.warn("sidecar_missing", "{} without a file for --sidecar {}",
                   format_count(scan.images() - having, "sample"), suffix);
    if (having > 0 || scan.images() == 0) continue;
    const auto owner = std::ranges::find_if(scan.classes, [](const auto& item) { return !item.files.empty(); });
    const std::string path = owner->path_of(owner->files.front());
    const std::string_view stem = formats::split_extension(std::string_view(path).substr(path.rfind('/') + 1)).stem;
    throw Error(ErrorCode::not_found, At{source.images.path},
                "--sidecar '{}' matches no file below '{}': for '{}' it would be '{}{}'; correct the "
                "suffix, or leave it out",
                suffix, source.images.path, path, path.substr(0, path.rfind('/') + 1 + stem.size()), suffix);
  }
}

/// Two images of one stem both get the files beside them.
void warn_of_shared_sidecars(const ScannedSource& source, Context& context) {
  std::set<std::string> paths;
  std::set<std::string> shared;
  for (const catalog::ScannedClass& owner : source.scan.classes) {
    for (const catalog::ScannedMember& member : owner.members) {
      const bool is_beside = source.scan.fields[member.field].beside;
      if (!is_beside || owner.files[member.image].mark == formats::KeyMark::none) continue;
      std::string path = owner.path_of(member.file);
      if (paths.contains(path)) shared.insert(path);
      paths.insert(std::move(path));
    }
  }
  if (shared.empty()) return;
  context.warn("field_shared",
               "{} to several samples, the first is '{}', because images differ only in their extension: rename them "
               "if the file belongs to one of them only",
               shared.size() == 1 ? "1 file belongs" : format_count(shared.size(), "file") + " belong",
               source.images.path_of(*shared.begin()));
}

/// --resize changes the image, but nothing that describes its pixels.
void check_resized_parts(const ScannedSource& source, const ShardingOptions& options, Context& context) {
  if (!options.resize) return;
  const auto refuse = [](const std::string& what) {
    throw usage_error(
        "--resize changes only the file that starts a sample, so {} would no longer fit it; resize both "
        "before the convert, or leave out --resize",
        what);
  };
  std::uint64_t described = 0;
  for (const catalog::ScannedClass& owner : source.scan.classes) {
    for (const catalog::ScannedMember& member : owner.members) {
      const std::string path = owner.path_of(member.file);
      described += path.ends_with(".json") || path.ends_with(".xml") ? 1 : 0;
      if (catalog::is_image_name(path)) refuse(fmt::format("its field '{}'", source.images.path_of(path)));
    }
  }
  for (const std::string& table : {options.metadata, options.images.list}) {
    if (catalog::is_coco_name(table)) refuse(fmt::format("the boxes and masks of '{}'", table));
  }
  if (described > 0) {
    context.warn("resize_beside_text",
                 "{} beside resized images stay as they are: pixel positions in them describe "
                 "the larger images",
                 format_count(described, ".json or .xml file"));
  }
}

/// The extensions of the files that start samples.
std::vector<std::string> extensions_of(const catalog::ImageFolderScan& scan) {
  std::set<std::string> extensions;
  for (const catalog::ScannedClass& owner : scan.classes) {
    for (const catalog::ScannedFile& file : owner.files)
      extensions.insert(lower_case(formats::split_extension(owner.name_of(file)).extension));
  }
  return {extensions.begin(), extensions.end()};
}

/// How to convert samples whose parts are in several files, or class folders that are sets.
std::string advice_for(const catalog::TreeEvidence& found, const ScannedSource& source, ShardingOptions options,
                       const std::string& set) {
  using enum catalog::TreeEvidence::Kind;
  const std::string& path = source.images.path;
  const std::string folder = set.empty() ? path : path.substr(0, path.rfind(set) - 1);
  if (found.kind == wrappers) return catalog::advice_for_labeled(source.images, found.others);
  if (found.kind == parts && found.parent.empty()) return catalog::command_for_parts(source.images, found, set);
  if (found.sidecars.empty() && found.fields.empty()) return {};
  options.sidecars.insert(options.sidecars.end(), found.sidecars.begin(), found.sidecars.end());
  options.fields.insert(options.fields.end(), found.fields.begin(), found.fields.end());
  return remedy::in_text(remedy::convert(folder, command_text("", options)));
}

/// Masks and the like that would be classes or samples of their own. A class map says that folders are classes, and
/// --primary what starts a sample.
void check_tree(const ScannedSource& source, const ShardingOptions& options, const std::string& set, Context& context) {
  using enum catalog::TreeEvidence::Kind;
  for (const catalog::TreeEvidence& found : catalog::read_tree(source.scan)) {
    const bool of_classes = found.kind == wrappers || (found.kind == parts && found.parent.empty());
    const bool labeled = of_classes && source.scan.labeled();
    if (labeled ? !options.class_map.empty() : !options.primary.empty()) continue;
    std::string advice = advice_for(found, source, options, set);
    if (advice.empty())
      advice = "let the files of a sample differ only in a suffix, and declare them with --field NAME=TEMPLATE";
    if (!set.empty()) advice += ", and the same for the other sets";
    if (!found.certain) {
      context.warn("tree_unclear", "{}. They are converted as {}; if they are {}: {}", found.seen,
                   labeled ? "classes" : "samples", found.kind == wrappers ? "sets" : "parts of samples", advice);
      continue;
    }
    ShardingOptions each = options;
    each.primary = extensions_of(source.scan);
    throw Error(ErrorCode::usage, At{source.images.path}, "{}: these are {}; {}. {}", found.seen,
                found.kind == wrappers ? "sets or folds, and not classes"
                : labeled              ? "parts of samples, and not classes"
                                       : "parts of samples that nothing declares as fields",
                advice,
                labeled ? catalog::if_classes(source.images)
                        : "If each file is a sample of its own: " +
                              remedy::in_text(remedy::convert(source.images.path, command_text("", each))));
  }
}

void warn_of_ignored(const catalog::ImageFolderScan& scan, Context& context) {
  if (scan.ignored.kinds.empty()) return;
  std::uint64_t files = 0;
  std::vector<std::string> kinds;
  for (const auto& [kind, count] : scan.ignored.kinds) {
    files += count;
    kinds.push_back(fmt::format("{} {}", count, kind));
  }
  const auto& first = scan.ignored.first;
  context.warn("files_ignored", "{} outside of samples ignored: {}{}", format_count(files, "file"),
               fmt::join(kinds, ", "),
               first.empty() ? std::string()
                             : fmt::format(" ('{}'{})", fmt::join(first, "', '"), files > first.size() ? ", ..." : ""));
}

}  // namespace

catalog::ImageListOptions image_list(const ListOptions& images, std::map<std::string, std::uint64_t> class_map,
                                     catalog::Inputs& inputs) {
  return {inputs.add_named(images.list), images.path_column, images.label_column, std::move(class_map)};
}

ScannedSource scan_source(const catalog::SourceFolder& images, const ShardingOptions& given, const SourceSet& set,
                          std::optional<std::uint64_t> threads, Context& context) {
  check(given);
  ShardingOptions options = given;  // with names that may be shown
  options.metadata = images.inputs->add_named(given.metadata);
  options.class_map = images.inputs->add_named(given.class_map);
  const auto start = std::chrono::steady_clock::now();
  catalog::ScanOptions scanning = scan_options(options, set.name);
  scanning.cores = system::thread_count(threads);
  ScannedSource source{images, {}, {}, nullptr, read_class_map(options.class_map, *images.inputs)};
  const Labels& class_map = source.class_map;
  std::optional<catalog::ImageListOptions> several;
  if (options.images.list.empty()) {
    source.scan = catalog::scan_image_folder(images, scanning, context);
    warn_of_ignored(source.scan, context);
  } else {
    const catalog::ImageListOptions rows = image_list(options.images, class_map, *images.inputs);
    catalog::ImageList list = catalog::scan_image_list(images, rows, scanning, context);
    source.scan = std::move(list.scan);
    const bool as_lists = set.json_lists && options.metadata.empty();
    if (list.several_labels || list.several_rows || as_lists) several = rows;
    if (!list.several_rows && options.metadata != options.images.list) warn_of_columns(list, options, context);
  }
  check_sidecars(source, options, context);
  if (options.images.list.empty()) check_tree(source, options, set.name, context);
  settle_fields(source, options, set.name, context);
  source.notes = read_notes(images, options, several, context);
  if (source.notes) source.notes->complete(source.scan, context, set.json_lists);
  if (several && !several->label_column.empty()) warn_of_contradictions(source, context);
  if (source.notes) compare_with_notes(source, options, context);
  warn_of_alike_classes(source, context);
  catalog::choose_keys(source.scan);
  warn_of_shared_sidecars(source, context);
  check_resized_parts(source, options, context);
  source.labels = labels_of(source.scan, class_map, set.classes, options.class_map);
  source.scan_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return source;
}

ScannedSource scan_whole_source(const catalog::SourceFolder& images, const ShardingOptions& options,
                                const SourceSet& set, std::optional<std::uint64_t> threads,
                                const std::function<bool(const std::string& path)>& left_out, Context& context) {
  ScannedSource source = scan_source(images, options, set, threads, context);
  catalog::SourceFolder with_unreadable = images;
  std::uint64_t unreadable = 0;
  std::vector<std::string> first;
  for (const catalog::ScanProblem& problem : source.scan.problems) {
    if (problem.unread.empty() || left_out(problem.path)) continue;
    catalog::FileState none;
    if (images.store) none.version.emplace();
    for (const std::string& path : problem.unread) with_unreadable.known.emplace(path, none);
    if (++unreadable <= kMostFilesNamed) first.emplace_back(problem.error.what());
  }
  const std::uint64_t files = source.scan.images() + unreadable;
  // More of them are a source that is not there, whatever may be left out.
  if (unreadable == 0 || unreadable > std::max(most_bad(options.max_bad, files), most_bad({}, files))) return source;
  context.warn("files_unreadable", "{} not complete: {}{}; everything else is converted",
               format_count(unreadable, "sample"), fmt::join(first, "; "), unreadable > kMostFilesNamed ? "; ..." : "");
  return scan_source(with_unreadable, options, set, threads, context);
}

void warn_of_classes(const ScannedSource& source, const SourceSet& set, Context& context) {
  const std::vector<catalog::ScannedClass>& classes = source.scan.classes;
  if (source.scan.listed || !source.class_map.empty() || classes.empty()) return;
  const std::size_t count = std::max(classes.size(), set.classes.size());
  if (count == 1) {
    const std::string& name = classes.front().name;
    const bool nested = std::ranges::any_of(classes.front().files, [&](const catalog::ScannedFile& file) {
      return classes.front().name_of(file).find('/') != std::string_view::npos;
    });
    context.warn("one_class",
                 "all samples get one label, because '{}' is the only folder in the source. {}For images without "
                 "labels use --unlabeled",
                 name,
                 nested
                     ? fmt::format("If the classes are the folders in it, convert '{}'. ", source.images.path_of(name))
                     : std::string());
  }
  std::optional<std::size_t> at;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const std::optional<std::uint64_t> number = parse_count(classes[c].name);
    if (!number) return;
    if (!at && number != source.labels[c]) at = c;
  }
  if (!at) return;
  context.warn("labels_differ_from_names",
               "class folders have numbers as names, but '{}' gets label {}: labels follow the bytewise order of "
               "names; to use the numbers, give a --class-map",
               classes[*at].name, source.labels[*at].value_or(0));
}

namespace {

/// The group of an image whose cell is empty: its own. No value of a table contains a zero byte.
std::string alone(std::string_view path) { return std::string(1, '\0').append(path); }

/// --group-by column:NAME: the table's value for each image.
SampleGroup group_by_column(const ScannedSource& source, const ShardingOptions& options, const std::string& column,
                            Context& context) {
  const std::string& table = options.metadata.empty() ? options.images.list : options.metadata;
  if (table.empty()) {
    throw usage_error("--group-by column:{} needs --list or --metadata", column);
  }
  const auto rows = std::make_shared<catalog::RowIndex>(source.images.inputs->add_named(table),
                                                        options.images.path_column, source.images, context);
  rows->table().require_column(column, "--group-by");
  return [rows, column](std::string_view, std::string_view path, bool) {
    std::optional<std::string> group;
    for (const catalog::RowIndex::RowPosition& position : rows->find(path)) {
      const nlohmann::ordered_json row = rows->fields(path, position);
      const auto cell = row.find(column);
      if (cell == row.end()) break;
      const std::string text = cell->is_null() || *cell == "" ? std::string() : json_text(*cell);
      if (group.value_or(text) != text) {
        throw usage_error("--group-by: '{}' has several values of '{}' for '{}', another one in line {}",
                          rows->table().file(), column, path, position.line);
      }
      group = text;
    }
    if (group && group->empty()) return alone(path);
    if (group) return *group;
    throw usage_error("--group-by: '{}' has no '{}' for '{}'", rows->table().file(), column, path);
  };
}

}  // namespace

void find_groups(ScannedSource& source, const ShardingOptions& options, const SplitRule& rule, Context& context) {
  const SampleGroup group = rule.column.empty() ? rule.group : group_by_column(source, options, rule.column, context);
  if (!group) return;
  for (const catalog::ScannedClass& owner : source.scan.classes) {
    std::vector<std::uint64_t>& groups = source.groups.emplace_back();
    groups.reserve(owner.files.size());
    const bool in_class = !source.scan.listed && !owner.name.empty();
    for (const catalog::ScannedFile& file : owner.files) {
      const std::string key = catalog::unmarked_key(owner, file);
      groups.push_back(xxh3_64(as_bytes(group(key, owner.path_of(file), in_class))));
    }
    context.throw_if_stopped();
  }
}

DividedSamples split_source(const ScannedSource& source, const SplitRule& rule,
                            const std::function<std::optional<std::size_t>(std::uint64_t group)>& known,
                            Context& context) {
  std::vector<SplitFacts> facts;
  facts.reserve(source.scan.images());
  for (std::size_t c = 0; c < source.scan.classes.size(); ++c) {
    const catalog::ScannedClass& owner = source.scan.classes[c];
    for (std::size_t f = 0; f < owner.files.size(); ++f) {
      const std::uint64_t group =
          source.groups.empty() ? xxh3_64(as_bytes(catalog::unmarked_key(owner, owner.files[f]))) : source.groups[c][f];
      facts.push_back({group, source.labels[c], known(group)});
    }
    context.throw_if_stopped();
  }
  SampleOrder order(facts.size());
  std::iota(order.begin(), order.end(), 0U);
  return split_samples(
      order, rule, [&](std::uint32_t sample) { return facts[sample]; }, context);
}

}  // namespace shardkit::dataset
