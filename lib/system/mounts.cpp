#include "system/mounts.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>

#include <sys/statvfs.h>

#include "core/error.hpp"

namespace shardkit::system {
namespace {

/// mountinfo writes blanks and backslashes in names as three octal digits.
std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

/// "36 35 98:0 /root /point rw,noatime [tag ...] - type source rw,errors=continue"
std::optional<Mount> parse_mount(std::string_view line) {
  const auto words = split(line, ' ');
  const auto dash = std::find(words.begin(), words.end(), "-");
  if (dash - words.begin() < 6 || words.end() - dash < 3) return std::nullopt;
  Mount mount{std::string(words[2]), unescape(words[3]), unescape(words[4]),
              std::string(dash[1]),  unescape(dash[2]),  {}};
  for (const auto list : {words[5], words.end() - dash > 3 ? dash[3] : std::string_view()}) {
    for (const auto option : split(list, ',')) {
      const bool known = std::find(mount.options.begin(), mount.options.end(), option) != mount.options.end();
      if (!known) mount.options.emplace_back(option);
    }
  }
  return mount;
}

}  // namespace

std::vector<Mount> read_mounts(const Probe& probe) {
  std::vector<Mount> mounts;
  const auto text = probe.text("/proc/self/mountinfo");
  if (!text) return mounts;
  for (const auto line : split(*text, '\n')) {
    if (auto mount = parse_mount(line)) mounts.push_back(std::move(*mount));
  }
  return mounts;
}

const Mount* find_mount(const std::vector<Mount>& mounts, const std::string& path) {
  const Mount* best = nullptr;
  for (const Mount& mount : mounts) {
    if (is_below(path, mount.point) && (best == nullptr || mount.point.size() >= best->point.size())) best = &mount;
  }
  return best;
}

bool is_below(const std::string& path, const std::string& folder) {
  if (folder == "/") return path.starts_with('/');
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

std::uint64_t free_bytes(const std::string& folder) {
  struct statvfs info {};
  if (::statvfs(folder.c_str(), &info) != 0) throw system_error(errno, "look at the free space of", folder);
  return static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
}

}  // namespace shardkit::system
