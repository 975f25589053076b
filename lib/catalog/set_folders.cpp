#include "catalog/set_folders.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "catalog/folder_roles.hpp"
#include "catalog/image_folder.hpp"
#include "catalog/kept_files.hpp"
#include "catalog/set_rules.hpp"
#include "core/error.hpp"
#include "core/remedies.hpp"
#include "formats/manifest.hpp"
#include "io/publish.hpp"

namespace shardkit::catalog {
namespace {

constexpr auto kSetNames =
    std::to_array<std::string_view>({"dev", "test", "train", "training", "val", "valid", "validation"});

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

/// Its images are not all there yet.
void refuse_unfinished_upload(const SourceFolder& source) {
  if (!source.store || !source.store->find(formats::kUploadRecord)) return;
  const SeenSet seen{source.path, Uploading{}};
  throw Error(ErrorCode::conflict, At{source.path}, "{}: {}", state_text(seen), state_advice(seen));
}

}  // namespace

bool is_set_name(std::string_view name) { return std::ranges::find(kSetNames, name) != kSetNames.end(); }

bool is_train_set(std::string_view name) { return name == "train" || name == "training"; }

SetFolders find_set_folders(const SourceFolder& source, Context& context, bool labeled) {
  refuse_unfinished_upload(source);
  const std::vector<std::string> folders = class_folders(source, "");
  if (folders.size() < 2 || !std::ranges::all_of(folders, is_set_name) || std::ranges::none_of(folders, is_train_set)) {
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
  if (std::ranges::none_of(sets.names, is_train_set) || !stray_image(source, sets.names).empty()) return {};
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

/// How to convert these class folders with labels of one file.
std::string with_class_map(const SourceFolder& source, const remedy::Named& folders, const std::string& first) {
  const std::string convert = command_that_keeps(source, first, " --class-map classes.txt", true);
  if (source.store) return fmt::format("list the class folders in classes.txt, one per line, then {}", convert);
  return fmt::format("{}, then {}", remedy::in_text(remedy::list_classes(folders)), convert);
}

/// What to do with sets that have class folders, `labeled` of them.
std::string advice_for_labeled(const SourceFolder& source, const std::vector<std::string>& labeled) {
  const std::string first = source.path_of(labeled.front());
  if (labeled.size() == 1) return fmt::format("convert it alone: {}", command_that_keeps(source, first, "", true));
  remedy::Named folders;
  for (const std::string& name : labeled) folders.push_back(source.path_of(name));
  return fmt::format("convert each with the classes of all: {}, and so on", with_class_map(source, folders, first));
}

/// What to do with sets of images without class folders.
std::string advice_for_unlabeled(const SourceFolder& source, const std::string& set) {
  const std::string folder = source.path_of(set);
  return fmt::format("{}, or with labels from a table {}, because it has no class folders",
                     command_that_keeps(source, folder, " --unlabeled", false),
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

/// "it is a class: ..." or "they are classes: ...", with the command.
std::string if_classes(const SourceFolder& source, bool one) {
  return fmt::format(". If {}: {}", one ? "it is a class" : "they are classes",
                     with_class_map(source, {source.path}, source.path));
}

/// The folders of one parent that are named as parts of samples, if there are several, or one that contains sets.
std::vector<std::string> parts_in(const SourceFolder& source, const std::string& parent) {
  std::vector<std::string> parts = class_folders(source, parent);
  std::erase_if(parts, [](const std::string& name) { return !read_folder_name(name).is_part(); });
  if (parts.size() != 1) return parts;
  const std::vector<std::string> below = class_folders(source, io::join_path(parent, parts.front()));
  const auto is_set = [](const std::string& name) { return read_folder_name(name).is_only_set(); };
  return !below.empty() && std::ranges::all_of(below, is_set) ? parts : std::vector<std::string>();
}

std::string in_texts(const std::vector<std::string>& commands) {
  std::string text;
  for (const std::string& command : commands) text += (text.empty() ? "" : " and ") + remedy::in_text(command);
  return text;
}

void refuse_parts(const SourceFolder& source, const std::vector<std::string>& parents) {
  std::vector<std::string> parts;
  std::vector<std::string> commands;
  for (const std::string& parent : parents) {
    const std::vector<std::string> here = parts_in(source, parent);
    if (here.empty()) continue;
    if (parts.empty()) parts = here;
    std::ranges::move(commands_for_parts(source, parent), std::back_inserter(commands));
  }
  if (parts.empty()) return;
  const std::string advice =
      commands.empty() ? "declare what belongs to an image with --field NAME=TEMPLATE" : in_texts(commands);
  throw Error(ErrorCode::usage, At{source.path}, "'{}' contains the {} {}, which {} parts of samples and not {}: {}{}",
              source.path_of(parents.front()), parts.size() == 1 ? "folder" : "folders", fmt::join(parts, " and "),
              parts.size() == 1 ? "is named as" : "are named as", parts.size() == 1 ? "as a class" : "as classes",
              advice, if_classes(source, parts.size() == 1));
}

}  // namespace

void refuse_unclear_folders(const SourceFolder& source, const SetFolders& found, Context& context, bool labeled) {
  if (labeled) refuse_parts(source, found.names.empty() ? std::vector<std::string>{""} : found.names);
  if (!found.names.empty()) return;
  std::vector<std::string> sets;
  std::vector<std::string> others;
  for (const std::string& name : class_folders(source, ""))
    (read_folder_name(name).is_only_set() ? sets : others).push_back(name);
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
  const std::vector<std::string> commands =
      with_classes.empty() && !others.empty() ? commands_for_parts(source, "") : std::vector<std::string>();
  text += !commands.empty() ? in_texts(commands)
          : with_classes.empty()
              ? advice_for_unlabeled(source, sets.front())
              : advice_for_names(source, sets, with_classes, others) + advice_for_labeled(source, with_classes);
  throw Error(ErrorCode::usage, text + if_classes(source, sets.size() == 1), source.path);
}

}  // namespace shardkit::catalog
