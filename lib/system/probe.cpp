#include "system/probe.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/folder.hpp"
#include "core/text.hpp"

namespace shardkit::system {

std::optional<std::uint64_t> sys_number(const Probe& probe, const std::string& path) {
  const auto text = probe.text(path);
  return text ? parse_count(*text) : std::nullopt;
}

std::string sys_word(const Probe& probe, const std::string& path) {
  return std::string(trimmed(probe.text(path).value_or("")));
}

std::string chosen_word(std::string_view text) {
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']', open);
  if (open == std::string_view::npos || close == std::string_view::npos) return {};
  return std::string(text.substr(open + 1, close - open - 1));
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) pieces.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return pieces;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

std::string_view line_value(std::string_view text, std::string_view name) {
  for (const auto line : split(text, '\n')) {
    if (line.starts_with(name)) return trimmed(line.substr(name.size()));
  }
  return {};
}

std::vector<unsigned> parse_cpu_list(std::string_view list) {
  constexpr std::size_t kMost = 65536;
  std::vector<unsigned> cpus;
  for (const auto range : split(list, ',')) {
    const auto ends = split(range, '-');
    if (ends.empty()) continue;
    const auto first = parse_count(ends.front());
    const auto last = parse_count(ends.back(), kMost - 1);
    if (!first || !last) continue;
    for (std::uint64_t cpu = *first; cpu <= *last && cpus.size() < kMost; ++cpu) {
      cpus.push_back(static_cast<unsigned>(cpu));
    }
  }
  return cpus;
}

std::string last_name(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

namespace {

const char* home_in_user_database() {
  const passwd* const user = ::getpwuid(::geteuid());
  return user == nullptr ? nullptr : user->pw_dir;
}

}  // namespace

EnvironmentLookup process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr && name == "HOME") value = home_in_user_database();
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
  };
}

namespace {

constexpr std::size_t kMostText = std::size_t{4} << 20U;
constexpr long kCachestat = 451;  // the same number on every architecture; glibc 2.36 has no name for it

class Descriptor {
 public:
  /// Without waiting: a FIFO must not block a reader.
  explicit Descriptor(const std::string& path, int flags = O_RDONLY | O_NONBLOCK)
      : fd_(::open(path.c_str(), flags | O_CLOEXEC)) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

PathFacts::Kind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return PathFacts::Kind::file;
  if (S_ISDIR(mode)) return PathFacts::Kind::folder;
  return S_ISBLK(mode) ? PathFacts::Kind::block_device : PathFacts::Kind::other;
}

class LiveProbe final : public Probe {
 public:
  std::optional<std::string> text(const std::string& path) const override {
    const Descriptor file(path);
    if (file.get() < 0) return std::nullopt;
    std::string text;
    std::array<char, 16384> block{};
    while (text.size() < kMostText) {
      const ssize_t got = ::read(file.get(), block.data(), block.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return std::nullopt;  // such as the speed of a network card that is down
      if (got == 0) break;
      text.append(block.data(), static_cast<std::size_t>(got));
    }
    text.erase(text.find_last_not_of(" \t\n") + 1);
    return text;
  }

  std::vector<std::string> names(const std::string& folder) const override {
    std::vector<std::string> names;
    std::error_code ignored;
    for (FolderEntry& entry : folder_entries(folder, ignored)) names.push_back(std::move(entry.name));
    std::sort(names.begin(), names.end());
    return names;
  }

  std::optional<std::string> resolve(const std::string& path) const override {
    std::array<char, PATH_MAX> resolved{};
    if (::realpath(path.c_str(), resolved.data()) == nullptr) return std::nullopt;
    return resolved.data();
  }

  std::optional<PathFacts> stat(const std::string& path) const override {
    struct stat facts {};
    if (::stat(path.c_str(), &facts) != 0) return std::nullopt;
    const auto kind = kind_of(facts.st_mode);
    const dev_t device = kind == PathFacts::Kind::block_device ? facts.st_rdev : facts.st_dev;
    return PathFacts{kind, static_cast<std::uint64_t>(facts.st_size),
                     fmt::format("{}:{}", gnu_dev_major(device), gnu_dev_minor(device))};
  }

  std::optional<std::uint64_t> mount_id(const std::string& path) const override {
    const Descriptor folder(path, O_PATH | O_DIRECTORY);  // this flag lets autofs mount it
    const Descriptor file(folder.get() < 0 ? path : "/", O_PATH);
    const int fd = folder.get() < 0 ? file.get() : folder.get();
    return parse_count(line_value(text(fmt::format("/proc/self/fdinfo/{}", fd)).value_or(""), "mnt_id:"));
  }

  std::optional<SpaceFacts> space(const std::string& path) const override {
    struct statfs facts {};
    if (::statfs(path.c_str(), &facts) != 0) return std::nullopt;
    const auto unit = static_cast<std::uint64_t>(facts.f_frsize != 0 ? facts.f_frsize : facts.f_bsize);
    return SpaceFacts{facts.f_blocks * unit, facts.f_bavail * unit};
  }

  std::optional<std::string> attribute(const std::string& path, const std::string& name) const override {
    std::string value(65536, '\0');  // XATTR_SIZE_MAX
    const ssize_t size = ::getxattr(path.c_str(), name.c_str(), value.data(), value.size());
    if (size < 0) return std::nullopt;
    value.resize(static_cast<std::size_t>(size));
    return value;
  }

  int try_call(SystemCall call) const override {
    const long answer = call == SystemCall::io_uring_setup ? ::syscall(SYS_io_uring_setup, 1, nullptr)
                                                           : ::syscall(kCachestat, -1, nullptr, nullptr, 0);
    return answer < 0 ? errno : 0;
  }
};

}  // namespace

const Probe& live_probe() {
  static const LiveProbe probe;
  return probe;
}

}  // namespace shardkit::system
