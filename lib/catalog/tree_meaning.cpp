#include "catalog/tree_meaning.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "catalog/kept_files.hpp"
#include "catalog/set_folders.hpp"
#include "core/command_text.hpp"
#include "core/error.hpp"
#include "core/folder.hpp"
#include "core/hash.hpp"
#include "core/remedies.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "formats/portable_name.hpp"
#include "io/publish.hpp"

namespace shardkit::catalog {
namespace {

using Kind = TreeEvidence::Kind;

constexpr std::string_view kSeparators = "_-. ";
constexpr std::string_view kDigits = "0123456789";
constexpr std::size_t kMostParts = 8;      // samples with more parts are not expected
constexpr std::size_t kMostParents = 256;  // enough to see whether folders have the same parts

/// A file by its path relative to a folder. The text belongs to a scan or to a listing.
struct Entry {
  std::string_view path;
  std::uint64_t size = 0;
};
using Entries = std::vector<Entry>;

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

std::uint64_t hash_of(std::string_view folder, std::string_view stem) {
  return xxh3_64(as_bytes(io::join_path(std::string(folder), stem)));
}

bool has_letter(std::string_view text) { return std::ranges::any_of(text, is_letter); }

std::vector<std::string_view> stems_of(const Entries& files) {
  std::vector<std::string_view> stems;
  for (const Entry& file : files) stems.push_back(cut(file.path).stem);
  return stems;
}

/// What names have in common at their start and end, but for digits: "IMG_" and "_rgb".
struct Affix {
  explicit Affix(const std::vector<std::string_view>& names) {
    if (names.size() < 2) return;
    prefix = suffix = names.front();
    for (const std::string_view name : names) {
      prefix = prefix.substr(0, static_cast<std::size_t>(std::ranges::mismatch(prefix, name).in1 - prefix.begin()));
      while (!name.ends_with(suffix)) suffix.remove_prefix(1);
    }
    while (!prefix.empty() && is_digit(prefix.back())) prefix.remove_suffix(1);
    suffix.remove_prefix(std::min(suffix.find_first_of(kSeparators), suffix.size()));
    if (!has_letter(suffix)) suffix = {};
  }
  std::string_view without(std::string_view name) const {
    if (name.size() <= prefix.size() + suffix.size()) return name;
    return name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  }
  std::string_view prefix;
  std::string_view suffix;
};

/// Whether names differ only in numbers of which a quarter is there, such as 1, 2, 3: any folder may have such names.
bool is_numbering(const std::vector<std::string_view>& names) {
  std::vector<std::set<std::uint64_t>> numbers;  // by their place in the name
  std::optional<std::string> text;               // around them
  for (const std::string_view name : names) {
    std::string around;
    std::size_t count = 0;
    for (std::size_t at = 0, end = 0; at < name.size(); at = end) {
      end = is_digit(name[at]) ? std::min(name.find_first_not_of(kDigits, at), name.size()) : at + 1;
      around += is_digit(name[at]) ? '0' : name[at];
      if (!is_digit(name[at])) continue;
      if (++count > numbers.size()) numbers.emplace_back();
      numbers[count - 1].insert(parse_count(name.substr(at, end - at)).value_or(UINT64_MAX));
    }
    if (count == 0 || around != text.value_or(around)) return false;
    text = around;
  }
  return std::ranges::all_of(numbers, [](const auto& all) { return *all.rbegin() - *all.begin() < 4 * all.size(); });
}

/// Whether folders differ only in a number, as classes and folds do, and parts of samples do not.
bool are_numbered(const std::vector<std::string>& names) { return is_numbering({names.begin(), names.end()}); }

/// Files named as images, by what is behind the image's name: "_mask.png". `files` also counts those that no template
/// describes.
struct Match {
  std::map<std::string, std::size_t> endings = {};
  bool by_folder = false;  ///< they are in folders of the same names
  std::size_t files = 0;
};

/// The names of the images in a folder, which files elsewhere may have too.
class ImageStems {
 public:
  explicit ImageStems(const Entries& images) : affix_(stems_of(images)), count_(images.size()) {
    for (const Entry& image : images) {
      const PathParts parts = cut(image.path);
      has_folders_ = has_folders_ || !parts.folder.empty();
      const std::string_view stem = parts.stem.substr(0, parts.stem.size() - affix_.suffix.size());
      stems_.insert(hash_of(parts.folder, stem));
      middles_.insert(hash_of(parts.folder, affix_.without(parts.stem)));
      if (!parts.folder.empty()) is_flat_ = stems_.insert(hash_of({}, stem)).second && is_flat_;
    }
  }

