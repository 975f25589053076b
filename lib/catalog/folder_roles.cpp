#include "catalog/folder_roles.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "catalog/image_source.hpp"
#include "catalog/set_folders.hpp"
#include "core/command_text.hpp"
#include "core/folder.hpp"
#include "core/hash.hpp"
#include "core/remedies.hpp"
#include "core/text.hpp"
#include "formats/portable_name.hpp"
#include "io/publish.hpp"

namespace shardkit::catalog {
namespace {

using Part = FolderName::Role;

struct Word {
  enum class Kind { set, images, annotations, other };
  Kind kind;
  std::string_view text;
  std::string_view field = {};  ///< of annotations
};

/// The longest that fits counts.
constexpr auto kWords = [] {
  using enum Word::Kind;
  return std::to_array<Word>({
      {set, "validation"},
      {set, "validating"},
      {set, "training"},
      {set, "testing"},
      {set, "train"},
      {set, "valid"},
      {set, "test"},
      {set, "val"},
      {set, "dev"},
      {set, "evaluation"},
      {set, "eval"},
      {other, "dataset"},
      {other, "data"},
      {other, "set"},
      {other, "split"},
      {images, "images"},
      {images, "image"},
      {images, "imgs"},
      {images, "img"},
      {images, "jpegimages"},
      {images, "pngimages"},
      {images, "leftimg8bit"},
      {images, "photos"},
      {images, "pictures"},
      {images, "frames"},
      {images, "rgb"},
      {images, "color"},
      {annotations, "masks", "mask"},
      {annotations, "mask", "mask"},
      {annotations, "segmentationclass", "seg"},
      {annotations, "segmentationobject", "object"},
      {annotations, "segmentations", "seg"},
      {annotations, "segmentation", "seg"},
      {annotations, "segmaps", "seg"},
      {annotations, "segmap", "seg"},
      {annotations, "segs", "seg"},
      {annotations, "seg", "seg"},
      {annotations, "panoptic", "panoptic"},
      {annotations, "annotations", "annotation"},
      {annotations, "annotation", "annotation"},
      {annotations, "annots", "annotation"},
      {annotations, "annot", "annotation"},
      {annotations, "labels", "label"},
      {annotations, "label", "label"},
      {annotations, "depths", "depth"},
      {annotations, "depth", "depth"},
      {annotations, "disparity", "disparity"},
      {annotations, "normals", "normals"},
      {annotations, "gtfine", "gt"},
      {annotations, "gtcoarse", "gtcoarse"},
      {annotations, "groundtruths", "gt"},
      {annotations, "groundtruth", "gt"},
      {annotations, "ground_truth", "gt"},
      {annotations, "gt", "gt"},
      {annotations, "trimaps", "trimap"},
      {annotations, "trimap", "trimap"},
      {annotations, "mattes", "matte"},
      {annotations, "matte", "matte"},
      {annotations, "alpha", "alpha"},
      {annotations, "keypoints", "keypoints"},
      {annotations, "landmarks", "landmarks"},
      {annotations, "bboxes", "boxes"},
      {annotations, "bbox", "boxes"},
      {annotations, "captions", "caption"},
      {annotations, "imagesets", "set"},
  });
}();

/// The word at the start of `text`, in lower case; null for none.
const Word* word_at(std::string_view text) {
  const Word* longest = nullptr;
  for (const Word& word : kWords) {
    if (text.starts_with(word.text) && (!longest || word.text.size() > longest->text.size())) longest = &word;
  }
  return longest;
}

/// The word that is all of `text`, in any case.
const Word* whole_word(std::string_view text, Word::Kind kind) {
  const std::string lower = lower_case(text);
  const auto* found = std::ranges::find_if(kWords, [&](const Word& w) { return w.kind == kind && w.text == lower; });
  return found == kWords.end() ? nullptr : found;
}

constexpr std::string_view kSeparators = "_-. ";

/// A path cut into its folder, stem and extension.
struct PathParts {
  std::string_view folder;
  std::string_view stem;
  std::string_view extension;
};
PathParts cut(std::string_view path) {
  const std::size_t name = path.rfind('/') + 1;  // npos + 1 is 0
  const auto split = formats::split_extension(path.substr(name));
  return {path.substr(0, name == 0 ? 0 : name - 1), split.stem, split.extension};
}

/// The paths of all files below a folder of the source, relative to it.
std::vector<std::string> files_below(const SourceFolder& source, const std::string& folder, int depth = 0) {
  constexpr int deepest = 16;  // a link that leads back
  std::vector<std::string> files;
  if (source.store) {
    for (const io::ObjectInfo& object : source.store->list(folder))
      files.push_back(object.name.substr(folder.size() + 1));
    return files;
  }
  for (const ListedEntry& entry : entries_in(source, folder)) {
    if (entry.kind == EntryKind::file) {
      files.push_back(entry.name);
    } else if (!is_hidden_or_system(entry.name) && depth < deepest) {
      for (const std::string& name : files_below(source, io::join_path(folder, entry.name), depth + 1))
        files.push_back(io::join_path(entry.name, name));
    }
  }
  return files;
}

/// The images below a folder, and the fields that files elsewhere would be for them.
class ImageStems {
 public:
  /// `paths` are relative to the folder of the images.
  explicit ImageStems(std::vector<std::string> paths) {
    std::erase_if(paths, [](const std::string& path) { return !is_image_name(path); });
    for (const std::string& path : paths) {
      const PathParts parts = cut(path);
      const std::size_t last = parts.stem.find_last_of(kSeparators);
      const bool has_word =
          last != std::string_view::npos && whole_word(parts.stem.substr(last + 1), Word::Kind::images);
      const std::string_view suffix = has_word ? parts.stem.substr(last) : std::string_view();
      if (&path == &paths.front()) suffix_ = suffix;
      if (suffix != suffix_) suffix_.clear();
      has_folders_ = has_folders_ || !parts.folder.empty();
    }
    for (const std::string& path : paths) {
      const PathParts parts = cut(path);
      const std::string_view stem = parts.stem.substr(0, parts.stem.size() - suffix_.size());
      in_folders_.insert(io::join_path(std::string(parts.folder), stem));
      stems_.insert(std::string(stem));
    }
  }

