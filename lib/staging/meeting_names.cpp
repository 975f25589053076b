#include "staging/meeting_names.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include <fmt/format.h>
#include <unistd.h>

#include "catalog/similar_name.hpp"
#include "core/text.hpp"
#include "io/publish.hpp"
#include "system/probe.hpp"

namespace shardkit::staging {
namespace {

constexpr std::size_t kLongestName = 255;  // of a part of a path, on every file system of Linux

/// Whether two parts of paths, which differ, are one name. Other processes that ask have other names.
bool is_one_part(io::FileSystem& files, const std::string& folder, std::string_view one, std::string_view other) {
  const std::string ending = fmt::format(".{}", ::getpid());
  const std::size_t longest = kLongestName - ending.size();
  if (one.size() > longest || other.size() > longest) return false;
  const std::string probe = io::join_path(folder, std::string(one) + ending);
  files.open_append(probe);
  const bool is_one = files.exists(io::join_path(folder, std::string(other) + ending));
  files.remove(probe);
  return is_one;
}

bool is_one_path(io::FileSystem& files, const std::string& folder, std::string_view one, std::string_view other) {
  const auto parts = system::split(one, '/');
  const auto others = system::split(other, '/');
  if (one == other || parts.size() != others.size()) return false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] != others[i] && !is_one_part(files, folder, parts[i], others[i])) return false;
  }
  return true;
}

/// Earlier names by what two that meet have in common. Only pairs that look alike are worth a question to the disk.
class EarlierNames {
 public:
  /// Those that may be one with `name`, which counts as earlier from now on.
  std::vector<std::string> like(const std::string& name) {
    std::vector<std::string> found;
    const auto [same, is_new] = by_case_.emplace(lower_case(name), name);
    if (!is_new) found.push_back(same->second);
    if (std::ranges::all_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x80; })) return found;
    std::vector<std::string>& others = by_form_[catalog::alike_key(name)];
    std::ranges::copy_if(others, std::back_inserter(found),
                         [&](const std::string& other) { return catalog::looks_alike(name, other); });
    if (others.size() < kMostOfOneForm) others.push_back(name);
    return found;
  }

 private:
  /// Names of foreign letters have one key per length: all pairs of thousands would take minutes.
  static constexpr std::size_t kMostOfOneForm = 200;
  std::map<std::string, std::string> by_case_;
  std::map<std::string, std::vector<std::string>> by_form_;
};

}  // namespace

std::optional<std::pair<std::string, std::string>> find_meeting_names(io::FileSystem& files, const std::string& folder,
                                                                      const std::vector<std::string>& names) {
  EarlierNames earlier;
  for (const std::string& name : names) {
    for (const std::string& other : earlier.like(name)) {
      if (is_one_path(files, folder, other, name)) return std::pair(other, name);
    }
  }
  return std::nullopt;
}

}  // namespace shardkit::staging