  std::size_t count() const { return count_; }
  bool has_folders() const { return has_folders_; }

  Match match(const Entries& others) const {
    Match in_folders = match(others, has_folders_);
    Match flat = has_folders_ && is_flat_ ? match(others, false) : Match();
    return in_folders.files >= flat.files ? in_folders : flat;
  }

  /// The template for files in `folder` with this ending; empty if it cannot be written.
  std::string template_for(const std::string& folder, bool by_folder, const std::string& ending) const {
    if (folder.find_first_of(",*") != std::string::npos) return {};
    const bool is_whole = ending.starts_with(affix_.suffix);  // the name has the suffix of the images
    return fmt::format("{}{}{}{}", folder, by_folder ? "/{dir}/" : "/",
                       is_whole ? "{stem}" : fmt::format("{{stem-{}}}", affix_.suffix),
                       ending.substr(is_whole ? affix_.suffix.size() : 0));
  }

 private:
  Match match(const Entries& others, bool by_folder) const {
    const Affix affix(stems_of(others));
    Match result{.by_folder = by_folder};
    for (const Entry& other : others) {
      const PathParts parts = cut(other.path);
      const std::string_view folder = by_folder ? parts.folder : std::string_view();
      const bool is_whole = parts.stem.ends_with(affix_.suffix);
      std::size_t end = parts.stem.size() - (is_whole ? affix_.suffix.size() : 0);
      while (end != 0 && end != std::string_view::npos && !stems_.contains(hash_of(folder, parts.stem.substr(0, end))))
        end = parts.stem.find_last_of(kSeparators, end - 1);
      const bool is_found = end != 0 && end != std::string_view::npos;
      if (is_found && !parts.extension.empty() && other.path.find_first_of(",{}*") == std::string::npos)
        ++result.endings[fmt::format("{}.{}", parts.stem.substr(end), parts.extension)];
      if (is_found || middles_.contains(hash_of(folder, affix.without(parts.stem)))) ++result.files;
    }
    return result;
  }

  Affix affix_;
  std::size_t count_;
  std::unordered_set<std::uint64_t> stems_;    ///< without the suffix of all, with and without their folder
  std::unordered_set<std::uint64_t> middles_;  ///< without the prefix of all, too
  bool has_folders_ = false;
  bool is_flat_ = true;  ///< no stem is in two folders
};

/// What kind of files a folder or a suffix has. Masks, depth and boxes differ from their images in extension or size.
struct FileKind {
  std::set<std::string> extensions = {};
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;

