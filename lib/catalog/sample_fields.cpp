#include "catalog/sample_fields.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "catalog/image_folder.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "formats/portable_name.hpp"
#include "io/publish.hpp"

namespace shardkit::catalog {
namespace {

constexpr char kAny = '\0';  // replaces '*' in an expanded template: no path has a NUL
constexpr std::size_t kLongestName = 24;

/// The content of the folders in templates, each listed once.
class FieldFolders {
 public:
  FieldFolders(const SourceFolder& source, unsigned cores, Context& context)
      : source_(source), cores_(cores), context_(context) {}

  void want(const std::string& folder) { folders_.try_emplace(folder); }

  void list() {
    std::vector<std::pair<const std::string, std::vector<io::ObjectInfo>>*> todo;
    for (auto& folder : folders_) todo.push_back(&folder);
    for_each_waiting(todo.size(), cores_, context_,
                     [&](std::size_t at) { todo[at]->second = files_in(todo[at]->first); });
  }

  /// By name. A file of a template without '*' is found by its name.
  std::span<const io::ObjectInfo> matches(const FieldTemplate::FilePattern& pattern) const {
    const std::vector<io::ObjectInfo>& files = folders_.at(pattern.folder);
    const std::string& start = pattern.parts.front();
    const auto begin = std::ranges::lower_bound(files, start, {}, &io::ObjectInfo::name);
    const auto end = std::find_if(begin, files.end(), [&](const auto& file) { return !file.name.starts_with(start); });
    if (pattern.parts.size() > 1) return {begin, end};  // the caller looks at each
    const bool found = begin != end && begin->name == start;
    return {begin, found ? begin + 1 : begin};
  }

 private:
  std::vector<io::ObjectInfo> files_in(const std::string& folder) const {
    if (source_.store && folder.starts_with("..")) {
      throw usage_error(
          "--field: '{}' is outside '{}', which is not possible in a store; give "
          "the folder that contains both as source, and its images with --list",
          folder, source_.path);
    }
    return list_files(source_, folder);
  }

  const SourceFolder& source_;
  const unsigned cores_;
  Context& context_;
  std::map<std::string, std::vector<io::ObjectInfo>> folders_;
};

/// Finds the files of all declared fields. Used once: construct, run().
class FieldFinder {
 public:
  FieldFinder(const SourceFolder& source, const ScanOptions& options, Context& context, ImageFolderScan& scan)
      : source_(source), options_(options), context_(context), scan_(scan), folders_(source, options.cores, context) {}

  void run() {
    context_.progress().start("fields", scan_.images());
    first_ = scan_.fields.size();
    for (const FieldTemplate& field : options_.fields) scan_.fields.push_back({field.name(), !field.optional()});
    for_each_pattern([&](const ScannedClass&, std::uint32_t, std::size_t, const FieldTemplate::FilePattern& pattern) {
      folders_.want(below_set(options_.set, pattern.folder));
    });
    folders_.list();
    drop_fields_of_others();
    if (shared_ > 0) {
      context_.warn(
          "field_shared",
          "a '*' of --field gives {} to a further sample, first '{}': make the template narrower if a file belongs "
          "to one sample only",
          format_count(shared_, "file"), source_.path_of(first_shared_));
    }
    add_members();
    for (std::size_t field = 0; field < found_.size(); ++field) {
      if (found_[field] == 0) refuse_unmatched(options_.fields[field]);
    }
  }

 private:
  template <class Use>
  void for_each_pattern(const Use& use) {
    for (ScannedClass& owner : scan_.classes) {
      for (std::uint32_t image = 0; image < owner.files.size(); ++image) {
        const std::string path = io::join_path(options_.set, owner.path_of(owner.files[image]));
        for (std::size_t field = 0; field < options_.fields.size(); ++field) {
          const auto pattern = options_.fields[field].pattern_for(path);
          if (pattern) use(owner, image, field, *pattern);
        }
        if (image % 4096 == 0) context_.throw_if_stopped();
      }
    }
  }

