#include <filesystem>
#include <functional>

#include <doctest/doctest.h>

#include "dataset/cat/cat.hpp"
#include "dataset/extract/extract.hpp"
#include "dataset/index/index.hpp"
#include "dataset/ls/ls.hpp"
#include "dataset/reshard/reshard.hpp"
#include "dataset/stat/stat.hpp"
#include "dataset/verify/verify.hpp"
#include "dataset/verify/verify_support.hpp"
#include "net/store_server.hpp"
#include "support/errors.hpp"
#include "support/image_tree.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::test;
using namespace shardkit_test;

namespace fs = std::filesystem;

namespace {

catalog::StoreAccess access_to(const std::string& endpoint) {
  catalog::StoreAccess access;
  access.endpoint_url = endpoint;
  access.anonymous = true;
  return access;
}

using Texts = std::vector<std::string>;

/// The files below a folder, by path below `prefix`.
StoreServer::Files files_of(const std::string& folder, const std::string& prefix) {
  StoreServer::Files files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    files[prefix + fs::relative(entry.path(), folder).string()] = read_file(entry.path());
  }
  return files;
}

/// Two shards of samples with an index and a manifest, on this machine, in a bucket and at a web server.
struct Shards {
  Shards() {
    folder.write("a.tar", good_samples(3, "a"));
    folder.write("b.tar", good_samples(2, "b"));
    index_folder(folder);
    server.emplace(files_of(folder.path(), "bucket/set/"));
  }
  catalog::StoreAccess access() const { return access_to(server->url()); }
  /// Spellings of the whole set that mean the same.
  Texts remote() const {
    return {
        "s3://bucket/set",           "s3://bucket/set/{a,b}.tar",          "s3://bucket/set/*.tar",
        server->url("/bucket/set/"), server->url("/bucket/set/{a,b}.tar"), server->url("/bucket/set/manifest.json")};
  }
  std::uint64_t requests_for(std::string_view path) const {
    const auto requests = server->requests();
    return static_cast<std::uint64_t>(
        std::ranges::count_if(requests, [&](const ServedRequest& request) { return request.path() == path; }));
  }

  ShardFolder folder;
  std::optional<StoreServer> server;
};

std::string cat_text(const CatOptions& options) {
  StringSink sink;
  Context context;
  context.lend_output(sink, false);
  cat(options, context);
  return sink.text();
}

VerifyResult verify_url(const Shards& shards, const std::string& url) {
  return verify_path(url, {.shards = {}, .depth = VerifyDepth::checksum, .access = shards.access()});
}

Texts rows(const LsOptions& options) {
  Texts found;
  Context context;
  ls(options, context,
     [&](const LsRow& row) { found.push_back(fmt::format("{} {} {}", row.shard, row.name, row.offset)); });
  return found;
}

}  // namespace

TEST_CASE("ls, stat and verify of a URL give what they give of the folder") {
  const Shards shards;
  const Texts local = rows({.shards = {shards.folder.path()}});
  for (const std::string& url : shards.remote()) {
    CAPTURE(url);
    CHECK(rows({.shards = {url}, .access = shards.access()}) == local);
    Context context;
    const StatResult result = stat({.shards = {url}, .access = shards.access()}, context);
    CHECK(result.samples == 5);
    CHECK(result.shards_by_index == 2);
    const VerifyResult verified = verify_url(shards, url);
    CHECK(verified.depth == VerifyDepth::checksum);
    CHECK(codes(verified).empty());
    CHECK(verified.samples == 5);
  }
}

TEST_CASE("hidden tars of a bucket are not shards, and a shard named twice by URL is read once") {
  Shards shards;
  const Texts local = rows({.shards = {shards.folder.path()}});
  for (const char* hidden : {"._a.tar", ".tmp.tar", ".b.tar.gz"})
    shards.server->replace(std::string("bucket/set/") + hidden, shards.folder.read("a.tar"));
  CHECK(rows({.shards = {"s3://bucket/set"}, .access = shards.access()}) == local);
  const std::string bucket = "s3://bucket/set/", web = shards.server->url("/bucket/set/");
  for (const Texts& twice :
       {Texts{bucket + "a.tar", bucket + "b.tar", bucket + "a.tar"}, Texts{bucket + "{a,b}.tar", bucket + "b.tar"},
        Texts{bucket + "a.tar", bucket}, Texts{web + "a.tar", web + "{a,b}.tar"}, Texts{web, web + "b.tar"}}) {
    CAPTURE(twice.back());
    CHECK(rows({.shards = twice, .access = shards.access()}) == local);
  }
}

