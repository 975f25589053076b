#include "system/network_storage.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/json.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "system/processes.hpp"

namespace shardkit::system {
namespace {

constexpr double kMostBytes = 1e18;  // a larger number in a text is not one of bytes

/// The text after "name=" among the options of a mount; empty if it is missing.
std::string option_value(const Mount& mount, const std::string& name) {
  for (const std::string& option : mount.options) {
    if (option.starts_with(name + "=")) return option.substr(name.size() + 1);
  }
  return {};
}

bool has_option(const Mount& mount, const std::string& option) {
  return std::find(mount.options.begin(), mount.options.end(), option) != mount.options.end();
}

/// The lines of mountstats that belong to the mount: "device server:/export mounted on /data with fstype nfs4 ..." and
/// those that follow.
std::string_view section_of(std::string_view text, const Mount& mount) {
  std::string_view section;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find("\ndevice ", start), text.size());
    const auto words = split(text.substr(start, text.find('\n', start) - start), ' ');
    if (words.size() > 7 && words[7].starts_with("nfs") && unescape_mount_name(words[1]) == mount.source &&
        unescape_mount_name(words[4]) == mount.point) {
      section = text.substr(start, end - start);  // the last of several at one place hides the others
    }
    start = end + 1;
  }
  return section;
}

/// "READ: ops transmissions timeouts bytes_sent bytes_received queue_ms round_trip_ms execute_ms [errors]"
void add_operation(std::string_view line, NfsCounters& counters) {
  const auto words = split(trimmed(line), ' ');
  if (words.size() < 9 || !words[0].ends_with(':')) return;
  const auto number = [&](std::size_t word) { return parse_count(words[word]).value_or(0); };
  const std::uint64_t operations = number(1);
  const double round_trip = static_cast<double>(number(7)) / 1000;
  counters.operations += operations;
  counters.retransmissions += number(2) - std::min(number(2), operations);
  counters.timeouts += number(3);
  counters.round_trip_seconds += round_trip;
  if (words[0] != "READ:") return;
  counters.reads = operations;
  counters.read_bytes = number(5);
  counters.read_round_trip_seconds = round_trip;
}

/// The kernel lists each connection of a mount: "xprt: tcp ..." or "xprt: rdma ...".
std::optional<std::uint64_t> connections_of(const Mount& mount, const Probe& probe) {
  const std::string statistics = probe.text("/proc/self/mountstats").value_or("");
  const auto lines = split(section_of(statistics, mount), '\n');
  const auto count = std::ranges::count_if(lines, [](std::string_view l) { return trimmed(l).starts_with("xprt:"); });
  return count > 0 ? std::optional(static_cast<std::uint64_t>(count)) : std::nullopt;
}

constexpr std::uint64_t kMagicV1 = 0x0bd10bd0;
constexpr std::uint64_t kMagicV3 = 0x0bd30bd0;
constexpr std::uint64_t kMagicComposite = 0x0bd60bd0;
constexpr std::size_t kMostEntries = 16;  // files of a folder whose layout is read
/// The paths of the tunables in versions of Lustre; only the superuser may read debugfs.
constexpr std::array kFolders{"/sys/fs/lustre/", "/proc/fs/lustre/", "/sys/kernel/debug/lustre/"};

/// Little-endian, as clients on x86 and arm64 have it; 0 behind the end.
std::uint64_t number_at(std::string_view bytes, std::size_t offset, std::size_t size) {
  std::uint64_t number = 0;
  if (offset + size > bytes.size()) return 0;
  for (std::size_t i = size; i > 0; --i) number = number << 8U | static_cast<unsigned char>(bytes[offset + i - 1]);
  return number;
}

std::optional<LustreLayout> plain_layout(std::string_view bytes) {
  const std::uint64_t magic = number_at(bytes, 0, 4);
  if ((magic != kMagicV1 && magic != kMagicV3) || bytes.size() < 32) return std::nullopt;
  return LustreLayout{number_at(bytes, 28, 2), number_at(bytes, 24, 4), 1};
}