  template <class Use>
  void for_each_file(const Use& use) {
    for_each_pattern(
        [&](ScannedClass& owner, std::uint32_t image, std::size_t field, FieldTemplate::FilePattern pattern) {
          pattern.folder = below_set(options_.set, pattern.folder);
          for (const io::ObjectInfo& file : folders_.matches(pattern)) {
            if (pattern.matches(file.name)) use(owner, image, field, pattern.folder, file);
          }
        });
  }

  /// A field of another file starts no sample, is not added as a side-car, and is not counted as ignored.
  void drop_fields_of_others() {
    std::unordered_set<std::uint64_t> taken;  // XXH3-64 of paths
    const auto hash_of = [](const ScannedClass& owner, const ScannedFile& file) {
      return xxh3_64(as_bytes(owner.path_of(file)));
    };
    for (const ScannedClass& owner : scan_.classes) {
      for (const ScannedFile& file : owner.files) taken.insert(hash_of(owner, file));
      for (const ScannedMember& member : owner.members) taken.insert(hash_of(owner, member.file));
    }
    std::unordered_set<std::uint64_t> claimed;
    for_each_file([&](const ScannedClass& owner, std::uint32_t image, std::size_t field, const std::string& folder,
                      const io::ObjectInfo& file) {
      const std::string path = io::join_path(folder, file.name);
      const std::uint64_t hash = xxh3_64(as_bytes(path));
      if (path == owner.path_of(owner.files[image])) return;
      if (!claimed.insert(hash).second) {
        if (options_.fields[field].several() && shared_++ == 0) first_shared_ = path;
        return;
      }
      if (!path.starts_with(kParent) && !taken.contains(hash)) uncount_ignored(scan_.ignored, path);
    });
    for (ScannedClass& owner : scan_.classes) {
      std::erase_if(owner.members, [&](const ScannedMember& m) { return claimed.contains(hash_of(owner, m.file)); });
    }
    drop_images(scan_, [&](const ScannedClass& owner, const ScannedFile& file) {
      return claimed.contains(hash_of(owner, file));
    });
  }

  void add_members() {
    found_.assign(options_.fields.size(), 0);
    const ScannedClass* last_owner = nullptr;
    std::pair<std::uint32_t, std::size_t> last;
    std::uint32_t number = 0;
    for_each_file([&](ScannedClass& owner, std::uint32_t image, std::size_t field, const std::string& folder,
                      const io::ObjectInfo& object) {
      const std::string path = io::join_path(folder, object.name);
      if (path == owner.path_of(owner.files[image])) return;  // the file that starts the sample
      const std::pair at{image, field};
      number = &owner == last_owner && at == last ? number + 1 : 0;
      last_owner = &owner;
      last = at;
      const bool several = options_.fields[field].several();
      ScannedFile file{0, 0, owner.add_name("/" + path)};
      if (source_.store) owner.note(file, object);
      owner.members.push_back({image, static_cast<std::uint16_t>(first_ + field), false,
                               several ? std::optional(number) : std::nullopt, file});
      ++found_[field];
    });
    for (ScannedClass& owner : scan_.classes) std::ranges::stable_sort(owner.members, {}, &ScannedMember::image);
  }

  [[noreturn]] void refuse_unmatched(const FieldTemplate& field) {
    std::string looked = field.text().find("{stem-") != std::string::npos
                             ? "no name ends as {stem-SUFFIX} requires"
                             : "it only matches files that start samples themselves";
    for (const ScannedClass& owner : scan_.classes) {
      if (owner.files.empty()) continue;
      const std::string path = io::join_path(options_.set, owner.path_of(owner.files.front()));
      const auto pattern = field.pattern_for(path);
      if (!pattern) continue;
      looked = fmt::format("for '{}' it would be '{}'", path, pattern->text());
      break;
    }
    throw Error(ErrorCode::not_found, At{source_.path},
                "--field '{}' matches no file below '{}': {}; correct the template", field.text(), source_.path,
                looked);
  }