TEST_CASE("verify that is interrupted gives what it found so far and never calls it sound") {
  Shards shards;
  std::stop_source stop;
  shards.server->set_hook([&](const ServedRequest& request, ServerConnection&) {
    if (request.method == "GET" && request.path() == "/bucket/set/b.tar") stop.request_stop();
    return false;
  });
  Context context(stop.get_token());
  VerifyOptions options{.shards = {"s3://bucket/set"}, .threads = 1, .access = shards.access()};
  const VerifyResult whole = verify(options, context);
  CHECK(whole.interrupted);
  CHECK(whole.verdict == "interrupted after 1 of 2 shards: no finding so far");
  CHECK(whole.shards == 1);
  CHECK(whole.samples == 3);
  CHECK(whole.remedies.empty());

  std::string damaged = shards.folder.read("a.tar");
  damaged[600] = static_cast<char>(damaged[600] ^ 1);
  shards.server->replace("bucket/set/a.tar", damaged);
  std::stop_source again;
  stop = again;
  Context second(again.get_token());
  CHECK(verify(options, second).verdict == "interrupted after 1 of 2 shards: 1 error so far");
}

TEST_CASE("a set at a URL without indexes is read by headers") {
  Shards shards;
  const Texts local = rows({.shards = {shards.folder.path()}});
  StoreServer bare{{"bucket/a.tar", shards.folder.read("a.tar")}, {"bucket/b.tar", shards.folder.read("b.tar")}};
  const catalog::StoreAccess access = access_to(bare.url());
  CHECK(rows({.shards = {"s3://bucket"}, .access = access}) == local);
  CHECK(rows({.shards = {bare.url("/bucket/{a,b}.tar?sig=hidden")}, .access = access}) == local);
  const Failure failure = failure_of([&] { rows({.shards = {bare.url("/bucket")}}); });
  CHECK(failure == ErrorCode::unsupported);
  CHECK(failure.says("HTTP has no listing"));
}

TEST_CASE("what a listing says is not asked again") {
  const Shards shards;
  verify_url(shards, "s3://bucket/set");
  for (const ServedRequest& request : shards.server->requests()) {
    CHECK((request.method != "HEAD" || request.path() == "/bucket/set"));  // is it an object?
  }
  CHECK(shards.requests_for("/bucket/set/a.tar") == 1);
}

TEST_CASE("cat of an indexed shard at a URL reads the member's range and no more of the shard") {
  const Shards shards;
  for (const std::string& url : {std::string("s3://bucket/set"), shards.server->url("/bucket/set/{a,b}.tar")}) {
    CAPTURE(url);
    const std::size_t before = shards.server->requests().size();
    CHECK(cat_text({.shards = {url}, .name = "b1.jpg", .access = shards.access()}) == fake_jpeg("image 1"));
    Texts ranges;
    const auto requests = shards.server->requests();
    for (std::size_t i = before; i < requests.size(); ++i) {
      const bool is_look = requests[i].method == "HEAD" || requests[i].header("range") == "bytes=0-0";
      if (requests[i].path().ends_with(".tar") && !is_look) ranges.push_back(requests[i].header("range"));
    }
    REQUIRE(ranges.size() == 1);
    CHECK(ranges[0].find("bytes=") == 0);
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    REQUIRE(std::sscanf(ranges[0].c_str(), "bytes=%lu-%lu", &first, &last) == 2);
    CHECK(last - first + 1 == fake_jpeg("image 1").size());
  }
}

TEST_CASE("a damaged or missing shard at a URL is a finding that names it") {
  Shards shards;
  std::string damaged = shards.folder.read("a.tar");
  damaged[513] = static_cast<char>(damaged[513] ^ 1);
  shards.server->replace("bucket/set/a.tar", damaged);
  const VerifyResult result = verify_url(shards, "s3://bucket/set");
  CHECK(result.has_findings());
  CHECK(problem(result, "sample_checksum").where.path == "a.tar");
  shards.server->erase("bucket/set/b.tar");
  for (const std::string& url : {std::string("s3://bucket/set"), shards.server->url("/bucket/set")}) {
    CHECK(problem(verify_url(shards, url), "missing_shard").where.path == "b.tar");
  }
}

