#include "catalog/image_source.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <system_error>

#include <fmt/ranges.h>

#include "catalog/image_folder.hpp"
#include "core/error.hpp"
#include "core/folder.hpp"
#include "core/remedies.hpp"
#include "core/text.hpp"
#include "formats/portable_name.hpp"
#include "io/publish.hpp"

namespace shardkit::catalog {

std::vector<ListedEntry> list_folder(const std::string& folder) {
  std::vector<ListedEntry> entries;
  std::error_code error;
  for (FolderEntry& entry : folder_entries(folder, error)) {  // a broken link is a file: reading it reports that
    const bool is_folder = entry.is_folder();
    entries.push_back({std::move(entry.name), is_folder ? EntryKind::folder : EntryKind::file});
  }
  if (error) throw system_error(error.value(), "list", folder);
  std::ranges::sort(entries, {}, &ListedEntry::name);
  return entries;
}

bool is_system_folder(std::string_view name) {
  constexpr auto made_by_systems = std::to_array<std::string_view>(
      {"$RECYCLE.BIN", "@eaDir", "System Volume Information", "__MACOSX", "lost+found"});
  return name.starts_with('.') || std::ranges::find(made_by_systems, name) != made_by_systems.end();
}

void warn_of_system_folder(Context& context, const std::string& path, std::string_view torchvision) {
  context.warn("hidden_folder_skipped", "hidden or system folder '{}' skipped; torchvision {}", path, torchvision);
}

namespace {

std::vector<io::ObjectInfo> objects_in(const SourceFolder& source, const std::string& folder) {
  std::vector<io::ObjectInfo> files;
  for (io::ObjectInfo& object : source.store->list(folder)) {
    if (!folder.empty()) object.name.erase(0, folder.size() + 1);
    if (object.name.find('/') == std::string::npos) files.push_back(std::move(object));
  }
  std::ranges::sort(files, {}, &io::ObjectInfo::name);
  return files;
}

std::vector<io::ObjectInfo> local_files(const std::string& folder) {
  std::vector<io::ObjectInfo> files;
  try {
    for (ListedEntry& entry : list_folder(folder)) {
      if (entry.kind == EntryKind::file) files.push_back({std::move(entry.name), 0, {}});
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;
  }
  return files;
}

std::string kind_of(std::string_view name) {
  if (name.starts_with('.')) return "hidden";
  const std::string_view extension = formats::split_extension(name).extension;
  return extension.empty() ? "without extension" : '.' + lower_case(extension);
}

std::vector<ListedEntry> entries_in(const SourceFolder& source, const std::string& folder) {
  if (!source.store) return list_folder(source.path_of(folder));
  std::vector<std::string> names = source.store->names_in(folder);
  std::vector<ListedEntry> entries;
  for (std::string& name : names) {
    if (!folder.empty()) name.erase(0, folder.size() + 1);
    const bool is_folder = name.ends_with('/');
    if (is_folder) name.pop_back();
    entries.push_back({name, is_folder ? EntryKind::folder : EntryKind::file});
  }
  check_names(names, source.path_of(folder));
  std::ranges::sort(entries, {}, &ListedEntry::name);
  return entries;
}

constexpr auto kSetNames =
    std::to_array<std::string_view>({"dev", "test", "train", "training", "val", "valid", "validation"});

bool is_train(std::string_view name) { return name == "train" || name == "training"; }
bool is_set_name(std::string_view name) { return std::ranges::find(kSetNames, name) != kSetNames.end(); }

/// The class folders of a set; none if it contains only files. The scan warns of hidden ones.
std::vector<std::string> class_folders(const SourceFolder& source, const std::string& folder) {
  Context quiet;
  IgnoredFiles ignored;
  return class_folders(source, folder, quiet, ignored);
}

/// The first image directly in one of the sets, which have class folders, so that it would get no label; else empty.
std::string stray_image(const SourceFolder& source, const std::vector<std::string>& sets) {
  for (const std::string& set : sets) {
    for (const ListedEntry& entry : entries_in(source, set)) {
      if (entry.kind == EntryKind::file && is_image_name(entry.name)) return io::join_path(set, entry.name);
    }
  }
  return {};
}

void warn_of_absent_classes(const std::string& set, const std::vector<std::string>& here,
                            const std::vector<std::string>& all, Context& context) {
  std::vector<std::string> absent;
  std::ranges::set_difference(all, here, std::back_inserter(absent));
  if (absent.empty()) return;
  context.warn("set_lacks_classes",
               "'{}' lacks {} of the {} class folders, the first is '{}': labels are numbered over all sets, but "
               "torchvision's ImageFolder would number the classes of this set separately",
               set, absent.size(), all.size(), absent.front());
}

}  // namespace

void add_known_file(const std::string& name, const FileState& state, std::vector<io::ObjectInfo>& files) {
  auto at = std::ranges::lower_bound(files, name, {}, &io::ObjectInfo::name);
  if (at == files.end() || at->name != name) at = files.insert(at, {name, 0, {}});
  at->size = state.size;
  at->version = state.version.value_or("");
}

std::vector<io::ObjectInfo> list_files(const SourceFolder& source, const std::string& folder) {
  std::vector<io::ObjectInfo> files = source.store ? objects_in(source, folder) : local_files(source.path_of(folder));
  std::erase_if(files, [](const io::ObjectInfo& file) { return file.name.starts_with(kAppleDouble); });
  const std::string start = folder.empty() ? std::string() : folder + '/';
  for (auto file = source.known.lower_bound(start); file != source.known.end() && file->first.starts_with(start);
       ++file) {
    const std::string name = file->first.substr(start.size());
    if (name.find('/') == std::string::npos) add_known_file(name, file->second, files);
  }
  return files;
}

void IgnoredFiles::merge(const IgnoredFiles& other) {
  constexpr std::size_t kMostNamed = 3;
  for (const auto& [kind, files] : other.kinds) kinds[kind] += files;
  first.insert(other.first.begin(), other.first.end());
  while (first.size() > kMostNamed) first.erase(std::prev(first.end()));
}

void count_ignored(IgnoredFiles& ignored, const std::string& path) {
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);  // npos + 1 is 0
  if (!name.starts_with(".shardkit")) ignored.merge({{{kind_of(name), 1}}, {path}});
}

void uncount_ignored(IgnoredFiles& ignored, const std::string& path) {
  const auto found = ignored.kinds.find(kind_of(std::string_view(path).substr(path.rfind('/') + 1)));
  if (found != ignored.kinds.end() && --found->second == 0) ignored.kinds.erase(found);
  ignored.first.erase(path);
}

std::vector<std::string> class_folders(const SourceFolder& source, const std::string& folder, Context& context,
                                       IgnoredFiles& ignored) {
  std::vector<std::string> classes;
  for (ListedEntry& entry : entries_in(source, folder)) {
    if (entry.kind == EntryKind::file) {
      count_ignored(ignored, io::join_path(folder, entry.name));
    } else if (is_system_folder(entry.name)) {
      warn_of_system_folder(context, source.path_of(io::join_path(folder, entry.name)),
                            "would count it and shift every label after it");
    } else {
      classes.push_back(std::move(entry.name));
    }
  }
  return classes;
}

SourceFolder::SourceFolder(const std::string& operand, bool listed, std::shared_ptr<Inputs> opener)
    : path(operand), inputs(std::move(opener)) {
  if (!is_address(operand)) return;
  ObjectLocation location = inputs->parse_named(operand);
  if (!location.is_folder()) location.path += '/';
  store = inputs->folder(location);
  path = store->location();
  if (listed || location.kind != ObjectLocation::Kind::web) return;
  throw Error(ErrorCode::usage, At{path},
              "'{}' is behind HTTP, which has no listing: list its images with --list FILE, or give the folder by its "
              "s3:// address",
              path);
}

std::string SourceFolder::path_of(const std::string& name) const {
  if (name.empty()) return path;
  return store ? store->address_of(name) : io::join_path(path, name);
}

std::string SourceFolder::without_folder(std::string text) const {
  constexpr std::string_view kAnyName = "x";
  std::string start = "'" + path_of(std::string(kAnyName));
  if (!start.ends_with(kAnyName)) return text;  // an address with a query
  start.resize(start.size() - kAnyName.size());
  for (std::size_t at = 0; (at = text.find(start, at)) != std::string::npos; ++at) text.erase(at + 1, start.size() - 1);
  return text;
}

SourceFolder SourceFolder::below(const std::string& folder) const {
  return {io::join_path(path, folder), false, inputs};
}

SetFolders find_set_folders(const SourceFolder& source, Context& context, bool labeled) {
  const std::vector<std::string> folders = class_folders(source, "");
  if (folders.size() < 2 || !std::ranges::all_of(folders, is_set_name) || std::ranges::none_of(folders, is_train)) {
    return {};
  }
  SetFolders sets;
  if (!labeled) {
    sets.names = folders;
    return sets;
  }
  std::vector<std::vector<std::string>> classes;
  for (const std::string& name : folders) {
    std::vector<std::string> here = class_folders(source, name);
    if (here.empty()) continue;
    std::vector<std::string> all;
    std::ranges::set_union(sets.classes, here, std::back_inserter(all));
    sets.classes = std::move(all);
    sets.names.push_back(name);
    classes.push_back(std::move(here));
  }
  if (std::ranges::none_of(sets.names, is_train) || !stray_image(source, sets.names).empty()) return {};
  for (const std::string& name : folders) {
    if (std::ranges::binary_search(sets.names, name)) continue;
    context.warn("set_without_classes", "'{}' left out: it has no class folders, so its images have no labels",
                 source.path_of(name));
  }
  for (std::size_t i = 0; i < sets.names.size(); ++i) {
    warn_of_absent_classes(source.path_of(sets.names[i]), classes[i], sets.classes, context);
  }
  return sets;
}

namespace {

/// "Train", "train2017", "trainval", "test-dev", "val_images", "training_set": made of such words and numbers only.
bool is_named_as_set(std::string_view name) {
  constexpr auto kSets = std::to_array<std::string_view>({"validation", "validating", "training", "testing", "train",
                                                          "valid", "test", "val", "dev", "evaluation", "eval"});
  constexpr auto kOthers =
      std::to_array<std::string_view>({"dataset", "data", "set", "split", "images", "image", "imgs", "img"});
  std::string text = lower_case(name);
  bool is_set = false;
  for (std::string_view left = text; !left.empty();) {
    const auto starts = [&](std::string_view word) { return left.starts_with(word); };
    const auto* set = std::ranges::find_if(kSets, starts);
    const auto* other = std::ranges::find_if(kOthers, starts);
    if (set != kSets.end()) {
      is_set = true;
      left.remove_prefix(set->size());
    } else if (other != kOthers.end()) {
      left.remove_prefix(other->size());
    } else if (std::string_view("0123456789_-. ").find(left.front()) != std::string_view::npos) {
      left.remove_prefix(1);
    } else {
      return false;
    }
  }
  return is_set;
}

/// How to convert these class folders with labels of one file.
std::string with_class_map(const SourceFolder& source, const remedy::Named& folders, const std::string& first) {
  const std::string convert = remedy::in_text(remedy::convert(first, " --class-map classes.txt"));
  if (source.store) return fmt::format("list the class folders in classes.txt, one per line, then {}", convert);
  return fmt::format("{}, then {}", remedy::in_text(remedy::list_classes(folders)), convert);
}

/// What to do with sets that have class folders, `labeled` of them.
std::string advice_for_labeled(const SourceFolder& source, const std::vector<std::string>& labeled) {
  const std::string first = source.path_of(labeled.front());
  if (labeled.size() == 1) return fmt::format("convert it alone: {}", remedy::in_text(remedy::convert(first, "")));
  remedy::Named folders;
  for (const std::string& name : labeled) folders.push_back(source.path_of(name));
  return fmt::format("convert each with the classes of all: {}, and so on", with_class_map(source, folders, first));
}

/// What to do with sets of images without class folders.
std::string advice_for_unlabeled(const SourceFolder& source, const std::string& set) {
  const std::string folder = source.path_of(set);
  return fmt::format("{}, or with labels from a table {}, because it has no class folders",
                     remedy::in_text(remedy::convert(folder, " --unlabeled")),
                     remedy::in_text(remedy::convert(folder, " --list FILE.csv --label-column NAME")));
}

/// What has to change so that `sets` are found, of which `labeled` have class folders.
std::string advice_for_names(const SourceFolder& source, const std::vector<std::string>& sets,
                             const std::vector<std::string>& labeled, const std::vector<std::string>& others) {
  if (!others.empty()) return fmt::format("move '{}' away, or ", others.front());
  if (sets.size() > 1 && !std::ranges::all_of(sets, is_set_name)) return "rename them to train, val and test, or ";
  const std::string stray = stray_image(source, labeled);
  if (!stray.empty())
    return fmt::format("move images such as '{}' to a class folder or away, or ", source.path_of(stray));
  return {};
}

}  // namespace

void refuse_unclear_sets(const SourceFolder& source, Context& context, bool labeled) {
  std::vector<std::string> sets;
  std::vector<std::string> others;
  for (const std::string& name : class_folders(source, "")) (is_named_as_set(name) ? sets : others).push_back(name);
  if (sets.size() < (labeled ? 1 : 2)) return;
  std::string text =
      fmt::format("'{}' contains the {} {}", source.path, sets.size() == 1 ? "set" : "sets", fmt::join(sets, " and "));
  if (!others.empty()) text += fmt::format(", and also '{}'", others.front());
  if (!labeled)
    return context.warn("sets_joined", text + ": all samples go into one set; to keep them apart, convert each");
  std::vector<std::string> with_classes;
  std::ranges::copy_if(sets, std::back_inserter(with_classes),
                       [&](const std::string& set) { return !class_folders(source, set).empty(); });
  text += sets.size() == 1 ? ", which is not a class: " : ", which are not classes: ";
  text += with_classes.empty()
              ? advice_for_unlabeled(source, sets.front())
              : advice_for_names(source, sets, with_classes, others) + advice_for_labeled(source, with_classes);
  text += fmt::format(". If {}: {}", sets.size() == 1 ? "it is a class" : "they are classes",
                      with_class_map(source, {source.path}, source.path));
  throw Error(ErrorCode::usage, text, source.path);
}

}  // namespace shardkit::catalog