  const SourceFolder& source_;
  const ScanOptions& options_;
  Context& context_;
  ImageFolderScan& scan_;
  FieldFolders folders_;
  std::size_t first_ = 0;             ///< of the declared fields in scan_.fields
  std::vector<std::uint64_t> found_;  ///< files of each declared field
  std::uint64_t shared_ = 0;          ///< files that a '*' gives to a sample although another one has them
  std::string first_shared_;
};

}  // namespace

FieldTemplate::FieldTemplate(std::string_view declared) : text_(declared) {
  const std::size_t equals = declared.find('=');
  if (equals == std::string_view::npos) {
    refuse("use NAME=TEMPLATE, such as 'mask.png=../masks/{dir}/{stem}.png'; a template contains no comma");
  }
  std::string_view name = declared.substr(0, equals);
  optional_ = name.ends_with('?');
  if (optional_) name.remove_suffix(1);
  name_ = formats::portable_extension(name);
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyz0123456789._-";
  if (name.empty() || name.size() > kLongestName || name.starts_with('.') || name.ends_with('.') ||
      name_.find_first_not_of(allowed) != std::string::npos) {
    refuse("the name has 1 to 24 letters, digits, '.', '_' and '-', such as mask.png");
  }
  if (name_ == "cls") refuse("the name cls is reserved for the label");
  parse(declared.substr(equals + 1));
}

void FieldTemplate::refuse(std::string_view why) const { throw usage_error("--field '{}': {}", text_, why); }

FieldTemplate::Part FieldTemplate::placeholder(std::string_view word) const {
  constexpr std::string_view minus = "stem-";
  if (word == "dir") return {Part::Kind::dir, {}};
  if (word == "class") return {Part::Kind::class_name, {}};
  if (word == "name") return {Part::Kind::name, {}};
  if (word == "stem") return {Part::Kind::stem, {}};
  if (word.starts_with(minus) && word.size() > minus.size()) {
    return {Part::Kind::stem, std::string(word.substr(minus.size()))};
  }
  refuse(fmt::format("unknown {{{}}}; use {{dir}}, {{class}}, {{name}}, {{stem}} or {{stem-SUFFIX}}", word));
}

void FieldTemplate::parse(std::string_view pattern) {
  if (pattern.empty()) refuse("the template is empty");
  if (pattern.starts_with('/')) refuse("templates are relative to the source: start it with '../' or {dir}");
  const std::size_t slash = pattern.rfind('/');
  if (slash != std::string_view::npos && pattern.substr(0, slash).find('*') != std::string_view::npos) {
    refuse("a '*' is only allowed in the file name, after the last '/'");
  }
  while (!pattern.empty()) {
    const std::size_t end = std::min(pattern.find_first_of("{*"), pattern.size());
    if (end > 0) parts_.push_back({Part::Kind::text, std::string(pattern.substr(0, end))});
    pattern.remove_prefix(end);
    if (pattern.empty()) break;
    std::size_t length = 1;
    if (pattern.front() == '*') {
      parts_.push_back({Part::Kind::any, {}});
    } else {
      const std::size_t close = pattern.find('}');
      if (close == std::string_view::npos) refuse("a '{' has no '}'");
      parts_.push_back(placeholder(pattern.substr(1, close - 1)));
      length = close + 1;
    }
    pattern.remove_prefix(length);
  }
}

bool FieldTemplate::several() const { return std::ranges::find(parts_, Part::Kind::any, &Part::kind) != parts_.end(); }

std::optional<FieldTemplate::FilePattern> FieldTemplate::pattern_for(std::string_view path) const {
  const std::size_t slash = path.rfind('/');
  const std::string_view dir = slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  std::string text;
  for (const Part& part : parts_) {
    switch (part.kind) {
      case Part::Kind::text:
        text += part.text;
        break;
      case Part::Kind::dir:
        text += dir;
        break;
      case Part::Kind::class_name:
        text += dir.substr(0, dir.find('/'));
        break;
      case Part::Kind::name:
        text += name;
        break;
      case Part::Kind::any:
        text += kAny;
        break;
      case Part::Kind::stem: {
        const std::string_view stem = formats::split_extension(name).stem;
        if (!stem.ends_with(part.text)) return std::nullopt;
        text += stem.substr(0, stem.size() - part.text.size());
        break;
      }
    }
  }
  FilePattern pattern;
  const std::size_t last = text.rfind('/') + 1;  // npos + 1 is 0
  // An empty {dir} leaves a slash in front.
  const std::size_t first = std::min(text.find_first_not_of('/'), last);
  pattern.folder = std::filesystem::path(text.substr(first, last - first)).lexically_normal();
  if (pattern.folder.ends_with('/')) pattern.folder.pop_back();
  if (pattern.folder == ".") pattern.folder.clear();
  std::string_view tail = std::string_view(text).substr(last);
  for (std::size_t any = 0; (any = tail.find(kAny)) != std::string_view::npos; tail.remove_prefix(any + 1)) {
    pattern.parts.emplace_back(tail.substr(0, any));
  }
  pattern.parts.emplace_back(tail);
  return pattern;
}

bool FieldTemplate::FilePattern::matches(std::string_view name) const {
  if (parts.size() == 1) return name == parts.front();
  if (name.size() < parts.front().size() + parts.back().size() || !name.starts_with(parts.front()) ||
      !name.ends_with(parts.back())) {
    return false;
  }
  name.remove_prefix(parts.front().size());
  name.remove_suffix(parts.back().size());
  for (std::size_t i = 1; i + 1 < parts.size(); ++i) {
    const std::size_t at = name.find(parts[i]);
    if (at == std::string_view::npos) return false;
    name.remove_prefix(at + parts[i].size());
  }
  return true;
}

std::string below_set(const std::string& set, const std::string& path) {
  if (set.empty()) return path;
  const std::string below = std::filesystem::path(path).lexically_relative(set);
  return below == "." ? std::string() : below;
}

std::string FieldTemplate::FilePattern::text() const {
  return io::join_path(folder, fmt::format("{}", fmt::join(parts, "*")));
}

std::string numbered_field(std::string_view name, std::uint32_t number) {
  const std::size_t last = name.rfind('.') + 1;  // npos + 1 is 0
  return fmt::format("{}{}.{}", name.substr(0, last), number, name.substr(last));
}

void find_fields(const SourceFolder& source, const ScanOptions& options, Context& context, ImageFolderScan& scan) {
  if (!options.fields.empty()) FieldFinder(source, options, context, scan).run();
}

void refuse_equal_members(const SourceFolder& source, const ScanOptions& options, const ImageFolderScan& scan) {
  if (options.fields.empty() && options.sidecars.empty()) return;
  std::map<std::string, const ScannedFile*> names;
  for (const ScannedClass& owner : scan.classes) {
    for (std::size_t i = 0; i < owner.members.size(); ++i) {
      const ScannedMember& member = owner.members[i];
      const ScannedFile& first = owner.files[member.image];
      if (i == 0 || owner.members[i - 1].image != member.image) {
        names = {{formats::portable_extension(formats::split_extension(owner.name_of(first)).extension), &first}};
      }
      const auto [other, is_new] = names.emplace(scan.member_name(member), &member.file);
      if (is_new) continue;
      throw usage_error(
          "'{}' and '{}' would both be the member '{}' of one sample: declare "
          "one of them as a field with another name (--field)",
          source.path_of(owner.path_of(*other->second)), source.path_of(owner.path_of(member.file)), other->first);
    }
  }
}

}  // namespace shardkit::catalog