  void add(std::string_view extension, std::uint64_t size, std::uint64_t count = 1) {
    extensions.insert(formats::portable_extension(extension));
    files += count;
    bytes += size;
  }
  bool is_jpeg() const { return extensions.contains("jpg"); }
  /// Of one file, and a KiB, so that tiny files count as equal.
  double size() const {
    return 1024 + static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(files, 1));
  }
  /// Those that start samples first.
  auto rank() const { return std::pair(!is_jpeg(), -size()); }
  std::string text() const { return fmt::format(".{}", fmt::join(extensions, " and .")); }
};

/// Whether files that share their names are of two kinds, so that both are parts of a sample. If the names are only
/// numbers, classes of JPEG and of other photos are possible too: those are larger than JPEGs. So are classes of small
/// and of large photos, and a mask that is a JPEG is rare.
bool differ(const FileKind& images, const FileKind& others, bool numbered) {
  const bool shared =
      std::ranges::any_of(images.extensions, [&](const auto& e) { return others.extensions.contains(e); });
  if (!shared && (!numbered || (images.is_jpeg() && others.size() < 2 * images.size()))) return true;
  const int times = !numbered ? 4 : images.is_jpeg() ? 64 : 16;
  return images.size() >= times * others.size();
}

/// --field for files in `folder` that `having` of the samples have; empty if no template describes them. The name is
/// "mask.png" for masks/, and a further one that of the last word before the extension.
std::string field_option(std::string_view folder, std::string_view ending, const std::string& pattern,
                         std::pair<std::size_t, std::size_t> having_of, std::set<std::string>& used) {
  if (pattern.empty()) return {};
  const PathParts parts = cut(ending);
  const std::string extension = formats::portable_extension(parts.extension);
  std::vector<std::string> names;
  if (!is_image_name("x." + extension)) names.push_back(extension);
  for (const std::string_view text : {folder, parts.stem.substr(parts.stem.find_last_of(kSeparators) + 1)}) {
    std::string word = lower_case(text.substr(0, 12));
    if (word.size() > 3 && word.ends_with('s') && !word.ends_with("ss")) word.pop_back();
    for (char& c : word) c = is_letter(c) || is_digit(c) ? c : '-';
    if (has_letter(word)) names.push_back(fmt::format("{}.{}", word, extension));
  }
  for (std::size_t number = 0; number <= used.size(); ++number)
    names.push_back(fmt::format("part{}.{}", number, extension));
  const auto name = std::ranges::find_if(names, [&](const std::string& text) { return used.insert(text).second; });
  return fmt::format("{}{}={}", *name, having_of.first < having_of.second ? "?" : "", pattern);
}

// Folders side by side.

/// Folders of the same names, in the source or in several of its folders.
struct Siblings {
  std::vector<std::string> names = {};
  std::vector<std::string> parents = {};         ///< with a slash at the end
  std::vector<std::vector<Entries>> files = {};  ///< by parent, then name
};

/// Calls `use` for the first three folders on the way to each file: the path of its parent, its name, and the file.
template <class Use>
void for_each_folder(const ImageFolderScan& scan, const Use& use) {
  for (const ScannedClass& owner : scan.classes) {
    for (const ScannedFile& file : owner.files) {
      const std::string path = owner.path_of(file);
      const std::string_view name = owner.name_of(file);
      std::size_t begin = 0;
      for (int depth = 0; depth < 3; ++depth) {
        const std::size_t end = path.find('/', begin);
        if (end == std::string::npos) break;
        use(path.substr(0, begin), path.substr(begin, end - begin),
            Entry{name.substr(name.size() - (path.size() - end - 1)), file.size});
        begin = end + 1;
      }
    }
  }
}

/// The names of the folders in each folder.
using Folders = std::map<std::string, std::set<std::string>>;
Folders folders_of(const ImageFolderScan& scan) {
  Folders folders;
  for_each_folder(
      scan, [&](const std::string& parent, const std::string& name, const Entry&) { folders[parent].insert(name); });
  return folders;
}

/// The folders of the source, and of the first ones below it, grouped by their names.
std::vector<Siblings> siblings_in(const ImageFolderScan& scan, const Folders& folders) {
  std::map<std::vector<std::string>, Siblings> groups;
  std::map<std::string, std::pair<Siblings*, std::size_t>> parents;
  for (const auto& [parent, names] : folders) {
    if (names.size() < 2 || names.size() > kMostParts || parents.size() > kMostParents) continue;
    const std::vector<std::string> key(names.begin(), names.end());
    Siblings& group = groups[parent.empty() ? std::vector<std::string>() : key];  // classes are a group of their own
    group.names = key;
    group.parents.push_back(parent);
    group.files.emplace_back(key.size());
    parents.emplace(parent, std::pair(&group, group.parents.size() - 1));
  }
  for_each_folder(scan, [&](const std::string& parent, const std::string& name, const Entry& entry) {
    const auto found = parents.find(parent);
    if (found == parents.end()) return;
    const auto& [group, number] = found->second;
    const auto at = std::ranges::lower_bound(group->names, name) - group->names.begin();
    group->files[number][static_cast<std::size_t>(at)].push_back(entry);
  });
  std::vector<Siblings> result;
  for (auto& [key, group] : groups) result.push_back(std::move(group));
  return result;
}

/// How the files of a folder match those of another one, over all parents.
struct Pairing {
  std::size_t images = 0;
  std::size_t others = 0;
  std::size_t matched = 0;
  bool numbered = true;
  bool is_one_image = true;  ///< each parent has one, which is named like it
  std::map<std::string, std::size_t> endings = {};
  std::size_t declared = 0;  ///< files with these endings