TEST_CASE("a wrong URL says which, and shows no secret") {
  const Shards shards;
  const auto failure = [&](const std::string& url) {
    return failure_of([&] { rows({.shards = {url}, .access = shards.access()}); });
  };
  CHECK(failure("s3://nowhere/set") == ErrorCode::not_found);
  CHECK(failure("s3://nowhere/set").says("s3://nowhere"));
  CHECK(failure("s3://bucket/none/") == ErrorCode::not_found);
  CHECK(failure("s3://bucket/set/{a,z}.tar").says("s3://bucket/set/z.tar"));
  CHECK(failure("abfs://bucket/set") == ErrorCode::unsupported);
  const Failure hidden = failure(shards.server->url_with_login("me:hidden", "/bucket/none.tar?sig=hidden"));
  CHECK(hidden == ErrorCode::not_found);
  CHECK(hidden.says("/bucket/none.tar?..."));
  CHECK_FALSE(hidden.says("hidden"));
  CHECK(failure(shards.server->url("/bucket/set/photo.jpg")) == ErrorCode::usage);
}

TEST_CASE("a shard that changes while it is read is refused, not mixed") {
  Shards shards;
  shards.server->set_hook([&](const ServedRequest& request, ServerConnection& connection) {
    if (!request.path().ends_with("a.tar") || request.header("if-match").empty()) return false;
    connection.answer_head(412, "ETag: \"v2\"\r\n", 0);
    return true;
  });
  const VerifyResult result = verify_url(shards, "s3://bucket/set");
  CHECK(problem(result, "unreadable").text.find("s3://bucket/set/a.tar' has changed") != std::string::npos);
  const Failure failure =
      failure_of([&] { cat_text({.shards = {"s3://bucket/set"}, .name = "a1.jpg", .access = shards.access()}); });
  CHECK(failure == ErrorCode::io);
  CHECK(failure.says("has changed"));
}

TEST_CASE("a body that is cut off is asked for again from where it ended") {
  Shards shards;
  std::atomic<int> cuts{0};
  shards.server->set_hook([&](const ServedRequest& request, ServerConnection& connection) {
    if (!request.path().ends_with("a.tar") || request.method == "HEAD" || cuts++ > 0) return false;
    const auto reply = shards.server->reply_to(request);
    connection.answer_head(reply.status, reply.headers, reply.body.size());
    connection.send(std::string_view(reply.body).substr(0, 700));
    connection.reset();
    return true;
  });
  CHECK(codes(verify_url(shards, "s3://bucket/set")).empty());
  CHECK(cuts > 1);
}

TEST_CASE("a web server without ranges is read whole") {
  Shards shards;
  shards.server->set_hook([&](const ServedRequest& request, ServerConnection& connection) {
    ServedRequest whole = request;
    whole.headers.erase("range");
    const auto reply = shards.server->reply_to(whole);
    connection.answer(reply.status, reply.headers, reply.body);
    return true;
  });
  const std::string url = shards.server->url("/bucket/set/{a,b}.tar");
  CHECK(codes(verify_url(shards, url)).empty());
  CHECK(rows({.shards = {url}}) == rows({.shards = {shards.folder.path()}}));
  CHECK(cat_text({.shards = {url}, .name = "b1.jpg"}) == fake_jpeg("image 1"));
}

TEST_CASE("index writes for shards at a URL to --output, the same bytes as beside them") {
  Shards shards;
  TempDir out;
  Context context;
  const std::string url = "s3://bucket/set/{a,b}.tar";
  const std::string web = shards.server->url("/bucket/set/{a,b}.tar");
  CHECK(failure_of([&] { index({.shards = {web}}, context); }).says("--output DIR"));
  IndexOptions options{
      .shards = {url}, .index = {"dali", "wids", "energon"}, .output = out.path(), .access = shards.access()};
  CHECK(index(options, context).samples == 5);
  index({.shards = {shards.folder.path()}, .index = options.index}, context);
  CHECK(read_file(out.path("manifest.json")) == shards.folder.read("manifest.json"));
  CHECK(read_file(out.path(".shardkit/a.tar.index")) == shards.folder.read(".shardkit/a.tar.index"));
  CHECK(fs::exists(out.path("shardindex.json")));
}

TEST_CASE("extract and reshard of a URL write what they write of the folder") {
  Shards shards;
  TempDir out;
  Context context;
  extract({.shards = {shards.folder.path()}, .target = out.path("x-local")}, context);
  ReshardOptions local{};
  local.inputs = {shards.folder.path()};
  local.target = out.path("r-local");
  reshard(local, context);
  int number = 0;
  for (const std::string& url : shards.remote()) {
    CAPTURE(url);
    const std::string to = out.path(fmt::format("{}", ++number));
    extract({.shards = {url}, .target = to + "x", .access = shards.access()}, context);
    CHECK(files_of(to + "x", "") == files_of(out.path("x-local"), ""));
    ReshardOptions options{};
    options.inputs = {url};
    options.target = to + "r";
    options.access = shards.access();
    reshard(options, context);
    CHECK(read_file(to + "r/shard-000000.tar") == read_file(out.path("r-local/shard-000000.tar")));
  }
}