  std::size_t count() const { return in_folders_.size(); }
  bool has_folders() const { return has_folders_; }

  /// Files named as images with an ending behind it, by that ending; `count` images have one.
  struct Ending {
    std::string text;  ///< "_mask.png"
    std::size_t count = 0;
  };
  struct Match {
    std::vector<Ending> endings = {};  ///< the most frequent first
    bool by_folder = false;            ///< they are in folders of the same names
  };

  /// Of files given by their paths relative to the folder that they are in.
  Match match(const std::vector<std::string>& paths) const {
    const std::map<std::string, std::size_t> in_folders = endings(paths, true);
    const std::map<std::string, std::size_t> flat = has_folders_ ? endings(paths, false) : in_folders;
    const auto sum = [](const auto& found) {
      std::size_t all = 0;
      for (const auto& [ending, number] : found) all += number;
      return all;
    };
    Match result{.by_folder = has_folders_ && sum(in_folders) >= sum(flat)};
    for (const auto& [text, number] : result.by_folder ? in_folders : flat) result.endings.push_back({text, number});
    std::ranges::stable_sort(result.endings, std::ranges::greater(), &Ending::count);
    constexpr std::size_t most = 4;
    if (result.endings.size() > most) result.endings.resize(most);
    while (!result.endings.empty() && result.endings.back().count * 10 < result.endings.front().count)
      result.endings.pop_back();
    return result;
  }

  /// "{stem}", or "{stem-_img}" if all images have that suffix and the other files do not.
  std::string stem_placeholder() const { return suffix_.empty() ? "{stem}" : "{stem-" + suffix_ + "}"; }

 private:
  std::map<std::string, std::size_t> endings(const std::vector<std::string>& paths, bool by_folder) const {
    std::map<std::string, std::size_t> found;
    for (const std::string& path : paths) {
      const PathParts parts = cut(path);
      if (parts.extension.empty() || path.find_first_of(",{}*") != std::string::npos) continue;
      for (std::size_t end = parts.stem.size();; end = parts.stem.find_last_of(kSeparators, end - 1)) {
        const std::string_view stem = parts.stem.substr(0, end);
        const bool named = by_folder ? in_folders_.contains(io::join_path(std::string(parts.folder), stem))
                                     : stems_.contains(std::string(stem));
        if (named) ++found[fmt::format("{}.{}", parts.stem.substr(end), parts.extension)];
        if (named || end == 0 || parts.stem.find_last_of(kSeparators, end - 1) == std::string_view::npos) break;
      }
    }
    return found;
  }