  bool is_found() const { return is_one_image || (numbered ? matched == others : matched * 4 >= others * 3); }
  /// Numbers that are as many on both sides, and behind no other text than there.
  bool is_clear() const { return !numbered || (declared == matched && matched % images == 0); }
};

Pairing pair(const Siblings& group, std::size_t images, std::size_t other) {
  Pairing result;
  for (std::size_t p = 0; p < group.parents.size(); ++p) {
    const Entries& here = group.files[p][images];
    const Match match = ImageStems(here).match(group.files[p][other]);
    result.images += here.size();
    result.others += group.files[p][other].size();
    result.matched += match.files;
    result.numbered = result.numbered && is_numbering(stems_of(here));
    for (const auto& [ending, count] : match.endings) {
      result.endings[ending] += count;
      result.declared += count;
    }
    const std::string_view parent = group.parents[p];
    result.is_one_image = result.is_one_image && here.size() == 1 && !parent.empty() &&
                          ('/' + std::string(parent)).ends_with(fmt::format("/{}/", cut(here.front().path).stem));
  }
  return result;
}

/// --field for folders that are beside those of the images everywhere. Without one if a file would be a sample still.
std::vector<std::string> fields_beside(const Siblings& group, std::size_t images, std::size_t other,
                                       const Pairing& pairing, std::set<std::string>& used) {
  const std::string& name = group.names[other];
  const std::string start = "{dir}/../" + name;
  const ImageStems stems(group.files.front()[images]);
  std::vector<std::string> fields;
  if (pairing.declared == pairing.others && pairing.endings.size() <= 4 && !stems.has_folders()) {
    for (const auto& [ending, count] : pairing.endings) {
      const std::string pattern = stems.template_for(start, false, ending);
      fields.push_back(field_option(name, ending, pattern, {count, pairing.images}, used));
    }
  } else if (pairing.is_one_image) {
    const std::string ending = fmt::format(".{}", cut(group.files.front()[other].front().path).extension);
    fields.push_back(field_option(name, ending, start + "/*" + ending, {1, 1}, used));
  }
  return fields;
}

/// The evidence that folders beside `images` have the other files of its samples. Removes those from `left`.
void find_parts_of(const Siblings& group, const std::vector<FileKind>& kinds, std::size_t images, bool labeled,
                   std::vector<std::size_t>& left, std::vector<TreeEvidence>& found) {
  const bool is_root = group.parents.front().empty();
  const std::string start = group.parents.size() > 1 ? std::string() : group.parents.front();
  const std::string around = group.parents.size() > 1 ? fmt::format(" of {} folders", group.parents.size()) : "";
  TreeEvidence evidence{Kind::parts, false, {}, group.parents.front(), group.names[images]};
  std::set<std::string> used{"cls"};
  std::vector<std::string> seen;
  std::erase_if(left, [&](std::size_t other) {
    const std::string& name = group.names[other];
    const Pairing pairing = pair(group, images, other);
    const bool differs = differ(kinds[images], kinds[other], pairing.numbered);
    const bool certain = pairing.is_one_image || (differs && pairing.matched > 1 && pairing.is_clear());
    // Equal names say nothing if they are few, in folders that are numbered, or deep in the tree.
    const bool is_equal = pairing.matched > 2 && pairing.declared == pairing.matched &&
                          pairing.images == pairing.others && !are_numbered(group.names) &&
                          (is_root || (!labeled && !pairing.numbered));
    if (!pairing.is_found() || (!certain && !differs && !is_equal)) return false;
    evidence.certain = evidence.certain || certain;
    evidence.others.push_back(name);
    if (!is_root)
      std::ranges::move(fields_beside(group, images, other, pairing, used), std::back_inserter(evidence.fields));
    seen.push_back(
        pairing.is_one_image
            ? fmt::format("'{}' has one file, named like the folder around it, beside '{}'", evidence.images, name)
            : fmt::format("{} of {} ({}) in '{}'{} {} the names of files ({}) in '{}'", pairing.matched,
                          format_count(pairing.others, "file"), kinds[other].text(), start + name, around,
                          pairing.matched == 1 ? "has" : "have", kinds[images].text(), start + evidence.images));
    return true;
  });
  if (seen.empty()) return;
  evidence.seen = fmt::format("{}", fmt::join(seen, ", and "));
  if (std::ranges::find(evidence.fields, std::string()) != evidence.fields.end()) evidence.fields.clear();
  found.push_back(std::move(evidence));
}

void find_parts(const Siblings& group, bool labeled, std::vector<TreeEvidence>& found) {
  std::vector<FileKind> kinds(group.names.size());
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    for (const std::vector<Entries>& files : group.files) {
      for (const Entry& entry : files[i]) kinds[i].add(cut(entry.path).extension, entry.size);
    }
    left.push_back(i);
  }
  std::ranges::stable_sort(left, {}, [&](std::size_t i) { return kinds[i].rank(); });
  while (left.size() > 1) {
    const std::size_t images = left.front();
    left.erase(left.begin());
    find_parts_of(group, kinds, images, labeled, left, found);
  }
}

