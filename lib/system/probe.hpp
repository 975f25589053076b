#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The small texts of /proc and /sys, and how to parse them.
namespace shardkit::system {

/// The result of stat(2) for one path; follows links.
struct PathFacts {
  enum class Kind { file, folder, block_device, other };
  Kind kind = Kind::other;
  std::uint64_t size = 0;  ///< in bytes; of a file
  std::string device;      ///< "major:minor" of the file system, or of the device that a device node names
  bool operator==(const PathFacts&) const = default;
};

/// The result of statfs(2): the space on the file system of a path.
struct SpaceFacts {
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;  ///< for this user
};

/// System calls that a kernel or a seccomp filter may refuse.
enum class SystemCall { io_uring_setup, cachestat };

/// The one interface between shardkit and the machine it describes: small texts of /proc and /sys, folders, links,
/// stat, statfs, extended attributes, and whether system calls are available. One implementation is the live machine,
/// the other a recorded tree of another machine (tests/support/recorded_tree.hpp). Paths are absolute.
///
/// Nothing throws: if a value cannot be read, for any reason, it is empty. Implementations may be used by any thread.
class Probe {
 public:
  virtual ~Probe() = default;

  /// A whole file without white space at its end, of at most 4 MiB.
  virtual std::optional<std::string> text(const std::string& path) const = 0;
  /// The names in a folder, sorted.
  virtual std::vector<std::string> names(const std::string& folder) const = 0;
  /// The path without links. If it is empty, errno has the reason.
  virtual std::optional<std::string> resolve(const std::string& path) const = 0;
  virtual std::optional<PathFacts> stat(const std::string& path) const = 0;
  /// The id that /proc/self/mountinfo gives the mount of a path; follows links.
  virtual std::optional<std::uint64_t> mount_id(const std::string& path) const = 0;
  virtual std::optional<SpaceFacts> space(const std::string& path) const = 0;
  /// The bytes of an extended attribute.
  virtual std::optional<std::string> attribute(const std::string& path, const std::string& name) const = 0;
  /// errno of a call with arguments that cannot work: EFAULT or EBADF if the call is available, else ENOSYS or EPERM.
  virtual int try_call(SystemCall call) const = 0;
};

/// This machine.
const Probe& live_probe();

/// A file that contains one unsigned number; empty for anything else, such as "max".
std::optional<std::uint64_t> sys_number(const Probe& probe, const std::string& path);

/// A file that contains one text; empty if it cannot be read.
std::string sys_word(const Probe& probe, const std::string& path);

/// The word in brackets, as in "always [madvise] never"; empty if there is none.
std::string chosen_word(std::string_view text);

/// `text` cut at every `separator`; empty pieces are dropped.
std::vector<std::string_view> split(std::string_view text, char separator);

/// `text` without blanks and tabs at both ends.
std::string_view trimmed(std::string_view text);

/// The value of the first line "name value", "name: value" or "name=value", where `name` is everything before the value
/// except blanks; empty if there is none.
std::string_view line_value(std::string_view text, std::string_view name);

/// The processors or nodes that "0-3,8,10-11" names, in that order; at most 65536.
std::vector<unsigned> parse_cpu_list(std::string_view list);

/// The part of a path after its last slash.
std::string last_name(std::string_view path);

/// Looks up an environment variable; an empty one counts as not set. An interface for tests.
using EnvironmentLookup = std::function<std::optional<std::string>(const std::string& name)>;

/// The environment of this process. HOME is that of the user database if it is not set, as in Slurm's prologs and
/// systemd's services.
EnvironmentLookup process_environment();

}  // namespace shardkit::system
