#include "staging/lease.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <thread>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/errors.hpp"
#include "support/files.hpp"
#include "support/forgetful_file_system.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::io;
using namespace shardkit::staging;
using namespace shardkit::system;
using namespace std::chrono_literals;
using shardkit_test::failure_of;

namespace {

const WallTime kNow(1'767'225'600s);

Lease lease_of(const std::string& owner, WallTime until) { return {owner, kNow, until}; }

bool all(const LeaseFile&) { return true; }
bool has_ended(const LeaseFile& lease) { return !lease.lives_at(kNow); }

EnvironmentLookup environment_of(const std::map<std::string, std::string>& variables) {
  return [variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

}  // namespace

TEST_CASE("a lease reads back as it was written") {
  const Lease lease{"pod/α\n", kNow, kNow + 24h};
  CHECK(read_lease(write_lease(lease), "x") == lease);
}

TEST_CASE("the text of a lease is what docs/explain/formats.md shows") {
  CHECK(write_lease({"job-7", kNow, kNow + 1h}) ==
        "{\n \"format\": \"shardkit-lease\",\n \"version\": 1,\n \"owner\": \"job-7\",\n"
        " \"taken_at\": \"2026-01-01T00:00:00Z\",\n \"expires_at\": \"2026-01-01T01:00:00Z\",\n"
        " \"checksum\": \"5635b1bcbe94248596bbbb9051c04402\"\n}\n");
}

TEST_CASE("what is no lease is refused with its name and what is wrong") {
  CHECK(failure_of([] { read_lease(R"({"format":"shardkit-lease","version":2})", "x"); }) == ErrorCode::unsupported);
  for (const char* text :
       {"", "{", "[]", "{}",
        R"({"format":"shardkit-lease","version":1,"owner":7,"purpose":"","taken_at":"","expires_at":""})",
        R"({"format":"shardkit-lease","version":1,"owner":"a","purpose":"","taken_at":"2026-01-01T00:00:00Z",)"
        R"("expires_at":"soon"})"}) {
    CAPTURE(text);
    const auto failure = failure_of([&] { read_lease(text, "leases/x.json"); });
    CHECK(failure == ErrorCode::corrupt);
    CHECK(failure.says("'leases/x.json'"));
  }
}

TEST_CASE("each owner has one lease in a folder, and to take it again replaces it") {
  const TempDir dir;
  const auto files = posix_file_system();
  CHECK(read_leases(dir.path()).empty());
  CHECK(read_leases(dir.path("absent")).empty());
  take_lease(*files, dir.path(), lease_of("a", kNow + 1h));
  take_lease(*files, dir.path(), lease_of("b", kNow + 1h));
  take_lease(*files, dir.path(), lease_of("a", kNow + 2h));
  const auto leases = read_leases(dir.path());
  REQUIRE(leases.size() == 2);
  std::map<std::string, WallTime> ends;
  for (const LeaseFile& file : leases) ends[file.lease.value().owner] = file.lease->expires_at;
  CHECK(ends == std::map<std::string, WallTime>{{"a", kNow + 2h}, {"b", kNow + 1h}});
}

TEST_CASE("a lease lives until the moment it expires, and not in it") {
  const LeaseFile file{"x.json", lease_of("a", kNow + 1h), {}};
  CHECK(file.lives_at(kNow));
  CHECK(file.lives_at(kNow + 1h - 1s));
  CHECK_FALSE(file.lives_at(kNow + 1h));
}

TEST_CASE("releasing ends one owner's lease, or all, and is fine where there is none") {
  const TempDir dir;
  const auto files = posix_file_system();
  CHECK(release_lease(*files, dir.path(), "a").ended == 0);
  CHECK(remove_leases(*files, dir.path(), all) == 0);
  for (const char* owner : {"a", "b", "c"}) take_lease(*files, dir.path(), lease_of(owner, kNow + 1h));
  CHECK(release_lease(*files, dir.path(), "a").ended == 1);
  CHECK(release_lease(*files, dir.path(), "a").ended == 0);
  CHECK(read_leases(dir.path()).size() == 2);
  CHECK(remove_leases(*files, dir.path(), all) == 2);
  CHECK(read_leases(dir.path()).empty());
}

TEST_CASE("a damaged lease lives, is named, and goes with all") {
  const TempDir dir;
  const auto files = posix_file_system();
  write_file(dir.path(".shardkit/leases/0.json"), "{\"format\":");
  std::filesystem::create_symlink("/dev/zero", dir.path(".shardkit/leases/1.json"));
  const auto leases = read_leases(dir.path());
  REQUIRE(leases.size() == 2);
  for (const LeaseFile& file : leases) {
    CHECK(file.lives_at(kNow + 24h * 3650));
    CHECK(describe(file).find("unreadable") != std::string::npos);
    CHECK(describe(file).find(file.name) != std::string::npos);
  }
  CHECK(remove_leases(*files, dir.path(), has_ended) == 0);
  CHECK(remove_leases(*files, dir.path(), all) == 2);
}

TEST_CASE("files that are being written are no leases") {
  const TempDir dir;
  write_file(dir.path(".shardkit/leases/.0.json.host-1-1.tmp"), "{");
  CHECK(read_leases(dir.path()).empty());
}

TEST_CASE("leases that have ended can be swept, those that live stay") {
  const TempDir dir;
  const auto files = posix_file_system();
  take_lease(*files, dir.path(), lease_of("ended", kNow));
  take_lease(*files, dir.path(), lease_of("lives", kNow + 1s));
  CHECK(remove_leases(*files, dir.path(), has_ended) == 1);
  REQUIRE(read_leases(dir.path()).size() == 1);
  CHECK(describe(read_leases(dir.path())[0]) == "leased by lives until 2026-01-01T00:00:01Z");
}

TEST_CASE("no link leads to leases elsewhere") {
  const TempDir dir;
  const auto files = posix_file_system();
  take_lease(*files, dir.path("other"), lease_of("a", kNow + 1h));
  std::filesystem::create_directories(dir.path("folder"));
  std::filesystem::create_symlink(dir.path("other/.shardkit"), dir.path("folder/.shardkit"));
  CHECK(failure_of([&] { remove_leases(*files, dir.path("folder"), all); }) == ErrorCode::conflict);
  CHECK(read_leases(dir.path("other")).size() == 1);
}

TEST_CASE("a lease that was taken outlives a power cut") {
  const TempDir dir;
  ForgetfulFileSystem files;
  take_lease(files, dir.path(), lease_of("a", kNow + 1h));
  const auto left = files.after_power_cut();
  REQUIRE(left.size() == 1);
  CHECK(read_lease(left.begin()->second, "x") == lease_of("a", kNow + 1h));
}

TEST_CASE("the id is that of the pod, else of the Slurm job, else there is none") {
  const std::string host;
  const std::string pod = "0c5e-11";  // as the kubelet's mounts say
  const auto id = [&](const std::map<std::string, std::string>& environment, const std::string& kubelets_uid) {
    return job_lease_id(environment_of(environment), kubelets_uid);
  };
  CHECK(id({{"POD_UID", "uid-1"}, {"POD_NAME", "pod-1"}}, host) == "uid-1");
  CHECK(id({{"POD_NAME", "pod-1"}}, pod) == "0c5e-11");
  CHECK(id({{"POD_NAME", "pod-1"}, {"POD_NAMESPACE", "a"}}, host) == "a/pod-1");
  CHECK(id({{"SLURM_JOB_ID", "7"}}, host) == "slurm-7");
  CHECK(id({{"SLURM_JOB_ID", "7"}}, pod) == "slurm-7@0c5e-11");
  const std::map<std::string, std::string> no_ids{
      {"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"HOSTNAME", "node"}, {"POD_NAME", "pod-1"}, {"POD_UID", ""}};
  CHECK(id(no_ids, host).empty());
  CHECK(random_lease_id() != random_lease_id());
  CHECK(random_lease_id().size() == std::string("lease-0123456789ab").size());
}

TEST_CASE("a lease that is extended never ends earlier than before") {
  const TempDir dir;
  const auto files = posix_file_system();
  CHECK(extend_lease(*files, dir.path(), lease_of("a", kNow + 2h)).expires_at == kNow + 2h);
  CHECK(extend_lease(*files, dir.path(), {"a", kNow + 1h, kNow + 1h}) == Lease{"a", kNow + 1h, kNow + 2h});
  CHECK(extend_lease(*files, dir.path(), {"a", kNow, kNow + 3h}).expires_at == kNow + 3h);
  CHECK(extend_lease(*files, dir.path(), lease_of("b", kNow + 1h)).expires_at == kNow + 1h);
  CHECK(read_leases(dir.path()).size() == 2);
}

TEST_CASE("the leases of running holders are counted: the last one ends that of its job") {
  const TempDir dir;
  const auto files = posix_file_system();
  const WallTime end = std::chrono::floor<std::chrono::seconds>(system_clock().now()) + 1h;
  const Lease first{"a", kNow, end, "1"};
  const Lease second{"a", kNow, end, "2"};
  for (const char* owner : {"a", "b"}) take_lease(*files, dir.path(), lease_of(owner, end));
  auto first_runs = take_lease(*files, dir.path(), first);
  auto second_runs = take_lease(*files, dir.path(), second);
  CHECK(read_leases(dir.path()).size() == 4);
  CHECK(read_lease(write_lease(first), "x") == first);
  CHECK(describe({"x", first, {}, true}).ends_with(", which its `cache hold` renews"));
  CHECK_FALSE(describe({"x", first, {}}).ends_with("renews"));  // it was killed
  first_runs.reset();
  CHECK(release_holder(*files, dir.path(), first).held == 1);
  CHECK(read_leases(dir.path()).size() == 3);
  const Released released = release_lease(*files, dir.path(), "a");
  CHECK(released.ended == 1);
  CHECK(released.held == 1);
  CHECK(read_leases(dir.path()).size() == 2);  // of b, and the second holder's
  take_lease(*files, dir.path(), lease_of("a", end));
  second_runs.reset();
  CHECK(release_holder(*files, dir.path(), second).held == 0);
  REQUIRE(read_leases(dir.path()).size() == 1);
  CHECK(read_leases(dir.path())[0].lease->owner == "b");
}

TEST_CASE("the lease of a holder that was killed protects the folder, and ends with the others of its job") {
  const TempDir dir;
  const auto files = posix_file_system();
  const WallTime end = std::chrono::floor<std::chrono::seconds>(system_clock().now()) + 1h;
  const Lease killed{"a", kNow, end, "1"};
  take_lease(*files, dir.path(), lease_of("a", end));
  take_lease(*files, dir.path(), killed).reset();
  REQUIRE(read_leases(dir.path()).size() == 2);
  for (const LeaseFile& file : read_leases(dir.path())) CHECK(file.lives_at(system_clock().now()));

  SUBCASE("by the end of the holder that was started after it") {
    const Lease again{"a", kNow, end, "2"};
    auto runs = take_lease(*files, dir.path(), again);
    CHECK(std::ranges::count_if(read_leases(dir.path()), &LeaseFile::is_held) == 1);
    runs.reset();
    CHECK(release_holder(*files, dir.path(), again).ended == 3);
  }
  SUBCASE("by a release") { CHECK(release_lease(*files, dir.path(), "a").ended == 2); }
  CHECK(read_leases(dir.path()).empty());
}

TEST_CASE("a holder that renews its lease is seen running at every moment") {
  const TempDir dir;
  const auto files = posix_file_system();
  const Lease lease{"a", kNow, kNow + 1h, "1"};
  auto runs = take_lease(*files, dir.path(), lease);
  std::atomic<bool> done = false;
  std::jthread renewing([&] {
    for (int i = 0; i < 50; ++i) runs = take_lease(*files, dir.path(), lease);
    done = true;
  });
  while (!done) {
    const auto leases = read_leases(dir.path());
    REQUIRE(leases.size() == 1);
    CHECK(leases[0].is_held);
  }
}

TEST_CASE("a changed byte makes a lease damaged, or does not matter") {
  const Lease lease{"job-7", kNow, kNow + 1h, "holder"};
  const std::string text = write_lease(lease);
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    std::optional<Lease> read;
    try {
      read = read_lease(changed, "x");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::corrupt);
    }
    if (read) CHECK(*read == lease);
  }
}

TEST_CASE("ids of leases have no control characters, wherever they come from") {
  const system::EnvironmentLookup none = [](const std::string&) { return std::nullopt; };
  const system::EnvironmentLookup pod = [](const std::string& name) {
    return name == "POD_UID" ? std::optional<std::string>("a\nb") : std::nullopt;
  };
  CHECK(lease_id_of("job 7, é", none) == "job 7, é");
  CHECK(lease_id_of("", none).empty());
  for (const char* id : {"a\nb", "\r", "a\x1b[31m", "\x7f"})
    CHECK(failure_of([&] { lease_id_of(id, none); }) == ErrorCode::usage);
  CHECK(failure_of([&] { lease_id_of("", pod); }) == ErrorCode::usage);
}