/// The least value among "osc/<target>/NAME" or "llite/<mount>/NAME" of the file system.
std::optional<double> tunable(const Probe& probe, const std::string& kind, const std::string& prefix,
                              const std::string& name) {
  std::optional<double> least;
  for (const std::string folder : kFolders) {
    for (const std::string& object : probe.names(folder + kind)) {
      if (!object.starts_with(prefix)) continue;
      const auto value = leading_decimal(sys_word(probe, folder + kind + "/" + object + "/" + name));
      if (value && *value >= 0 && (!least || *value < *least)) least = value;
    }
  }
  return least;
}

std::optional<std::uint64_t> whole(std::optional<double> value, double unit = 1) {
  return value && *value * unit <= kMostBytes ? std::optional(static_cast<std::uint64_t>(*value * unit)) : std::nullopt;
}

std::optional<LustreLayout> layout_of(const Probe& probe, const std::string& path) {
  for (const char* name : {"lustre.lov", "trusted.lov"}) {
    if (const auto bytes = probe.attribute(path, name)) return parse_lustre_layout(*bytes);
  }
  return std::nullopt;
}

void add_layout(const Probe& probe, const std::string& path, LustreFacts& facts) {
  std::vector<std::string> candidates{path};
  if (const auto there = probe.stat(path); there && there->kind == PathFacts::Kind::folder) {
    for (const std::string& name : probe.names(path)) {
      if (candidates.size() <= kMostEntries) candidates.push_back(path + "/" + name);
    }
  }
  for (const std::string& folder : candidates) {
    const auto layout = layout_of(probe, folder);
    if (!layout) continue;
    facts.stripe_count = layout->stripe_count;
    facts.stripe_size = layout->stripe_size;
    facts.components = layout->components;
    facts.last_start = layout->last_start;
    const auto there = probe.stat(folder);
    if (there && there->kind == PathFacts::Kind::file) facts.striped_size = there->size;
    facts.striped = folder;
    return;
  }
}

/// "16G", "512M", "1048576".
std::optional<std::uint64_t> gpfs_bytes(std::string_view text) {
  unsigned shift = 0;
  constexpr std::string_view kUnits = "KMGT";
  if (const std::size_t unit = text.empty() ? kUnits.npos : kUnits.find(text.back()); unit != kUnits.npos) {
    shift = 10 * (static_cast<unsigned>(unit) + 1);
    text.remove_suffix(1);
  }
  const auto number = parse_count(text);
  return number && *number <= (~std::uint64_t{0} >> shift) ? std::optional(*number << shift) : std::nullopt;
}

/// Part of a mount's type or source, and the client it means.
struct Client {
  std::string_view mark;
  std::string_view name;
  FuseKind kind;
  bool describes_itself = false;  ///< JuiceFS does, by files in the root of the mount and by its command line
};
constexpr std::array kClients{
    Client{"juicefs", "JuiceFS", FuseKind::object_store, true},
    Client{"alluxio", "Alluxio", FuseKind::cache},
    Client{"mountpoint-s3", "Mountpoint for S3", FuseKind::object_store},
    Client{"s3fs", "s3fs", FuseKind::object_store},
    Client{"gcsfuse", "gcsfuse", FuseKind::object_store},
    Client{"goofys", "goofys", FuseKind::object_store},
    Client{"geesefs", "GeeseFS", FuseKind::object_store},
    Client{"blobfuse", "BlobFuse", FuseKind::object_store},
    Client{"rclone", "rclone", FuseKind::object_store},
    Client{"sshfs", "SSHFS", FuseKind::remote_shell},
    Client{"ceph", "CephFS", FuseKind::cluster},
    Client{"glusterfs", "GlusterFS", FuseKind::cluster},
    Client{"dfuse", "DAOS", FuseKind::cluster},
    Client{"daos", "DAOS", FuseKind::cluster},
    Client{"seaweedfs", "SeaweedFS", FuseKind::cluster},
};