// Names with suffixes in one folder.

/// Files of one suffix behind the names of their samples.
struct Suffixed {
  std::string suffix = {};
  std::string extension = {};
  FileKind kind = {};
  bool numbered = false;
  std::string first = {};

  std::string end() const { return fmt::format("{}{}.{}", suffix, numbered ? "*" : "", extension); }
  bool is_sidecar() const { return !numbered && suffix.front() != ' ' && extension.size() < 8; }
};

/// Counts the ends of names, over all folders: of those that continue another name, such as "_mask" in x.jpg and
/// x_mask.png, and else of those that differ in their last word, such as "_t1" and "_t2".
class SuffixCounts {
 public:
  explicit SuffixCounts(const ImageFolderScan& scan) : has_classes_(scan.labeled() && scan.classes.size() > 1) {
    Entries files;
    std::string last;
    for (const ScannedClass& owner : scan.classes) {
      for (const ScannedFile& file : owner.files) {
        const std::string_view name = owner.name_of(file);
        const std::size_t begin = name.rfind('/') + 1;  // npos + 1 is 0
        const std::string folder = io::join_path(owner.folder, name.substr(0, begin));
        if (folder != last) add(std::exchange(last, folder), std::exchange(files, {}));
        files.push_back({name.substr(begin), file.size});
      }
    }
    add(last, files);
  }

  void find(std::vector<TreeEvidence>& found) const {
    Suffixed images;
    std::vector<Suffixed> members;
    for (const auto& [name, counted] : names_) {
      if (name.first.empty()) images.kind.add(name.second, counted.kind.bytes, counted.kind.files);
      if (!name.first.empty() && counted.kind.files * 4 >= samples_) members.push_back(counted);
    }
    std::ranges::stable_sort(members, {}, [](const Suffixed& member) { return member.kind.rank(); });
    const bool is_plain = images.kind.files * 4 >= samples_ * 3;
    const bool is_split = !is_plain && is_whole(members);
    if (!is_plain) {  // all samples consist of files with suffixes
      std::erase_if(members, [&](const Suffixed& member) { return member.kind.files * 4 < families_ * 3; });
      if (members.size() < 2 || members.size() > kMostParts || families_ < 2 || families_ * 4 < samples_ * 3) return;
      images = members.front();
      members.erase(members.begin());
    }
    const auto may_be = [&](const Suffixed& member) {
      return differ(images.kind, member.kind, false) || member.kind.files > 2;
    };
    const auto is_certain = [&](const Suffixed& member) {
      return is_split || (differ(images.kind, member.kind, false) && member.kind.files > 1);
    };
    TreeEvidence evidence{Kind::suffixes, std::ranges::any_of(members, is_certain)};
    std::erase_if(members, [&](const Suffixed& member) {
      return evidence.certain ? is_plain && !is_certain(member) : !may_be(member);
    });
    if (members.empty()) return;
    declare(images, members, is_plain, evidence);
    found.push_back(std::move(evidence));
  }