  std::string suffix_;
  std::unordered_set<std::string> in_folders_;
  std::unordered_set<std::string> stems_;
  bool has_folders_ = false;
};

/// The member's name for files of a field with this ending.
std::string member_name(std::string_view field, const ImageStems::Ending& ending, std::set<std::string>& used) {
  const std::size_t dot = ending.text.rfind('.');
  const std::string extension = formats::portable_extension(ending.text.substr(dot + 1));
  const std::string_view suffix = std::string_view(ending.text).substr(0, dot);
  std::string last = lower_case(suffix.substr(suffix.find_last_of(kSeparators) + 1));
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyz0123456789";
  if (last.empty() || last.size() > 12 || last.find_first_not_of(allowed) != std::string::npos) last = "2";
  const bool is_plain = !is_image_name("x." + extension) && extension.find_first_not_of(allowed) == std::string::npos;
  for (const std::string& name :
       {is_plain ? extension : fmt::format("{}.{}", field, extension), fmt::format("{}.{}", field, extension),
        fmt::format("{}.{}.{}", field, last, extension)}) {
    if (used.insert(name).second) return name;
  }
  return {};
}

/// The --field options for the files of `folder` (below `parent`), whose images are below `root`.
std::vector<std::string> fields_of(const SourceFolder& source, const std::string& parent, const std::string& root,
                                   const std::string& folder, const ImageStems& images, std::set<std::string>& used) {
  const std::size_t slash = root.find('/');
  const std::string deeper = slash == std::string::npos ? std::string() : root.substr(slash);  // "/train2017"
  const std::vector<std::string> paths = files_below(source, io::join_path(parent, folder));
  std::vector<std::string> within;
  for (const std::string& path : paths) {
    if (deeper.empty() || path.starts_with(deeper.substr(1) + '/'))
      within.push_back(path.substr(deeper.empty() ? 0 : deeper.size()));
  }
  ImageStems::Match match = images.match(within);
  const bool is_parallel = !match.endings.empty();
  if (!is_parallel && !deeper.empty()) match = images.match(paths);
  std::string start = "../";
  for (std::size_t at = 0; (at = root.find('/', at)) != std::string::npos; ++at) start += "../";
  start += folder + (is_parallel ? deeper : std::string()) + (match.by_folder ? "/{dir}/" : "/");
  std::vector<std::string> fields;
  const std::string_view field = read_folder_name(folder).field;
  for (const ImageStems::Ending& ending : match.endings) {
    const std::string name = member_name(field.empty() ? "part" : field, ending, used);
    if (name.empty() || start.find(',') != std::string::npos) continue;
    fields.push_back(fmt::format("{}{}={}{}{}", name, ending.count < images.count() ? "?" : "", start,
                                 images.stem_placeholder(), ending.text));
  }
  return fields;
}

/// --metadata with the file of COCO in a folder that is named after that of the images: "instances_val2017.json".
std::string metadata_of(const SourceFolder& source, const std::string& parent, const std::string& root,
                        const std::string& folder) {
  const std::string set = lower_case(root.substr(root.rfind('/') + 1));
  std::string found;
  for (const ListedEntry& entry : entries_in(source, io::join_path(parent, folder))) {
    const std::string name = lower_case(entry.name);
    if (entry.kind != EntryKind::file || !name.ends_with(".json") || name.find(set) == std::string::npos) continue;
    if (found.empty() || name.starts_with("instances")) found = entry.name;
  }
  if (found.empty()) return {};
  return " --metadata " + shell_word(source.path_of(io::join_path(io::join_path(parent, folder), found)));
}

/// Whether the folders right in `root`, or in its sets, are classes.
bool has_classes(const SourceFolder& source, const std::string& root) {
  std::size_t folders = 0;
  for (const ListedEntry& entry : entries_in(source, root)) {
    if (entry.kind == EntryKind::file && is_image_name(entry.name)) return false;
    if (entry.kind == EntryKind::file || is_hidden_or_system(entry.name)) continue;
    if (read_folder_name(entry.name).is_only_set()) return has_classes(source, io::join_path(root, entry.name));
    ++folders;
  }
  return folders > 1;
}

/// The folders of a parent: those with the images, and those with other files of the samples.
struct PartFolders {
  std::vector<std::string> roots = {};   ///< one for each command, below the parent
  std::vector<std::string> others = {};  ///< right in it
};

PartFolders part_folders(const SourceFolder& source, const std::string& parent) {
  std::vector<std::string> images;
  std::vector<std::string> sets;
  PartFolders found;
  for (const ListedEntry& entry : entries_in(source, parent)) {
    if (entry.kind == EntryKind::file || is_hidden_or_system(entry.name)) continue;
    const FolderName name = read_folder_name(entry.name);
    const bool is_images = name.role == Part::images;
    (is_images ? images : name.is_only_set() ? sets : found.others).push_back(entry.name);
  }
  if (images.empty() && sets.empty() && !found.others.empty()) {
    images.push_back(found.others.front());
    found.others.erase(found.others.begin());
  }
  std::erase_if(found.others, [](const std::string& name) { return !read_folder_name(name).is_part(); });
  if (images.empty()) return {std::move(sets), std::move(found.others)};
  if (read_folder_name(images.front()).is_set) return {std::move(images), std::move(found.others)};
  found.others.insert(found.others.end(), images.begin() + 1, images.end());
  const SourceFolder first = source.below(io::join_path(parent, images.front()));
  const std::vector<ListedEntry> below = entries_in(first, "");
  const bool are_sets = std::ranges::any_of(below, [](const ListedEntry& entry) {
    return entry.kind == EntryKind::folder && read_folder_name(entry.name).is_only_set();
  });
  Context quiet;
  if (!are_sets || !find_set_folders(first, quiet, false).names.empty()) {
    found.roots.push_back(images.front());
    return found;
  }
  for (const ListedEntry& entry : below) {
    if (entry.kind == EntryKind::folder && !is_hidden_or_system(entry.name))
      found.roots.push_back(io::join_path(images.front(), entry.name));
  }
  return found;
}

}  // namespace

FolderName read_folder_name(std::string_view name) {
  const std::string lower = lower_case(name);
  FolderName result;
  for (std::string_view left = lower; !left.empty();) {
    const Word* word = word_at(left);
    if (word == nullptr && std::string_view("0123456789_-. ").find(left.front()) == std::string_view::npos) return {};
    left.remove_prefix(word ? word->text.size() : 1);
    if (word == nullptr) continue;
    if (word->kind == Word::Kind::set) result.is_set = true;
    if (word->kind == Word::Kind::images && result.role == Part::none) result.role = Part::images;
    if (word->kind != Word::Kind::annotations) continue;
    result.role = Part::annotations;
    result.field = word->field;
  }
  return result;
}

std::vector<std::string> commands_for_parts(const SourceFolder& source, const std::string& parent) {
  const PartFolders folders = part_folders(source, parent);
  std::vector<std::string> commands;
  for (const std::string& root : folders.roots) {
    const std::string path = io::join_path(parent, root);
    const ImageStems images(files_below(source, path));
    if (images.count() == 0) continue;
    std::set<std::string> used{"cls"};
    std::string options;
    for (const std::string& folder : folders.others) {
      for (const std::string& field : fields_of(source, parent, root, folder, images, used))
        options += " --field " + shell_word(field);
    }
    for (std::size_t i = 0; options.empty() && i < folders.others.size(); ++i)
      options = metadata_of(source, parent, root, folders.others[i]);
    if (options.empty() && !folders.others.empty()) continue;
    const std::string set = folders.roots.size() > 1 ? io::join_path(parent, root.substr(root.rfind('/') + 1)) : parent;
    commands.push_back(
        remedy::convert(source.path_of(path), (has_classes(source, path) ? "" : " --unlabeled") + options, set));
  }
  return commands;
}

namespace {

/// Folders with roles that lie side by side and contain samples. Files of one folder are adjacent.
std::optional<UndeclaredFields> find_part_folders(const ImageFolderScan& scan) {
  std::map<std::string, std::pair<std::string, std::string>>
      parts;  // by parent: a folder with a role, and a file in it
  for (const ScannedClass& owner : scan.classes) {
    std::string_view last = "/";
    for (const ScannedFile& file : owner.files) {
      const std::string_view name = owner.name_of(file);
      const std::string_view folder = name.substr(0, std::min(name.rfind('/'), name.size()));
      const std::string_view here = folder.size() == name.size() ? std::string_view() : folder;
      if (here == last) continue;
      last = here;
      const std::string path = owner.path_of(file);
      std::size_t begin = scan.listed ? 0 : path.find('/') + 1;  // else the first is a class
      for (std::size_t end = 0; (end = path.find('/', begin)) != std::string::npos; begin = end + 1) {
        if (!read_folder_name(std::string_view(path).substr(begin, end - begin)).is_part()) continue;
        const auto [at, is_new] = parts.try_emplace(path.substr(0, begin), path.substr(0, end), path);
        if (!is_new && at->second.first != path.substr(0, end))
          return UndeclaredFields{path, {}, {at->second.first, path.substr(0, end)}};
      }
    }
  }
  return std::nullopt;
}

/// The paths of the samples below a folder, relative to it.
std::vector<std::string> samples_below(const ImageFolderScan& scan, const std::string& folder) {
  std::vector<std::string> paths;
  for (const ScannedClass& owner : scan.classes) {
    for (const ScannedFile& file : owner.files) {
      const std::string path = owner.path_of(file);
      if (path.starts_with(folder + '/')) paths.push_back(path.substr(folder.size() + 1));
    }
  }
  return paths;
}

/// Templates for the files of the folder beside that of the images, whatever is above both.
std::vector<std::string> fields_beside(const ImageFolderScan& scan, std::vector<std::string> folders) {
  const auto name_of = [](const std::string& folder) { return folder.substr(folder.rfind('/') + 1); };
  if (read_folder_name(name_of(folders[1])).role == Part::images) std::swap(folders[0], folders[1]);
  const ImageStems images(samples_below(scan, folders[0]));
  const std::vector<std::string> others = samples_below(scan, folders[1]);
  const ImageStems::Match match = images.match(others);
  const std::string_view field = read_folder_name(name_of(folders[1])).field;
  const std::string start = fmt::format("{{dir}}/../{}/", name_of(folders[1]));
  std::size_t matched = 0;
  for (const ImageStems::Ending& ending : match.endings) matched += ending.count;
  const bool all_match = matched == others.size();  // what belongs to no image would be a sample still
  if (images.has_folders() || (matched > 0 && !all_match) || start.find(',') != std::string::npos) return {};
  std::set<std::string> used{"cls"};
  std::vector<std::string> fields;
  for (const ImageStems::Ending& ending : match.endings) {
    const std::string name = member_name(field.empty() ? "part" : field, ending, used);
    if (name.empty()) continue;
    fields.push_back(fmt::format("{}{}={}{}{}", name, ending.count < images.count() ? "?" : "", start,
                                 images.stem_placeholder(), ending.text));
  }
  if (!fields.empty() || images.count() != 1) return fields;
  const std::string extension(cut(others.front()).extension);  // all files there are those of the one image
  return {fmt::format("{}.{}={}*.{}", field.empty() ? "part" : field, formats::portable_extension(extension), start,
                      extension)};
}

/// A stem that ends in the name of a role: "x_mask", "x_mask_1".
struct RoleSuffix {
  std::size_t begin = 0;  ///< in the stem
  std::string text;       ///< "_mask"
  std::string_view field;
  bool numbered = false;
};
std::optional<RoleSuffix> role_suffix(std::string_view stem) {
  std::size_t end = stem.size();
  std::size_t begin = stem.find_last_of(kSeparators);
  const bool numbered = begin != std::string_view::npos && begin > 0 && is_digits(stem.substr(begin + 1));
  if (numbered) {
    end = begin;
    begin = stem.find_last_of(kSeparators, begin - 1);
  }
  if (begin == std::string_view::npos || begin == 0) return std::nullopt;
  const Word* word = whole_word(stem.substr(begin + 1, end - begin - 1), Word::Kind::annotations);
  if (word == nullptr) return std::nullopt;
  return RoleSuffix{begin, std::string(stem.substr(begin, end - begin)), word->field, numbered};
}

/// Counts the samples whose stem another one has too, with the suffix of a role behind it.
class StemPairs {
 public:
  void add(const ScannedClass& owner) {
    constexpr std::size_t most_looked_at = 64;  // of a class without such names: those of a sample are adjacent
    const auto has_suffix = [&](const ScannedFile& file) {
      return role_suffix(cut(owner.name_of(file)).stem).has_value();
    };
    const std::size_t looked_at = std::min(most_looked_at, owner.files.size());
    if (std::none_of(owner.files.begin(), owner.files.begin() + static_cast<std::ptrdiff_t>(looked_at), has_suffix)) {
      others_ += owner.files.size();
      return;
    }
    std::unordered_set<std::uint64_t> stems;  // XXH3-64 of paths without extensions
    for (const ScannedFile& file : owner.files) {
      const std::string_view name = owner.name_of(file);
      stems.insert(hash_of(name.substr(0, name.size() - cut(name).extension.size() - 1)));
    }
    for (const ScannedFile& file : owner.files) {
      const std::string_view name = owner.name_of(file);
      const PathParts parts = cut(name);
      const std::optional<RoleSuffix> suffix = role_suffix(parts.stem);
      if (!suffix || !count(owner, file, parts, *suffix, stems)) ++others_;
    }
  }