const Client* find_client(const std::string& type, const std::string& source) {
  // If the type is only "fuse", the source has the name, such as mountpoint-s3.
  const std::string& name = type == "fuse" ? source : type;
  const auto found =
      std::ranges::find_if(kClients, [&](const Client& client) { return name.find(client.mark) != std::string::npos; });
  return found == kClients.end() ? nullptr : &*found;
}

/// Sizes of JuiceFS's cache are mebibytes in versions up to 1.1 and bytes in later ones. No cache is as large as 2^30
/// MiB, nor as small as 2^30 bytes.
std::uint64_t cache_bytes(std::uint64_t value) { return value < (1U << 30U) ? value << 20U : value; }

std::vector<std::string> folders_of(std::string_view list) {
  std::vector<std::string> folders;
  for (const auto folder : split(list, ':')) folders.emplace_back(folder);
  return folders;
}

/// {"Chunk": {"CacheDir": "/a:/b", "CacheSize": 102400, ...}, ...}
void add_configuration(const std::string& text, FuseFacts& facts) {
  const auto config = parse_json(text);
  if (!config.is_object() || !config.contains("Chunk") || !config["Chunk"].is_object()) return;
  const auto& chunk = config["Chunk"];
  if (chunk.contains("CacheDir") && chunk["CacheDir"].is_string()) {
    facts.cache_folders = folders_of(chunk["CacheDir"].get<std::string>());
  }
  if (const auto size = json_count(chunk.value("CacheSize", nlohmann::json()))) facts.cache_limit = cache_bytes(*size);
}

std::vector<std::string> command_line(std::uint64_t pid, const Probe& probe) {
  const std::string text = probe.text(fmt::format("/proc/{}/cmdline", pid)).value_or("");
  const auto words = split(text, '\0');
  return {words.begin(), words.end()};
}

bool is_word_of(const std::vector<std::string>& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

/// The words of the "juicefs mount META MOUNTPOINT ..." that serves the mount.
std::vector<std::string> juicefs_command(const Mount& mount, const Probe& probe) {
  for (const std::uint64_t pid : process_ids(probe)) {
    auto words = command_line(pid, probe);
    if (is_word_of(words, mount.point) && words[0].find("juicefs") != std::string::npos) return words;
  }
  return {};
}

/// "--cache-dir=X", "--cache-dir X", "-o cache-dir=X,..."
std::string flag_value(const std::vector<std::string>& words, const std::string& name) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--" + name && i + 1 < words.size()) return words[i + 1];
    for (const auto part : split(word, ',')) {
      const std::size_t start = part.starts_with("--") ? 2 : 0;
      if (part.substr(start).starts_with(name + "=")) return std::string(part.substr(start + name.size() + 1));
    }
  }
  return {};
}

void add_command_line(const Mount& mount, const Probe& probe, FuseFacts& facts) {
  const auto words = juicefs_command(mount, probe);
  if (facts.cache_folders.empty()) facts.cache_folders = folders_of(flag_value(words, "cache-dir"));
  const std::string size = flag_value(words, "cache-size");
  if (size.empty() || facts.cache_limit) return;
  if (const auto mebibytes = parse_count(size)) {
    facts.cache_limit = cache_bytes(*mebibytes);
  } else if (const auto bytes = parse_size(size)) {
    facts.cache_limit = bytes.value();
  }
}

/// "juicefs_blockcache_hit_bytes 123" or 1.5e+09
double statistic(std::string_view text, std::string_view name) {
  const double value = parse_decimal(line_value(text, name)).value_or(0);
  return value > 0 && value <= kMostBytes ? value : 0;
}

void add_statistics(const std::string& text, FuseFacts& facts) {
  const double hit = statistic(text, "juicefs_blockcache_hit_bytes ");
  const double missed = statistic(text, "juicefs_blockcache_miss_bytes ");
  if (!line_value(text, "juicefs_blockcache_bytes ").empty()) {
    facts.cached = static_cast<std::uint64_t>(statistic(text, "juicefs_blockcache_bytes "));
  }
  if (hit + missed > 0) facts.cache_hit_ratio = hit / (hit + missed);
}

