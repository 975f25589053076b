#include "staging/lease.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <pwd.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/json.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"
#include "staging/stage_journal.hpp"

namespace shardkit::staging {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "shardkit-lease";
constexpr std::uint64_t kVersion = 1;
constexpr std::string_view kEnding = ".json";
constexpr std::size_t kLongestLease = 64U << 10U;

std::string file_name_of(const std::string& owner) { return to_hex(xxh3_128(as_bytes(owner))) + std::string(kEnding); }

system::WallTime time_in(const Json& root, const char* field, const std::string& path) {
  const auto text = root.at(field).get<std::string>();
  if (const auto time = system::parse_iso8601(text)) return *time;
  throw Error(ErrorCode::corrupt, fmt::format("'{}': {} '{}' is not an RFC 3339 time in UTC", path, field, text), path);
}

/// The start of a file: all of it if it is a lease.
std::string text_below(const io::File& folder, const std::string& name) {
  const io::File file = io::open_below(folder, name);
  std::string text(kLongestLease, '\0');
  text.resize(file.read_at(0, std::as_writable_bytes(std::span(text))));
  return text;
}

LeaseFile read_lease_file(const io::File& folder, const std::string& name) {
  LeaseFile found{name, {}, {}};
  try {
    if (io::standing_at(folder, name) != io::Standing::file) {
      throw Error(ErrorCode::corrupt, fmt::format("'{}' is not a regular file", io::join_path(folder.path(), name)));
    }
    found.lease = read_lease(text_below(folder, name), io::join_path(folder.path(), name));
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

std::size_t remove_leases(io::FileSystem& files, const std::string& folder, const auto& is_wanted) {
  const io::File leases = lease_folder(folder);
  if (!leases) return 0;
  std::size_t removed = 0;
  std::optional<Error> refusal;
  for (const std::string& name : lease_names(leases)) {
    if (!is_wanted(leases, name)) continue;
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

std::string user_name() {
  std::array<char, 4096> space{};
  passwd entry{};
  passwd* found = nullptr;
  const uid_t user = ::geteuid();
  if (::getpwuid_r(user, &entry, space.data(), space.size(), &found) == 0 && found != nullptr) return found->pw_name;
  return fmt::format("uid-{}", user);  // as containers have them
}

}  // namespace

std::string describe(const LeaseFile& file) {
  if (!file.lease) return fmt::format("leased by an unreadable lease ({})", file.fault);
  const std::string purpose = file.lease->purpose.empty() ? "" : fmt::format(" ({})", file.lease->purpose);
  return fmt::format("leased by {}{} until {}", file.lease->owner, purpose, system::rfc3339(file.lease->expires_at));
}

std::string write_lease(const Lease& lease) {
  Json root;
  root["format"] = kFormat;
  root["version"] = kVersion;
  root["owner"] = lease.owner;
  root["purpose"] = lease.purpose;
  root["taken_at"] = system::rfc3339(lease.taken_at);
  root["expires_at"] = system::rfc3339(lease.expires_at);
  return json_file_text(root);
}

Lease read_lease(std::string_view text, const std::string& path) {
  const auto damaged = [&](std::string_view why) {
    return Error(ErrorCode::corrupt, fmt::format("'{}' is damaged ({}); remove it", path, why), path);
  };
  const Json root = parse_ordered_json(text);
  if (root.is_discarded()) throw damaged("it is not JSON");
  try {
    if (root.at("format") != kFormat || root.at("version") != kVersion) {
      throw Error(ErrorCode::corrupt, fmt::format("'{}' is not a lease of version {}", path, kVersion), path);
    }
    return {root.at("owner").get<std::string>(), root.at("purpose").get<std::string>(), time_in(root, "taken_at", path),
            time_in(root, "expires_at", path)};
  } catch (const Json::exception& error) {
    throw damaged(error.what());
  }
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

void take_lease(io::FileSystem& files, const std::string& folder, const Lease& lease) {
  const std::string leases = io::join_path(folder, kLeaseFolderPath);
  files.create_directories(leases);
  io::publish(files, io::join_path(leases, file_name_of(lease.owner)), as_bytes(write_lease(lease)));
}

bool release_lease(io::FileSystem& files, const std::string& folder, const std::string& owner) {
  const std::string wanted = file_name_of(owner);
  return remove_leases(files, folder, [&](const io::File&, const std::string& name) { return name == wanted; }) > 0;
}

std::size_t release_all_leases(io::FileSystem& files, const std::string& folder) {
  return remove_leases(files, folder, [](const io::File&, const std::string&) { return true; });
}

std::size_t remove_ended_leases(io::FileSystem& files, const std::string& folder, system::WallTime now) {
  return remove_leases(files, folder, [&](const io::File& leases, const std::string& name) {
    return !read_lease_file(leases, name).lives_at(now);
  });
}

std::string default_lease_owner(const system::EnvironmentLookup& environment) {
  if (const auto pod = environment("POD_NAME")) return *pod;
  if (environment("KUBERNETES_SERVICE_HOST")) {
    if (const auto pod = environment("HOSTNAME")) return *pod;
  }
  if (const auto job = environment("SLURM_JOB_ID")) return "slurm-" + *job;
  utsname host{};
  const bool named = ::uname(&host) == 0;
  return fmt::format("{}@{}", user_name(), named ? host.nodename : "localhost");
}

}  // namespace shardkit::staging