  std::optional<UndeclaredFields> found() const {
    UndeclaredFields result;
    std::set<std::string> used{"cls"};
    for (const auto& [kind, pairs] : pairs_) {
      if (pairs.count * 4 < others_) continue;
      if (result.first.empty()) std::tie(result.first, result.beside) = std::pair(pairs.first, pairs.beside);
      const auto& [suffix, extension, of_image, numbered] = kind;
      const bool is_plain = of_image.empty() && !numbered && suffix.front() != ' ' && extension.size() < 8;
      if (is_plain) {
        result.sidecars.push_back(fmt::format("{}.{}", suffix, extension));
        continue;
      }
      const std::string name = member_name(pairs.field, {"." + extension, 0}, used);
      result.fields.push_back(fmt::format("{}{}={{dir}}/{}{}{}.{}", name, pairs.count < others_ ? "?" : "",
                                          of_image.empty() ? "{stem}" : "{stem-" + of_image + "}", suffix,
                                          numbered ? "*" : "", extension));
    }
    return result.first.empty() ? std::nullopt : std::optional(std::move(result));
  }

 private:
  static std::uint64_t hash_of(std::string_view text) { return xxh3_64(as_bytes(text)); }

  bool count(const ScannedClass& owner, const ScannedFile& file, const PathParts& parts, const RoleSuffix& suffix,
             const std::unordered_set<std::uint64_t>& stems) {
    const std::string base = io::join_path(std::string(parts.folder), parts.stem.substr(0, suffix.begin));
    for (const std::string_view of_image : {"", "_img", "_image", "_rgb", "_color", "_leftImg8bit", "-image", "-rgb"}) {
      const std::string beside = base + std::string(of_image);
      if (!stems.contains(hash_of(beside))) continue;
      Pairs& pairs = pairs_[{suffix.text, std::string(parts.extension), std::string(of_image), suffix.numbered}];
      if (pairs.count++ == 0) {
        pairs.first = owner.path_of(file);
        pairs.beside = io::join_path(owner.folder, beside);
        pairs.field = suffix.field;
      }
      return true;
    }
    return false;
  }

  struct Pairs {
    std::uint64_t count = 0;
    std::string first;
    std::string beside;
    std::string_view field;
  };
  using Kind =
      std::tuple<std::string, std::string, std::string, bool>;  // suffix, extension, the image's suffix, numbered
  std::map<Kind, Pairs> pairs_;
  std::uint64_t others_ = 0;  ///< samples that belong to no other one
};

}  // namespace

std::optional<UndeclaredFields> find_undeclared_fields(const ImageFolderScan& scan) {
  if (std::optional<UndeclaredFields> found = find_part_folders(scan)) {
    found->fields = fields_beside(scan, found->folders);
    return found;
  }
  StemPairs pairs;
  for (const ScannedClass& owner : scan.classes) pairs.add(owner);
  return pairs.found();
}

}  // namespace shardkit::catalog