 private:
  using Name = std::pair<std::string, std::string>;  ///< suffix and extension

  /// Whether each sample has all of three or more suffixes, and is not one of a class with several: it has a folder
  /// of its name.
  bool is_whole(const std::vector<Suffixed>& members) const {
    return members.size() > 2 && families_ == samples_ && (!has_classes_ || families_ == in_own_folder_) &&
           std::ranges::all_of(members, [&](const Suffixed& member) { return member.kind.files == families_; });
  }

  static void declare(const Suffixed& images, const std::vector<Suffixed>& members, bool is_plain,
                      TreeEvidence& evidence) {
    const std::string stem = is_plain ? "{dir}/{stem}" : fmt::format("{{dir}}/{{stem-{}}}", images.suffix);
    std::string ends = fmt::format("{} of '*{}'", images.kind.files, is_plain ? images.kind.text() : images.end());
    std::set<std::string> used{"cls"};
    for (const Suffixed& member : members) {
      ends += fmt::format(", {} of '*{}'", member.kind.files, member.end());
      const std::string ending = fmt::format("{}.{}", member.suffix, member.extension);
      if (is_plain && member.is_sidecar())
        evidence.sidecars.push_back(ending);
      else
        evidence.fields.push_back(
            field_option({}, ending, stem + member.end(), {member.kind.files, images.kind.files}, used));
    }
    evidence.seen = fmt::format("names differ only in their ends: {}, such as '{}'", ends, members.front().first);
  }

  void add(const std::string& folder, const Entries& files) {
    if (files.empty()) return;
    std::set<std::string_view> stems;
    for (const Entry& file : files) stems.insert(cut(file.path).stem);
    std::map<std::string_view, Entries> samples;
    for (const Entry& file : files) samples[continued(cut(file.path).stem, stems)].push_back(file);
    std::map<std::string_view, Entries> words;
    for (const auto& [stem, members] : samples) {
      const std::size_t word = stem.find_last_of(kSeparators);
      const bool is_word = word != std::string_view::npos && word > 0 && has_letter(stem.substr(word));
      if (members.size() > 1)
        count(folder, stem, members);
      else
        words[is_word ? stem.substr(0, word) : stem].push_back(members.front());
    }
    for (const auto& [stem, members] : words)
      count(folder, members.size() > 1 ? stem : cut(members.front().path).stem, members);
  }

  /// The longest other name that a stem continues with a word, such as "x" for "x_mask_1"; else the stem.
  static std::string_view continued(std::string_view stem, const std::set<std::string_view>& stems) {
    std::size_t end = stem.find_last_of(kSeparators);
    while (end != std::string_view::npos && end > 0) {
      if (has_letter(stem.substr(end)) && stems.contains(stem.substr(0, end))) return stem.substr(0, end);
      end = stem.find_last_of(kSeparators, end - 1);
    }
    return stem;
  }

  void count(const std::string& folder, std::string_view sample, const Entries& members) {
    ++samples_;
    families_ += members.size() > 1 ? 1 : 0;
    in_own_folder_ += ('/' + folder).ends_with(fmt::format("/{}/", sample)) ? 1 : 0;
    for (const Entry& member : members) {
      const PathParts parts = cut(member.path);
      std::string_view suffix = parts.stem.substr(sample.size());
      const std::size_t number = suffix.find_last_not_of(kDigits) + 1;
      const bool numbered =
          number > 1 && number < suffix.size() && kSeparators.find(suffix[number - 1]) != kSeparators.npos;
      if (numbered) suffix = suffix.substr(0, number - 1);
      Suffixed& counted = names_[{std::string(suffix), std::string(parts.extension)}];
      counted.suffix = suffix;
      counted.extension = parts.extension;
      counted.kind.add(parts.extension, member.size);
      counted.numbered = counted.numbered || numbered;
      if (counted.first.empty()) counted.first = folder + std::string(member.path);
    }
  }

