#include "staging/lease.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/command_text.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/json.hpp"
#include "core/prng.hpp"
#include "io/file.hpp"
#include "staging/stage_journal.hpp"

namespace shardkit::staging {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kLeaseFormat = "shardkit-lease";
constexpr std::uint64_t kLeaseVersion = 1;
constexpr std::string_view kEnding = ".json";
constexpr std::size_t kLongestFile = 64U << 10U;

std::string file_name_of(const std::string& owner, const std::string& holder = {}) {
  const std::string whose = holder.empty() ? owner : owner + '\n' + holder;
  return to_hex(xxh3_128(as_bytes(whose))) + std::string(kEnding);
}

system::WallTime time_in(const Json& root, const char* field, const std::string& path) {
  const auto text = root.at(field).get<std::string>();
  if (const auto time = system::parse_iso8601(text)) return *time;
  throw Error(ErrorCode::corrupt, At{path}, "'{}': {} '{}' is not an RFC 3339 time in UTC", path, field, text);
}

/// The start of a file: all of it if it is a lease.
std::string text_below(const io::File& folder, const std::string& name) {
  const io::File file = io::open_below(folder, name);
  std::string text(kLongestFile, '\0');
  text.resize(file.read_at(0, std::as_writable_bytes(std::span(text))));
  return text;
}

/// True also if nobody can know.
bool has_lock(const std::string& path) {
  try {
    return io::is_locked(path);
  } catch (const Error&) {
    return true;
  }
}

LeaseFile read_lease_file(const io::File& folder, const std::string& name) {
  LeaseFile found{name, {}, {}};
  try {
    if (io::standing_at(folder, name) != io::Standing::file) {
      throw Error(ErrorCode::corrupt, fmt::format("'{}' is not a regular file", io::join_path(folder.path(), name)));
    }
    const std::string path = io::join_path(folder.path(), name);
    found.lease = read_lease(text_below(folder, name), path);
    found.is_held = !found.lease->holder.empty() && has_lock(path);
  } catch (const Error& error) {
    found.fault = error.what();
  }
  return found;
}

/// Names of the files that are leases or look like it.
std::vector<std::string> lease_names(const io::File& folder) {
  std::vector<std::string> names;
  for (std::string& name : io::names_in(folder)) {
    if (!name.starts_with('.') && name.ends_with(kEnding)) names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

/// The lease folder of a staged folder; not open when there is none.
io::File lease_folder(const std::string& folder) {
  try {
    auto leases = io::ContainedFolder(folder).folder(kLeaseFolderPath, false);
    return leases ? std::move(*leases) : io::File();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::not_found) return {};
    throw;
  }
}

}  // namespace

std::string describe(const LeaseFile& file) {
  if (!file.lease) return fmt::format("leased by an unreadable lease ({})", file.fault);
  return fmt::format("leased by {} until {}{}", file.lease->owner, system::rfc3339(file.lease->expires_at),
                     file.is_held ? ", which its `cache hold` renews" : "");
}

std::string write_lease(const Lease& lease) {
  Json root;
  root["format"] = kLeaseFormat;
  root["version"] = kLeaseVersion;
  root["owner"] = lease.owner;
  root["taken_at"] = system::rfc3339(lease.taken_at);
  root["expires_at"] = system::rfc3339(lease.expires_at);
  if (!lease.holder.empty()) root["holder"] = lease.holder;
  return sealed_json_text(std::move(root));
}

Lease read_lease(std::string_view text, const std::string& path) {
  Lease lease;
  formats::read_state_file(text, path, "a lease", kLeaseFormat, kLeaseVersion, [&](const Json& root) {
    lease = {root.at("owner").get<std::string>(), time_in(root, "taken_at", path), time_in(root, "expires_at", path),
             root.value("holder", "")};
  });
  return lease;
}

std::vector<LeaseFile> read_leases(const std::string& folder) {
  std::vector<LeaseFile> found;
  const io::File leases = lease_folder(folder);
  if (!leases) return found;
  for (const std::string& name : lease_names(leases)) {
    if (io::standing_at(leases, name) == io::Standing::nothing) continue;  // released meanwhile
    found.push_back(read_lease_file(leases, name));
  }
  return found;
}

std::unique_ptr<io::AtomicFile> take_lease(io::FileSystem& files, const std::string& folder, const Lease& lease) {
  const std::string leases = io::join_path(folder, kLeaseFolderPath);
  files.create_directories(leases);
  auto file = std::make_unique<io::AtomicFile>(files, io::join_path(leases, file_name_of(lease.owner, lease.holder)));
  file->write(as_bytes(write_lease(lease)));
  file->commit();
  return file;
}

Lease extend_lease(io::FileSystem& files, const std::string& folder, Lease lease) {
  files.create_directories(io::join_path(folder, kLeaseFolderPath));
  const io::FolderLock alone(io::join_path(folder, kHitsPath), {});  // held for milliseconds
  for (const LeaseFile& file : read_leases(folder)) {
    if (!file.lease || file.lease->owner != lease.owner || file.lease->holder != lease.holder) continue;
    lease.expires_at = std::max(lease.expires_at, file.lease->expires_at);
  }
  take_lease(files, folder, lease);
  return lease;
}

std::size_t remove_leases(io::FileSystem& files, const std::string& folder,
                          const std::function<bool(const LeaseFile&)>& is_wanted) {
  const io::File leases = lease_folder(folder);
  if (!leases) return 0;
  std::size_t removed = 0;
  std::optional<Error> refusal;
  for (const std::string& name : lease_names(leases)) {
    if (!is_wanted(read_lease_file(leases, name))) continue;
    try {
      files.remove_below(leases, name);
      ++removed;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::denied) throw;
      refusal = error;  // others may go
    }
  }
  if (refusal) throw Error(*refusal);
  return removed;
}

