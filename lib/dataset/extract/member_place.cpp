#include "dataset/extract/member_place.hpp"

#include <set>

#include <fmt/format.h>

#include "core/error.hpp"
#include "dataset/samples/sample_label.hpp"
#include "formats/portable_name.hpp"

namespace shardkit {
namespace {

constexpr std::size_t kLongestComponent = 255;  // NAME_MAX of every common Linux file system
constexpr std::size_t kLongestPath = 4095;      // PATH_MAX without its NUL

/// Where convert found this member.
std::string original_path(const ListedSample& sample, const ListedMember& member) {
  const NameParts image = split_extension(sample.path);
  if (member.extension == portable_extension(image.extension)) return sample.path;
  return fmt::format("{}.{}", image.stem, member.extension);
}

/// `name` below the folder of its class.
std::string classed_path(const std::string& folder, const std::string& name) {
  const std::string mapped = portable_component(folder) + "/";  // as convert writes it into keys
  if (name.starts_with(mapped)) return folder + "/" + name.substr(mapped.size());
  if (name.starts_with(folder + "/")) return name;
  return folder + "/" + name;
}

}  // namespace

Result<std::string> contained_path(std::string_view name) {
  const auto refuse = [](const char* why) { return Error(ErrorCode::corrupt, why); };
  if (name.find('\0') != std::string_view::npos) return refuse("it holds a NUL byte");
  if (name.starts_with('/')) return refuse("it starts at the root");
  std::string path;
  while (!name.empty()) {
    const std::size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    name.remove_prefix(slash == std::string_view::npos ? name.size() : slash + 1);
    if (part.empty() || part == ".") continue;
    if (part == "..") return refuse("it has '..' in it");
    if (part.size() > kLongestComponent) return refuse("a part of it is longer than 255 bytes");
    if (path.empty() && part == kStateFolder) return refuse("it lies in '.shardkit', where our own files are");
    if (!path.empty()) path += '/';
    path += part;
  }
  if (path.empty()) return refuse("it names no file");
  if (path.size() > kLongestPath) return refuse("it is longer than 4095 bytes");
  return path;
}

MemberPlaces::MemberPlaces(const std::optional<Manifest>& manifest) {
  if (!manifest) return;
  std::set<std::uint64_t> shared;
  for (const ManifestClass& item : manifest->classes) {
    if (!names_.emplace(item.label, item.name).second) shared.insert(item.label);
  }
  for (const std::uint64_t label : shared) names_.erase(label);  // which of the classes it was nobody knows
}

Result<std::string> MemberPlaces::place(const ListedSample& sample, const ListedMember& member) const {
  if (member.extension == kLabelExtension) return std::string();
  if (!sample.path.empty()) return contained_path(original_path(sample, member));
  Result<std::string> name = contained_path(member.name);
  if (!name || !sample.label) return name;
  const auto known = names_.find(*sample.label);
  const std::string folder = known == names_.end() ? fmt::to_string(*sample.label) : known->second;
  if (folder.empty() || folder.find('/') != std::string::npos) {
    return Error(ErrorCode::corrupt, "its class in the manifest is no folder name");
  }
  return contained_path(classed_path(folder, *name));
}

}  // namespace shardkit
