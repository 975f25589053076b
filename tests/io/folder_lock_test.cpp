#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <thread>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/error.hpp"
#include "io/file_system.hpp"
#include "support/errors.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::io;

TEST_CASE("a folder lock is held by one at a time and passes on when it ends") {
  const TempDir dir;
  std::optional<FolderLock> first(std::in_place, dir.path("lock"), std::stop_token());
  std::atomic<bool> second_has_it{false};
  std::jthread second([&](const std::stop_token& stop) {
    const FolderLock lock(dir.path("lock"), stop);
    second_has_it = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  CHECK_FALSE(second_has_it);
  first.reset();
  second.join();
  CHECK(second_has_it);
}

TEST_CASE("who looks whether a folder lock is held changes nothing") {
  const TempDir dir;
  CHECK_FALSE(is_locked(dir.path("lock")));
  FolderLock lock(dir.path("lock"));
  CHECK_FALSE(is_locked(dir.path("lock")));
  for (const LockMode hold : {LockMode::shared, LockMode::exclusive}) {
    REQUIRE(lock.try_take(hold));
    CHECK(is_locked(dir.path("lock")));
  }
  lock.release();
  CHECK_FALSE(is_locked(dir.path("lock")));
}

TEST_CASE("waiting for a folder lock ends with the stop token") {
  const TempDir dir;
  const FolderLock first(dir.path("lock"), {});
  std::stop_source stop;
  stop.request_stop();
  CHECK_THROWS_AS(FolderLock(dir.path("lock"), stop.get_token()), Error);
}

TEST_CASE("a lock in a folder that is not there is an error") {
  const TempDir dir;
  CHECK_THROWS_AS(FolderLock(dir.path("absent/lock"), {}), Error);
}

TEST_CASE("several may share a lock, which nobody can hold alone meanwhile, and the last of them can make it his own") {
  const TempDir dir;
  FolderLock one(dir.path("lock"));
  FolderLock two(dir.path("lock"));
  CHECK(one.try_take(LockMode::exclusive));
  CHECK_FALSE(two.try_take(LockMode::shared));
  CHECK(one.try_take(LockMode::shared));
  CHECK(two.try_take(LockMode::shared));
  CHECK_FALSE(one.try_take(LockMode::exclusive));
  two.release();
  CHECK(one.try_take(LockMode::exclusive));
}

namespace {

/// Another user than root, for whom permissions count, while it lives.
class AsNobody {
 public:
  AsNobody() { REQUIRE(::seteuid(65534) == 0); }
  ~AsNobody() {
    if (::seteuid(0) != 0) std::abort();
  }
};

}  // namespace

TEST_CASE("a lock file is made for all whom the umask leaves in") {
  const TempDir dir;
  const mode_t before = ::umask(002);
  const FolderLock lock(dir.path("lock"));
  ::umask(before);
  struct stat info {};
  REQUIRE(::stat(dir.path("lock").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0664);
}

TEST_CASE("another user's lock file that may only be read can be shared, and to hold it alone is refused in words") {
  if (::geteuid() != 0) {
    MESSAGE("SKIPPED: only root can be another user");
    return;
  }
  const TempDir dir;
  write_file(dir.path("lock"), "");
  write_file(dir.path("secret"), "");
  REQUIRE(::chmod(dir.path().c_str(), 0755) == 0);
  REQUIRE(::chmod(dir.path("lock").c_str(), 0644) == 0);
  REQUIRE(::chmod(dir.path("secret").c_str(), 0600) == 0);
  const AsNobody nobody;
  FolderLock lock(dir.path("lock"));
  CHECK(lock.try_take(LockMode::shared));
  const auto failure = shardkit_test::failure_of([&] { lock.try_take(LockMode::exclusive); });
  CHECK(failure == ErrorCode::denied);
  CHECK(failure.says("belongs to another user"));
  CHECK(shardkit_test::failure_of([&] { FolderLock(dir.path("secret")); }) == ErrorCode::denied);
  CHECK(shardkit_test::failure_of([&] { FolderLock(dir.path("new")); }) == ErrorCode::denied);
}

namespace {

/// From now on locks fail for the calling thread as on a file system that has none, such as NFS without lockd.
void take_locks_from_this_thread() {
  const auto field = [](std::size_t offset) {
    return sock_filter{BPF_LD | BPF_W | BPF_ABS, 0, 0, std::uint32_t(offset)};
  };
  const auto skip_if = [](std::uint32_t value, std::uint8_t yes, std::uint8_t no) {
    return sock_filter{BPF_JMP | BPF_JEQ | BPF_K, yes, no, value};
  };
  std::array filter{field(offsetof(seccomp_data, nr)),
                    skip_if(SYS_fcntl, 0, 4),
                    field(offsetof(seccomp_data, args) + sizeof(std::uint64_t)),
                    skip_if(F_OFD_SETLK, 1, 0),
                    skip_if(F_OFD_GETLK, 0, 1),
                    sock_filter{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOLCK},
                    sock_filter{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
  const sock_fprog program{filter.size(), filter.data()};
  REQUIRE(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  REQUIRE(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

}  // namespace

TEST_CASE("a file system without locks is refused in the same words by who takes a lock and who looks at one") {
  const TempDir dir;
  write_file(dir.path("lock"), "");
  std::jthread([&] {
    take_locks_from_this_thread();
    for (const auto& act : std::array<std::function<void()>, 2>{
             [&] { FolderLock(dir.path("lock")).try_take(LockMode::shared); }, [&] { is_locked(dir.path("lock")); }}) {
      const auto failure = shardkit_test::failure_of(act);
      CHECK(failure == ErrorCode::unsupported);
      CHECK(failure.says("does not support locks; choose a folder on a local disk"));
    }
  }).join();
}