  std::map<Name, Suffixed> names_;
  std::size_t samples_ = 0;
  std::size_t families_ = 0;       ///< samples of several files
  std::size_t in_own_folder_ = 0;  ///< samples in a folder of their name
  bool has_classes_;
};

/// Classes that have no images of their own but folders, at least two of which all of them have.
void find_wrappers(const ImageFolderScan& scan, const Folders& folders, std::vector<TreeEvidence>& found) {
  if (!scan.labeled() || scan.classes.size() < 2) return;
  std::vector<std::string> names;
  std::set<std::string> common;
  for (const ScannedClass& owner : scan.classes) {
    const auto below = folders.find(owner.name + '/');
    const auto is_direct = [&](const ScannedFile& f) { return owner.name_of(f).find('/') == std::string_view::npos; };
    if (below == folders.end() || std::ranges::any_of(owner.files, is_direct)) return;
    if (names.empty()) common = below->second;
    std::erase_if(common, [&](const std::string& name) { return !below->second.contains(name); });
    names.push_back(owner.name);
  }
  if (common.size() < 2) return;
  constexpr std::size_t most_folds = 20;
  const bool are_folds = names.size() <= most_folds && are_numbered(names) && has_letter(names.front());
  const std::vector<std::string> both(common.begin(), common.end());
  if (!are_folds && are_numbered(both)) return;  // clips, say
  found.push_back({Kind::wrappers,
                   are_folds,
                   fmt::format("{} contain no images but folders, and have {} of these in common: {}", listed(names, 3),
                               both.size(), listed(both, 3)),
                   {},
                   {},
                   names});
}

}  // namespace

std::vector<TreeEvidence> read_tree(const ImageFolderScan& scan) {
  const Folders folders = folders_of(scan);
  std::vector<TreeEvidence> found;
  find_wrappers(scan, folders, found);
  for (const Siblings& group : siblings_in(scan, folders)) find_parts(group, scan.labeled(), found);
  SuffixCounts(scan).find(found);
  std::ranges::stable_sort(found, std::ranges::greater(), &TreeEvidence::certain);
  if (!found.empty() && !found.front().certain) found.resize(1);
  return found;
}

namespace {

/// The paths of all files below a folder of the source, relative to it, but for hidden ones.
std::vector<std::string> files_below(const SourceFolder& source, const std::string& folder, int depth = 0) {
  constexpr int deepest = 16;  // a link that leads back
  std::vector<std::string> files;
  for (const ListedEntry& entry : entries_in(source, folder)) {
    if (is_hidden_or_system(entry.name)) continue;
    if (entry.kind == EntryKind::file) files.push_back(entry.name);
    if (entry.kind == EntryKind::file || depth == deepest) continue;
    for (const std::string& name : files_below(source, io::join_path(folder, entry.name), depth + 1))
      files.push_back(io::join_path(entry.name, name));
  }
  return files;
}

Entries entries(const std::vector<std::string>& paths, bool only_images = false) {
  Entries result;
  for (const std::string& path : paths) {
    if (!only_images || is_image_name(path)) result.push_back({path});
  }
  return result;
}

/// Whether images are in folders right at the start of their paths, or in sets there, that are classes.
bool are_in_classes(const Entries& images) {
  std::set<std::string_view> folders;
  for (const Entry& image : images) {
    std::size_t begin = 0;
    std::size_t end = image.path.find('/');
    if (end != std::string_view::npos && is_named_as_set(image.path.substr(0, end)))
      end = image.path.find('/', begin = end + 1);
    if (end == std::string_view::npos) return false;
    folders.insert(image.path.substr(begin, end - begin));
  }
  return folders.size() > 1;
}

/// "300 .json and 2 .txt"
std::string kinds_text(const std::vector<std::string>& files) {
  IgnoredFiles kinds;
  for (const std::string& file : files) count_ignored(kinds, file);
  std::vector<std::string> texts;
  for (const auto& [kind, count] : kinds.kinds) texts.push_back(fmt::format("{} {}", count, kind));
  return fmt::format("{}", fmt::join(texts, " and "));
}

}  // namespace

