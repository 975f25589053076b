#include "catalog/set_folders.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "catalog/image_folder.hpp"
#include "catalog/kept_files.hpp"
#include "catalog/set_rules.hpp"
#include "catalog/tree_meaning.hpp"
#include "core/command_text.hpp"
#include "core/error.hpp"
#include "core/remedies.hpp"
#include "core/text.hpp"
#include "formats/manifest.hpp"
#include "io/publish.hpp"

namespace shardkit::catalog {
namespace {

constexpr auto kSetNames =
    std::to_array<std::string_view>({"dev", "test", "train", "training", "val", "valid", "validation"});
/// In the names of sets, too; the longest that fits counts.
constexpr auto kSetWords = std::to_array<std::string_view>(
    {"dev", "eval", "evaluation", "test", "testing", "train", "training", "val", "valid", "validating", "validation"});
constexpr auto kOtherWords =
    std::to_array<std::string_view>({"data", "dataset", "image", "images", "img", "imgs", "set", "split"});

/// The longest of `words` at the start of `text`.
template <class Words>
std::string_view word_at(std::string_view text, const Words& words) {
  std::string_view longest;
  for (const std::string_view word : words) {
    if (text.starts_with(word) && word.size() > longest.size()) longest = word;
  }
  return longest;
}

/// A name without the word in it that is a set's, which separators surround: "seg_*" of "seg_train"; empty for none.
std::string around_set(const std::string& name, std::string& word) {
  for (std::size_t begin = 0, end = 0; begin < name.size(); begin = end + 1) {
    end = std::min(name.find_first_of("_-. ", begin), name.size());
    word = lower_case(name.substr(begin, end - begin));
    if (std::ranges::find(kSetWords, word) != kSetWords.end()) return name.substr(0, begin) + '*' + name.substr(end);
  }
  return {};
}

/// Divides folders into those named as sets, alone or together, and others.
std::pair<std::vector<std::string>, std::vector<std::string>> sets_and_others(const std::vector<std::string>& folders) {
  std::map<std::string, std::set<std::string>> words;  // by what is around them
  std::string word;
  for (const std::string& name : folders) {
    const std::string around = around_set(name, word);
    if (!around.empty()) words[around].insert(word);
  }
  const auto is_set = [&](const std::string& name) {
    const std::set<std::string>& alike = words[around_set(name, word)];
    return is_named_as_set(name) || (alike.size() > 1 && std::ranges::any_of(alike, is_train_set));
  };
  std::pair<std::vector<std::string>, std::vector<std::string>> result;
  std::ranges::partition_copy(folders, std::back_inserter(result.first), std::back_inserter(result.second), is_set);
  return result;
}

/// The class folders of a set; none if it contains only files. The scan warns of hidden ones.
std::vector<std::string> class_folders(const SourceFolder& source, const std::string& folder) {
  Context quiet;
  IgnoredFiles ignored;
  return class_folders(source, folder, quiet, ignored);
}

/// The set whose classes all have a folder `name` in them, by the first of its classes; else empty. Such a folder is
/// not a class in another set.
std::string set_around(const SourceFolder& source, const std::vector<std::string>& sets, const std::string& name) {
  for (const std::string& set : sets) {
    const std::vector<std::string> classes = class_folders(source, set);
    if (classes.empty() || classes.front() == name) continue;
    const std::vector<std::string> below = class_folders(source, io::join_path(set, classes.front()));
    if (std::ranges::find(below, name) != below.end()) return set;
  }
  return {};
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

bool is_named_as_set(std::string_view name) {
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const bool is_domain = name.size() > 1 && is_lower(name[name.size() - 2]) && is_lower(lower_case(name.back())) &&
                         !is_lower(name.back());  // trainA
  const std::string lower = lower_case(name.substr(0, name.size() - (is_domain ? 1 : 0)));
  bool is_set = false;
  for (std::string_view left = lower; !left.empty();) {
    const std::string_view set = word_at(left, kSetWords);
    const std::string_view other = word_at(left, kOtherWords);
    if (set.empty() && other.empty() && std::string_view("0123456789_-. ").find(left.front()) == std::string_view::npos)
      return false;
    is_set = is_set || set.size() > other.size();
    left.remove_prefix(std::max<std::size_t>({set.size(), other.size(), 1}));
  }
  return is_set;
}

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
  std::vector<std::string> without;
  for (const std::string& name : folders) {
    std::vector<std::string> here = class_folders(source, name);
    const std::string around = here.size() == 1 ? set_around(source, folders, here.front()) : std::string();
    if (!around.empty()) {
      context.warn(
          "set_without_classes",
          "'{}' left out: its only folder '{}' is named like the one in the classes of '{}', so its images have "
          "no labels",
          source.path_of(name), here.front(), around);
      without.push_back(name);
    }
    if (here.empty() || !around.empty()) continue;
    std::vector<std::string> all;
    std::ranges::set_union(sets.classes, here, std::back_inserter(all));
    sets.classes = std::move(all);
    sets.names.push_back(name);
    classes.push_back(std::move(here));
  }
  if (std::ranges::none_of(sets.names, is_train_set) || !stray_image(source, sets.names).empty()) return {};
  for (const std::string& name : folders) {
    if (std::ranges::binary_search(sets.names, name) || std::ranges::binary_search(without, name)) continue;
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

/// --metadata with the file of COCO for a set: in its folder, or named like it in a folder of `others`; else empty.
std::string metadata_of(const SourceFolder& source, const std::string& set, const std::vector<std::string>& others) {
  std::string found;
  const auto look = [&](const std::string& folder, std::string_view part) {
    for (const ListedEntry& entry : entries_in(source, folder)) {
      const std::string name = lower_case(entry.name);
      if (entry.kind != EntryKind::file || !name.ends_with(".json") || name.find(part) == std::string::npos) continue;
      if (found.empty() || name.starts_with("instances")) found = io::join_path(folder, entry.name);
    }
  };
  look(set, "coco");
  for (const std::string& folder : others) look(folder, lower_case(set));
  return found.empty() ? found : " --metadata " + shell_word(source.path_of(found));
}

/// The commands for sets with the files of the folders beside them, such as train_images and train_masks; else empty.
std::string advice_for_parts(const SourceFolder& source, const std::vector<std::string>& sets,
                             const std::vector<std::string>& others) {
  std::string text;
  for (const std::string& set : sets) {
    TreeEvidence parts{TreeEvidence::Kind::parts, true, {}, {}, set};
    const auto command = [&] { return command_for_parts(source, parts, sets.size() > 1 ? set : ""); };
    std::vector<std::string> matching;
    for (const std::string& other : others) {
      parts.others = {other};
      std::string word;
      if (around_set(other, word).empty() || lower_case(set).find(word) == std::string::npos) continue;
      if (command().find(" --field ") != std::string::npos) matching.push_back(other);
    }
    parts.others = matching;
    if (!matching.empty()) text += (text.empty() ? "" : " and ") + command();
  }
  return text;
}

/// What to do with sets of images without class folders.
std::string advice_for_unlabeled(const SourceFolder& source, const std::string& set,
                                 const std::vector<std::string>& others) {
  const std::string folder = source.path_of(set);
  const std::string metadata = metadata_of(source, set, others);
  if (!metadata.empty())
    return remedy::in_text(remedy::convert(folder, " --unlabeled" + metadata, set)) + ", and so on";
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

/// The folder in `folder`, or that itself, which is not the only one beside no other.
std::string unwrapped(const SourceFolder& source, std::string folder) {
  for (std::vector<std::string> below = class_folders(source, folder); below.size() == 1;) {
    const std::string only = io::join_path(folder, below.front());
    below = class_folders(source, only);
    if (!below.empty()) folder = only;
  }
  return folder;
}

/// The only folder of the source, or the only one in that and so on, if there are sets in it.
void refuse_sets_below(const SourceFolder& source) {
  const std::string path = unwrapped(source, "");
  const auto [sets, others] = sets_and_others(class_folders(source, path));
  if (path.empty() || sets.size() < 2 || !others.empty()) return;
  const std::string options = class_folders(source, io::join_path(path, sets.front())).empty() ? " --unlabeled" : "";
  throw Error(ErrorCode::usage, At{source.path}, "'{}' is not a class: it contains the sets {}; {}. {}",
              source.path_of(path), fmt::join(sets, " and "),
              remedy::in_text(remedy::convert(source.path_of(path), options)), if_classes(source));
}

}  // namespace

std::string advice_for_labeled(const SourceFolder& source, const std::vector<std::string>& labeled) {
  remedy::Named folders;
  for (const std::string& name : labeled) folders.push_back(source.path_of(unwrapped(source, name)));
  if (folders.size() == 1)
    return fmt::format("convert it alone: {}", command_that_keeps(source, folders.front(), "", true));
  return fmt::format("convert each with the classes of all: {}, and so on",
                     with_class_map(source, folders, folders.front()));
}

void refuse_unclear_folders(const SourceFolder& source, const SetFolders& found, Context& context, bool labeled) {
  if (!found.names.empty()) return;
  const auto [sets, others] = sets_and_others(class_folders(source, ""));
  if (labeled && sets.empty()) refuse_sets_below(source);
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
  const std::string parts = with_classes.empty() ? advice_for_parts(source, sets, others) : "";
  text += !parts.empty() ? parts
          : with_classes.empty()
              ? advice_for_unlabeled(source, sets.front(), others)
              : advice_for_names(source, sets, with_classes, others) + advice_for_labeled(source, with_classes);
  throw Error(ErrorCode::usage, fmt::format("{}. {}", text, if_classes(source)), source.path);
}

}  // namespace shardkit::catalog