/// A process with /dev/fuse open.
struct Candidate {
  std::uint64_t pid = 0;
  std::vector<std::uint64_t> connections;  ///< minor device numbers of the mounts it serves; none before Linux 6.16
};

std::optional<Candidate> candidate(std::uint64_t pid, const Probe& probe) {
  const std::string folder = fmt::format("/proc/{}", pid);
  Candidate found{pid, {}};
  bool serves = false;
  for (const std::string& name : probe.names(folder + "/fd")) {
    if (probe.resolve(fmt::format("{}/fd/{}", folder, name)) != "/dev/fuse") continue;
    serves = true;
    const std::string info = probe.text(fmt::format("{}/fdinfo/{}", folder, name)).value_or("");
    if (const auto connection = parse_count(line_value(info, "fuse_connection:"))) {
      found.connections.push_back(*connection);
    }
  }
  return serves ? std::optional(found) : std::nullopt;
}

std::vector<Candidate> find_candidates(const Probe& probe) {
  std::vector<Candidate> found;
  for (const std::uint64_t pid : process_ids(probe)) {
    if (auto one = candidate(pid, probe)) found.push_back(*std::move(one));
  }
  return found;
}

bool is_fuse(const Mount& mount) { return mount.type.starts_with("fuse") && mount.type != "fusectl"; }

}  // namespace

NfsFacts read_nfs(const Mount& mount, const Probe& probe) {
  NfsFacts facts;
  facts.device = mount.device;
  facts.version = option_value(mount, "vers");
  facts.protocol = option_value(mount, "proto");
  facts.nconnect = std::max<std::uint64_t>(1, parse_count(option_value(mount, "nconnect")).value_or(1));
  facts.connections = connections_of(mount, probe).value_or(facts.nconnect);
  facts.read_size = parse_count(option_value(mount, "rsize"));
  facts.write_size = parse_count(option_value(mount, "wsize"));
  facts.recovery = has_option(mount, "softerr") ? "softerr" : has_option(mount, "soft") ? "soft" : "hard";
  facts.caches_attributes =
      !has_option(mount, "noac") && option_value(mount, "acregmax") != "0" && option_value(mount, "actimeo") != "0";
  facts.counters = read_nfs_counters(mount, probe);
  if (facts.counters && facts.counters->reads > 0) {
    facts.read_round_trip = facts.counters->read_round_trip_seconds / static_cast<double>(facts.counters->reads);
  }
  return facts;
}

std::optional<NfsCounters> read_nfs_counters(const Mount& mount, const Probe& probe) {
  const std::string statistics = probe.text("/proc/self/mountstats").value_or("");
  const std::string_view section = section_of(statistics, mount);
  const std::size_t operations = section.find("per-op statistics");
  if (operations == std::string_view::npos) return std::nullopt;
  NfsCounters counters;
  for (const auto line : split(section.substr(operations), '\n')) add_operation(line, counters);
  return counters;
}

std::optional<LustreLayout> parse_lustre_layout(std::string_view bytes) {
  if (number_at(bytes, 0, 4) != kMagicComposite) return plain_layout(bytes);
  constexpr std::size_t kHeader = 32;
  constexpr std::size_t kEntry = 48;
  constexpr std::size_t kOffsetOfExtent = 8;
  constexpr std::size_t kOffsetOfLayout = 24;  // within an entry: id, flags, extent of two times 8 bytes
  const std::uint64_t components = number_at(bytes, 14, 2);
  if (components == 0) return std::nullopt;
  const std::size_t last = kHeader + (components - 1) * kEntry;
  const std::uint64_t offset = number_at(bytes, last + kOffsetOfLayout, 4);
  if (offset < kHeader || offset >= bytes.size()) return std::nullopt;
  auto layout = plain_layout(bytes.substr(offset));
  if (!layout) return layout;
  layout->components = components;
  layout->last_start = number_at(bytes, last + kOffsetOfExtent, 8);
  return layout;
}