std::string command_for_parts(const SourceFolder& source, const TreeEvidence& parts, const std::string& set) {
  const std::vector<std::string> paths = files_below(source, parts.images);
  const ImageStems images(entries(paths, true));
  std::set<std::string> used{"cls"};
  std::string options;
  std::string left_out;
  for (const std::string& folder : parts.others) {
    const std::vector<std::string> files = files_below(source, folder);
    const Match match = images.match(entries(files));
    std::size_t declared = 0;
    for (const auto& [ending, count] : match.endings) {
      const std::string pattern = images.template_for("../" + folder, match.by_folder, ending);
      const std::string field = field_option(folder, ending, pattern, {count, images.count()}, used);
      if (field.empty() || count * 10 < match.files) continue;
      options += " --field " + shell_word(field);
      declared += count;
    }
    if (declared == 0 && std::ranges::any_of(files, is_image_name)) return {};
    const bool is_table = declared == 0 && files.size() == 1 && files.front().ends_with(".json");
    if (is_table) options += " --metadata " + shell_word(source.path_of(io::join_path(folder, files.front())));
    if (is_table || declared == files.size()) continue;
    left_out += left_out.empty() ? ", which leaves out " : ", ";
    left_out +=
        fmt::format("{} of '{}' ({})", format_count(files.size() - declared, "file"), folder, kinds_text(files));
  }
  if (options.empty()) return {};
  const std::string labels = are_in_classes(entries(paths, true)) ? "" : " --unlabeled";
  return remedy::in_text(remedy::convert(source.path_of(parts.images), labels + options, set)) + left_out;
}

std::string if_classes(const SourceFolder& source) {
  const std::string convert = command_that_keeps(source, source.path, " --class-map classes.txt", true);
  return fmt::format("If they are classes: {}, then {}",
                     source.store ? "list the class folders in classes.txt, one per line"
                                  : remedy::in_text(remedy::list_classes({source.path})),
                     convert);
}

void refuse_class_without_images(const SourceFolder& source, const ImageFolderScan& scan, const std::string& folder,
                                 const std::string& set) {
  const std::vector<std::string> files = files_below(source, folder);
  const std::string path = source.path_of(folder);
  if (files.empty()) {
    throw Error(ErrorCode::corrupt, At{path},
                "class folder '{}' has no images: it is empty. Without it, later classes get lower labels, unless "
                "--class-map gives them",
                path);
  }
  TreeEvidence parts{Kind::parts};
  std::size_t most = 0;
  std::size_t with_images = 0;
  for (const ScannedClass& owner : scan.classes) {
    parts.others.push_back(owner.name);
    if (owner.files.empty()) continue;
    Entries images;
    for (const ScannedFile& file : owner.files) images.push_back({owner.name_of(file)});
    const std::size_t matched = ImageStems(images).match(entries(files)).files;
    if (with_images++ > 0 && matched <= most) continue;
    parts.images = owner.name;
    most = matched;
  }
  std::erase(parts.others, parts.images);
  std::string command = most > 0 || with_images == 1 ? command_for_parts(source, parts, set) : "";
  if (!command.empty() && !set.empty()) command += ", and the same for the other sets";
  throw Error(
      ErrorCode::usage, At{path}, "'{}' is not a class: it has no images, but {}{}; {}", path, kinds_text(files),
      most > 0 ? fmt::format(", {} of which {} named like images in '{}'", most, most == 1 ? "is" : "are", parts.images)
               : "",
      command.empty() ? "take it out of the source, or list the images of the source in a file for --list" : command);
}

}  // namespace shardkit::catalog
