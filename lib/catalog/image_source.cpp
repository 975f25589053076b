#include "catalog/image_source.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
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

}  // namespace

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

void add_known_file(const std::string& name, const FileState& state, std::vector<io::ObjectInfo>& files) {
  auto at = std::ranges::lower_bound(files, name, {}, &io::ObjectInfo::name);
  if (at == files.end() || at->name != name) at = files.insert(at, {name, 0, {}});
  at->size = state.size;
  at->version = state.version.value_or("");
}

std::vector<io::ObjectInfo> list_files(const SourceFolder& source, const std::string& folder) {
  std::vector<io::ObjectInfo> files =
      source.store ? objects_in(source, folder) : local_files(source.opened_path(folder));
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
    } else if (is_hidden_or_system(entry.name)) {
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

std::string SourceFolder::opened_path(const std::string& name) const {
  return name.starts_with(kParent) ? (std::filesystem::path(path) / name).lexically_normal().string() : path_of(name);
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

}  // namespace shardkit::catalog