bool are_live(const std::vector<LeaseFile>& leases, system::WallTime now) {
  return std::ranges::any_of(leases, [&](const LeaseFile& lease) { return lease.lives_at(now); });
}

namespace {

std::size_t held_leases(const std::string& folder, const std::string& owner) {
  const auto leases = read_leases(folder);
  return static_cast<std::size_t>(
      std::ranges::count_if(leases, [&](const LeaseFile& file) { return file.is_held && file.lease->owner == owner; }));
}

}  // namespace

Released release_lease(io::FileSystem& files, const std::string& folder, const std::string& owner) {
  const std::size_t ended = remove_leases(
      files, folder, [&](const LeaseFile& file) { return file.lease && file.lease->owner == owner && !file.is_held; });
  return {ended, held_leases(folder, owner)};
}

Released release_holder(io::FileSystem& files, const std::string& folder, const Lease& held) {
  const std::string own = file_name_of(held.owner, held.holder);
  const std::size_t ended = remove_leases(files, folder, [&](const LeaseFile& file) { return file.name == own; });
  const std::size_t others = held_leases(folder, held.owner);
  if (others > 0) return {ended, others};
  const Released more = release_lease(files, folder, held.owner);
  return {ended + more.ended, more.held};
}

system::WallTime lease_end(system::WallTime now, double seconds) {
  return now + std::chrono::duration_cast<system::WallTime::duration>(system::Seconds(std::ceil(seconds)));
}

namespace {

std::string pod_id(const system::EnvironmentLookup& environment, const std::string& kubelets_uid) {
  const auto value = [&](const char* name) { return environment(name).value_or(""); };
  const std::string id = value("POD_UID").empty() ? kubelets_uid : value("POD_UID");
  if (!id.empty() || value("POD_NAMESPACE").empty() || value("POD_NAME").empty()) return id;
  return value("POD_NAMESPACE") + "/" + value("POD_NAME");
}

}  // namespace

std::string job_lease_id(const system::EnvironmentLookup& environment, const std::string& kubelets_uid) {
  const std::string pod = pod_id(environment, kubelets_uid);
  const std::string job = environment("SLURM_JOB_ID").value_or("");
  if (job.empty()) return pod;
  return "slurm-" + job + (pod.empty() ? "" : "@" + pod);
}

std::string lease_id_of(const std::string& given, const system::EnvironmentLookup& environment) {
  std::string id = given.empty() ? job_lease_id(environment) : given;
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::ranges::none_of(id, is_control)) return id;
  throw Error(ErrorCode::usage,
              fmt::format("{} {} has a line break or another control character; give an id of visible characters",
                          given.empty() ? "the lease id of this job," : "--lease-id", shell_word(id)));
}

std::string random_lease_id() { return fmt::format("lease-{:012x}", random_bits() & 0xffff'ffff'ffffU); }

}  // namespace shardkit::staging
