#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <doctest/doctest.h>

#include "catalog/object_set.hpp"
#include "dataset/stage/stage_support.hpp"
#include "net/store_server.hpp"
#include "support/fake_clock.hpp"

namespace shardkit_test {

/// How a set is asked for.
struct Way {
  bool s3;
  bool manifest;
  std::string name() const { return std::string(s3 ? "s3" : "http") + (manifest ? ", manifest" : ", no manifest"); }
};

inline constexpr Way kWays[] = {{true, true}, {true, false}, {false, true}, {false, false}};

/// Three shards with manifest and indexes behind a server of one's own, and stages of them into folders of a test.
class RemoteSet {
 public:
  static constexpr std::uint64_t kRange = 64 * 1024;
  static constexpr const char* kShard = "bucket/set/shard-000001.tar";

  explicit RemoteSet(const Shards& shards) : server(files_of(shards)) {}

  /// Looks at the requests for the bytes of kShard, which counts them from 1; true when it has answered.
  using DataHook = std::function<bool(int number, const ServedRequest&, ServerConnection&)>;
  void at_data(DataHook hook) {
    server.set_hook([hook = std::move(hook), count = std::make_shared<std::atomic<int>>(0)](
                        const ServedRequest& request, ServerConnection& connection) {
      const bool is_look_up = request.method != "GET" || request.header("range") == "bytes=0-0";
      if (is_look_up || request.path() != std::string("/") + kShard) return false;
      return hook(++*count, request, connection);
    });
  }

  shardkit::net::StoreOptions options() {
    shardkit::net::StoreOptions options = server.options();
    options.retry.clock = &clock;
    options.retry.on_retry = [this](const shardkit::net::RetryEvent&) { ++retries; };
    options.http.stall = stall;
    return options;
  }

  StageResult stage(const Way& way, const std::string& target) { return stage(way, target, options()); }
  StageResult stage(const Way& way, const std::string& target, const shardkit::net::StoreOptions& options) {
    StageResult result = stage_most(way, target, options);
    result.throw_if_failed();
    return result;
  }
  /// Also if files failed.
  StageResult stage_most(const Way& way, const std::string& target, const shardkit::net::StoreOptions& options) {
    std::string operand = "s3://bucket/set";
    if (!way.s3) operand = server.url(way.manifest ? "/bucket/set/" : "/bucket/set/shard-{000000..000002}.tar");
    const shardkit::catalog::ObjectSet set = shardkit::catalog::open_objects({operand}, options, {});
    StageRequest wanted;
    if (set.listed) wanted.names = set.names;
    wanted.use_manifests = way.manifest;
    if (way.manifest) wanted.manifest_name = set.manifest;
    Context context;
    const CopyLimits limits{3, 3, kRange, {kRange}};
    return stage_on(*posix_file_system(), *set.source, wanted, into(target), context, limits);
  }

  /// What a whole target holds.
  std::map<std::string, std::string> expected(const Way& way) const {
    std::map<std::string, std::string> content;
    for (const auto& [path, bytes] : server.files()) {
      const std::string name = path.substr(std::string("bucket/set/").size());
      const bool is_asked_for = way.s3 || way.manifest || name.ends_with(".tar");
      if (is_asked_for) content[name] = bytes;
    }
    return content;
  }

  StoreServer server;
  FakeClock clock;
  shardkit::net::StallLimit stall;
  std::atomic<int> retries = 0;
  std::once_flag replaced;  ///< of faults that replace the object once

 private:
  static StoreServer::Files files_of(const Shards& shards) {
    StoreServer::Files files;
    for (const auto& [name, content] : shards.content) files["bucket/set/" + name] = content;
    return files;
  }
};

/// Of a target whose stage failed: no marker, nothing under a final name but what `expected` says, and for the rest
/// only what a next stage goes on with.
inline void check_only_resumable(const std::string& target, const std::map<std::string, std::string>& expected) {
  if (!std::filesystem::exists(target)) return;
  CHECK_FALSE(std::filesystem::exists(target + "/.shardkit/staged.json"));
  for (const auto& [name, content] : staged_content(target)) {
    CAPTURE(name);
    if (name.starts_with(".shardkit/staging/")) {
      CHECK((name.ends_with(".partial") || name.ends_with(".parts")));
      continue;
    }
    REQUIRE(expected.contains(name));
    CHECK((content == expected.at(name)));
  }
}

}  // namespace shardkit_test
