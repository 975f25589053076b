#include "system/fuse.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/units.hpp"
#include "system/sys_text.hpp"

namespace shardkit {
namespace {

/// Part of a mount's type or source, and what it stands for.
struct Client {
  std::string_view mark;
  std::string_view name;
  std::string_view kind;
};
constexpr std::array kClients{
    Client{"juicefs", "JuiceFS", "object store"},
    Client{"alluxio", "Alluxio", "cache"},
    Client{"mountpoint-s3", "Mountpoint for S3", "object store"},
    Client{"s3fs", "s3fs", "object store"},
    Client{"gcsfuse", "gcsfuse", "object store"},
    Client{"goofys", "goofys", "object store"},
    Client{"geesefs", "GeeseFS", "object store"},
    Client{"blobfuse", "BlobFuse", "object store"},
    Client{"rclone", "rclone", "object store"},
    Client{"sshfs", "SSHFS", "remote shell"},
    Client{"ceph", "CephFS", "cluster"},
    Client{"glusterfs", "GlusterFS", "cluster"},
    Client{"dfuse", "DAOS", "cluster"},
};

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
  const auto config = nlohmann::json::parse(text, nullptr, false);
  if (!config.is_object() || !config.contains("Chunk") || !config["Chunk"].is_object()) return;
  const auto& chunk = config["Chunk"];
  if (chunk.contains("CacheDir") && chunk["CacheDir"].is_string()) {
    facts.cache_folders = folders_of(chunk["CacheDir"].get<std::string>());
  }
  if (chunk.contains("CacheSize") && chunk["CacheSize"].is_number_unsigned()) {
    facts.cache_limit = cache_bytes(chunk["CacheSize"].get<std::uint64_t>());
  }
}

/// The words of the "juicefs mount META MOUNTPOINT ..." that serves the mount.
std::vector<std::string> command_line(const Mount& mount, const Probe& probe) {
  for (const std::string& process : probe.names("/proc")) {
    if (!parse_number(process)) continue;
    const std::string text = probe.text("/proc/" + process + "/cmdline").value_or("");
    std::vector<std::string> words;
    for (const auto word : split(text, '\0')) words.emplace_back(word);
    const bool is_client = !words.empty() && words[0].find("juicefs") != std::string::npos;
    if (is_client && std::find(words.begin(), words.end(), mount.point) != words.end()) return words;
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
  const auto words = command_line(mount, probe);
  if (facts.cache_folders.empty()) facts.cache_folders = folders_of(flag_value(words, "cache-dir"));
  const std::string size = flag_value(words, "cache-size");
  if (size.empty() || facts.cache_limit) return;
  if (const auto mebibytes = parse_number(size)) {
    facts.cache_limit = cache_bytes(*mebibytes);
  } else if (const auto bytes = parse_size(size)) {
    facts.cache_limit = bytes.value();
  }
}

/// "juicefs_blockcache_hit_bytes 123" or 1.5e+09
double statistic(std::string_view text, std::string_view name) {
  const std::string_view word = line_value(text, name);
  double value = 0;
  const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && std::isfinite(value) && value > 0 ? std::min(value, 1e18) : 0;
}

void add_statistics(const std::string& text, FuseFacts& facts) {
  const double hit = statistic(text, "juicefs_blockcache_hit_bytes ");
  const double missed = statistic(text, "juicefs_blockcache_miss_bytes ");
  if (!line_value(text, "juicefs_blockcache_bytes ").empty()) {
    facts.cached = static_cast<std::uint64_t>(statistic(text, "juicefs_blockcache_bytes "));
  }
  if (hit + missed > 0) facts.cache_hit_ratio = hit / (hit + missed);
}

}  // namespace

FuseFacts read_fuse(const Mount& mount, const Probe& probe) {
  FuseFacts facts;
  facts.client = mount.type;
  for (const Client& client : kClients) {
    // A type without a name of its own leaves the source: mountpoint-s3 says so there.
    const std::string& told = mount.type == "fuse" ? mount.source : mount.type;
    if (told.find(client.mark) == std::string::npos) continue;
    facts.client = client.name;
    facts.kind = client.kind;
    break;
  }
  if (facts.client != "JuiceFS") return facts;
  if (const auto config = probe.text(mount.point + "/.config")) add_configuration(*config, facts);
  add_command_line(mount, probe, facts);
  if (const auto statistics = probe.text(mount.point + "/.stats")) add_statistics(*statistics, facts);
  return facts;
}

}  // namespace shardkit