GpfsFacts read_gpfs(const Probe& probe) {
  GpfsFacts facts;
  for (const auto line : split(probe.text("/var/mmfs/gen/mmfs.cfg").value_or(""), '\n')) {
    if (line.starts_with('[')) break;  // a class of nodes, of which this one may not be
    const auto words = split(trimmed(line), ' ');
    if (words.size() != 2) continue;
    if (words[0] == "pagepool") facts.pagepool = gpfs_bytes(words[1]);
    if (words[0] == "prefetchThreads") facts.prefetch_threads = parse_count(words[1]);
    const auto megabytes = words[0] == "maxMBpS" ? parse_count(words[1]) : std::nullopt;
    if (megabytes) facts.prefetch_rate = static_cast<double>(*megabytes) * 1e6;
  }
  return facts;
}

LustreFacts read_lustre(const Mount& mount, const std::string& path, const Probe& probe) {
  // The source is "10.0.0.1@o2ib:10.0.0.2@o2ib:/scratch" or ".../scratch/below"; objects are named after the first.
  const std::size_t slash = mount.source.find(":/");
  std::string name = slash == std::string::npos ? std::string() : mount.source.substr(slash + 2);
  name.erase(std::min(name.find('/'), name.size()));
  const std::string prefix = name + "-";
  LustreFacts facts;
  add_layout(probe, path, facts);
  facts.read_requests_in_flight = whole(tunable(probe, "osc", prefix, "max_rpcs_in_flight"));
  facts.pages_per_request = whole(tunable(probe, "osc", prefix, "max_pages_per_rpc"));
  facts.checksums = whole(tunable(probe, "osc", prefix, "checksums"));
  constexpr double kMebi = 1024 * 1024;
  facts.read_ahead = whole(tunable(probe, "llite", prefix, "max_read_ahead_mb"), kMebi);
  facts.read_ahead_per_file = whole(tunable(probe, "llite", prefix, "max_read_ahead_per_file_mb"), kMebi);
  return facts;
}

FuseKind fuse_kind(const std::string& type, const std::string& source) {
  const Client* client = find_client(type, source);
  return client == nullptr ? FuseKind::unknown : client->kind;
}

std::vector<std::uint64_t> fuse_servers(const std::string& mount_point, const Probe& probe) {
  const std::vector<Mount> mounts = read_mounts(probe);
  const auto mount = mount_of(mount_point, probe);
  if (!mount || !is_fuse(*mount)) return {};
  const std::vector<Candidate> candidates = find_candidates(probe);
  const auto minor = parse_count(std::string_view(mount->device).substr(mount->device.find(':') + 1));
  const auto is_of_connection = [&](const Candidate& one) {
    return minor && std::ranges::find(one.connections, *minor) != one.connections.end();
  };
  const bool kernel_names_it =
      std::ranges::any_of(candidates, [](const auto& one) { return !one.connections.empty(); });
  const bool is_only_one = candidates.size() == 1 && std::ranges::count_if(mounts, is_fuse) == 1;
  std::vector<std::uint64_t> servers;
  for (const Candidate& one : candidates) {
    const bool serves =
        kernel_names_it ? is_of_connection(one) : is_only_one || is_word_of(command_line(one.pid, probe), mount_point);
    if (serves) servers.push_back(one.pid);
  }
  return servers;
}

FuseFacts read_fuse(const Mount& mount, const Probe& probe) {
  FuseFacts facts;
  const Client* client = find_client(mount.type, mount.source);
  facts.client = client == nullptr ? mount.type : client->name;
  facts.kind = client == nullptr ? FuseKind::unknown : client->kind;
  if (client == nullptr || !client->describes_itself) return facts;
  if (const auto config = probe.text(mount.point + "/.config")) add_configuration(*config, facts);
  add_command_line(mount, probe, facts);
  if (const auto statistics = probe.text(mount.point + "/.stats")) add_statistics(*statistics, facts);
  return facts;
}

}  // namespace shardkit::system
