// Stores that list badly, refuse credentials, send elsewhere or ask for patience while a set is staged.

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "dataset/stage/stage_remote_support.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::io;
using namespace shardkit::net;
using namespace shardkit_test;

namespace {

constexpr Way kListed{true, false};

/// Variables of this process, for the time of a test.
class Variables {
 public:
  explicit Variables(std::initializer_list<std::pair<const char*, std::string>> variables) {
    for (const auto& [name, value] : variables) {
      ::setenv(name, value.c_str(), 1);
      names_.push_back(name);
    }
  }
  ~Variables() {
    for (const char* name : names_) ::unsetenv(name);
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

 private:
  std::vector<const char*> names_;
};

bool is_listing(const ServedRequest& request) { return request.target.find("list-type=2") != std::string::npos; }

bool is_data(const ServedRequest& request) { return request.path().ends_with(".tar") && request.method == "GET"; }

std::string error_xml(std::string_view code) { return fmt::format("<Error><Code>{}</Code></Error>", code); }

std::string listing_of(std::string_view key, std::string_view more = "<IsTruncated>false</IsTruncated>") {
  return fmt::format(
      "<ListBucketResult><EncodingType>url</EncodingType>{}<Contents><Key>{}</Key><Size>5</Size><ETag>\"v1\"</ETag>"
      "</Contents></ListBucketResult>",
      more, key);
}

struct ListingFault {
  const char* what;
  int times;
  std::string body;
  std::optional<ErrorCode> ends = {};  ///< empty: with the right bytes
};

const ListingFault kListingFaults[] = {
    {"no XML, once", 1, "<ListBucketResult><Contents><Key>x</K"},
    {"no XML, always", 1000, "<ListBucketResult><Contents><Key>x</K", ErrorCode::corrupt},
    {"nothing, once", 1, ""},
    {"a page of the web", 1000, "<html><body>Please log in</body></html>", ErrorCode::corrupt},
    {"an error within a 200, once", 1, error_xml("InternalError")},
    {"a wish for patience within a 200", 3, error_xml("SlowDown")},
    {"no such bucket", 1000, error_xml("NoSuchBucket"), ErrorCode::not_found},
    {"no objects", 1000, "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>", ErrorCode::not_found},
    {"a page that is followed by itself", 1000,
     listing_of("set/x", "<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>"),
     ErrorCode::corrupt},
    {"a size that is none", 1000,
     "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>set/x</Key><Size>-5</Size></Contents>"
     "</ListBucketResult>",
     ErrorCode::corrupt},
    {"a key that leads out of the folder", 1000, listing_of("set/../../etc/passwd"), ErrorCode::unsupported},
    {"a key that is absolute", 1000, listing_of("set//etc/passwd"), ErrorCode::unsupported},
    {"a key with a NUL", 1000, listing_of("set/a%00b"), ErrorCode::unsupported},
};

/// Signed requests, with keys that a program gives out anew each time it is asked.
StoreOptions with_renewed_keys(RemoteSet& set) {
  StoreOptions options = set.options();
  options.s3.anonymous = false;
  options.s3.profile = "lent";
  return options;
}

}  // namespace

TEST_CASE("whatever a store answers when it is asked for its listing") {
  const Shards shards;
  for (const ListingFault& fault : kListingFaults) {
    const std::string what = fault.what;
    CAPTURE(what);
    RemoteSet set(shards);
    std::atomic<int> asked = 0;
    set.server.set_hook([&](const ServedRequest& request, ServerConnection& connection) {
      if (!is_listing(request) || ++asked > fault.times) return false;
      connection.answer(200, "", fault.body);
      return true;
    });
    const TempDir dir;
    const Failure failure = failure_of([&] { set.stage(kListed, dir.path("out")); });
    CAPTURE(failure.text);
    CHECK(failure.failed == fault.ends.has_value());
    if (fault.ends) {
      CHECK(error_code_name(failure.code) == error_code_name(*fault.ends));
      CHECK_FALSE(std::filesystem::exists(dir.path("out")));
    } else if (!failure.failed) {
      CHECK((staged_content(dir.path("out")) == set.expected(kListed)));
      CHECK(set.retries == fault.times);
    }
  }
}

TEST_CASE("a manifest that changes while it is read, is cut or is gone") {
  const Shards shards;
  for (const Way& way : {Way{true, true}, Way{false, true}}) {
    RemoteSet set(shards);
    const TempDir dir;
    const std::string path = "bucket/set/manifest.json";
    set.server.set_hook([&](const ServedRequest& request, ServerConnection&) {
      if (request.path() == "/" + path && request.method == "GET" && request.header("range") != "bytes=0-0") {
        set.server.replace(path, set.server.files().at(path) + "\n");
      }
      return false;
    });
    CHECK(failure_of([&] { set.stage(way, dir.path("out")); }) == ErrorCode::io);
    set.server.set_hook({});
    set.server.replace(path, shards.content.at("manifest.json").substr(0, 200));
    CHECK(failure_of([&] { set.stage(way, dir.path("out")); }) == ErrorCode::corrupt);
    CHECK_FALSE(std::filesystem::exists(dir.path("out")));
  }
}

TEST_CASE("keys that expire in the middle are renewed; where there are no newer ones, that is said") {
  const Shards shards;
  RemoteSet set(shards);
  const TempDir dir;
  write_file(
      dir.path("config"),
      fmt::format("[profile lent]\ncredential_process = sh -c 'n=$(cat {0} 2>/dev/null || echo 0); n=$((n + 1)); "
                  "echo $n > {0}; echo \"{{\\\"Version\\\": 1, \\\"AccessKeyId\\\": \\\"AKID$n\\\", "
                  "\\\"SecretAccessKey\\\": \\\"hush\\\", \\\"SessionToken\\\": \\\"token-hush\\\"}}\"'\n",
                  dir.path("count")));
  const Variables variables({{"AWS_CONFIG_FILE", dir.path("config")},
                             {"AWS_SHARED_CREDENTIALS_FILE", dir.path("none")},
                             {"AWS_EC2_METADATA_DISABLED", "true"}});
  std::atomic<int> asked = 0;
  int expired = 1;
  const auto refuse_expired = [&](const ServedRequest& request, ServerConnection& connection) {
    const bool is_old = request.header("authorization").find("Credential=AKID1/") != std::string::npos;
    if (!is_data(request) || ++asked < 3 || (expired == 1 && !is_old)) return false;
    connection.answer(400, "", error_xml("ExpiredToken"));
    return true;
  };
  set.server.set_hook(refuse_expired);
  SUBCASE("renewed") {
    set.stage({true, true}, dir.path("out"), with_renewed_keys(set));
    CHECK((staged_content(dir.path("out")) == shards.content));
    CHECK(set.retries > 0);
  }
  SUBCASE("none is good") {
    expired = 1000;
    const Failure failure = failure_of([&] { set.stage({true, true}, dir.path("out"), with_renewed_keys(set)); });
    CHECK(failure == ErrorCode::denied);
    CHECK_FALSE(failure.says("hush"));
    check_only_resumable(dir.path("out"), shards.content);
  }
}

TEST_CASE("a clock that differs from the store's is put right in the middle") {
  const Shards shards;
  RemoteSet set(shards);
  const TempDir dir;
  const Variables variables({{"AWS_ACCESS_KEY_ID", "AKID"}, {"AWS_SECRET_ACCESS_KEY", "hush"}});
  StoreOptions options = set.options();
  options.s3.anonymous = false;
  std::atomic<int> asked = 0;
  set.server.set_hook([&](const ServedRequest& request, ServerConnection& connection) {
    const bool is_ours = request.header("x-amz-date").starts_with("20231114");
    if (!is_ours || !is_data(request) || ++asked < 3) return false;
    connection.answer(403, "Date: Wed, 15 Nov 2023 09:00:00 GMT\r\n", error_xml("RequestTimeTooSkewed"));
    return true;
  });
  set.stage({true, true}, dir.path("out"), options);
  CHECK((staged_content(dir.path("out")) == shards.content));
  CHECK(asked >= 3);
}

TEST_CASE("a store that sends elsewhere for its bytes is followed, and no credentials are") {
  const Shards shards;
  RemoteSet set(shards);
  const FaultServer other([&](const ServedRequest& request, ServerConnection& connection) {
    const auto reply = set.server.reply_to(request);
    connection.answer(reply.status, reply.headers, reply.body);
  });
  set.server.set_hook([&](const ServedRequest& request, ServerConnection& connection) {
    if (!is_data(request)) return false;
    connection.answer(307, fmt::format("Location: {}\r\n", other.url(request.path() + "?ticket=1")), "");
    return true;
  });
  const TempDir dir;
  SUBCASE("a bucket") {
    const Variables variables(
        {{"AWS_ACCESS_KEY_ID", "AKID"}, {"AWS_SECRET_ACCESS_KEY", "hush"}, {"AWS_SESSION_TOKEN", "token-hush"}});
    StoreOptions options = set.options();
    options.s3.anonymous = false;
    set.stage({true, true}, dir.path("out"), options);
  }
  SUBCASE("a web server with a login") {
    const auto source = StoreOpener(set.options()).open(set.server.url_with_login("me:hush", "/bucket/set"));
    Context context;
    stage_whole(*posix_file_system(), *source, wanted(into("")), into(dir.path("out")), context, steps());
  }
  CHECK((staged_content(dir.path("out")) == shards.content));
  CHECK(set.server.requests().back().headers.contains("authorization"));
  CHECK(other.requests().size() >= 3);
  for (const ServedRequest& request : other.requests()) {
    CHECK(request.header("authorization").empty());
    CHECK(request.header("x-amz-security-token").empty());
  }
}

TEST_CASE("a store that asks for patience gets fewer requests at a time, and the repetitions are counted") {
  StoreServer::Files files;
  for (int i = 0; i < 500; ++i) files[fmt::format("bucket/set/{:03}.bin", i)] = noise(100, static_cast<unsigned>(i));
  StoreServer server(files);
  std::atomic<int> asked = 0;
  std::atomic<int> at_once = 0;
  std::atomic<int> most_at_first = 0;
  std::atomic<int> most_at_last = 0;
  server.set_hook([&](const ServedRequest& request, ServerConnection& connection) {
    if (request.method != "GET" || is_listing(request) || request.path().ends_with("manifest.json")) return false;
    const int number = ++asked;
    const int now = ++at_once;
    if (number <= 100) most_at_first = std::max<int>(most_at_first, now);
    if (number > 416) most_at_last = std::max<int>(most_at_last, now);
    while (asked < 9 && !connection.closed()) std::this_thread::yield();  // so that nine meet, on a slow machine too
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
    --at_once;
    if (number > 16) return false;
    connection.answer(503, "", error_xml("SlowDown"));
    return true;
  });
  const TempDir dir;
  StageOptions options = into(dir.path("out"));
  options.sources = {"s3://bucket/set"};
  options.access.endpoint_url = server.url();
  options.access.anonymous = true;
  Context context;
  const StageResult result = stage(options, context);
  CHECK(result.retries == 16);
  CHECK(result.files == 500);
  CHECK(staged_content(dir.path("out")).size() == 500);
  CHECK(most_at_first > 8);
  CHECK(most_at_last <= 8);
}
