#include "catalog/operands.hpp"

#include <filesystem>

#include <doctest/doctest.h>

#include "net/store_server.hpp"
#include "support/errors.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::catalog;
using namespace shardkit::net;
using namespace shardkit_test;

using Texts = std::vector<std::string>;

namespace {

/// The last parts of what operands name.
Texts names(const Texts& operands, const StoreOptions& options = {}, Lists lists = Lists::by_name) {
  Inputs inputs(options);
  Texts names;
  for (const NamedInput& named : resolve_operands(operands, inputs, lists)) {
    names.push_back(named.path.substr(named.path.rfind('/') + 1));
  }
  return names;
}

}  // namespace

TEST_CASE("a list names one shard a line, with either line end, a byte order mark and blank lines left out") {
  const TempDir dir;
  const auto listed = [&](const char* name, const std::string& text) {
    write_file(dir.path(name), text);
    return names({dir.path(name)});
  };
  CHECK(listed("l.txt", "a.tar\r\n\n b #.tar\ns3://box/c.tar") == Texts{"a.tar", " b #.tar", "c.tar"});
  CHECK(listed("mark.txt",
               "\xEF\xBB\xBF"
               "a.tar\n") == Texts{"a.tar"});
  CHECK(failure_of([&] { listed("none.txt", "\n\r\n"); }) == ErrorCode::not_found);
  CHECK(failure_of([&] { listed("data.txt", std::string("a.tar\0\0", 7)); }) == ErrorCode::usage);
}

TEST_CASE("a wids index names shards by URL") {
  const TempDir dir;
  const auto indexed = [&](const std::string& text) {
    write_file(dir.path("i.json"), text);
    return names({dir.path("i.json")});
  };
  CHECK(indexed(R"({"wids_version":1,"shardlist":[{"url":"b.tar","nsamples":1},{"url":"a.tar","nsamples":2}]})") ==
        Texts{"b.tar", "a.tar"});
  CHECK(failure_of([&] { indexed(R"({"shards":[]})"); }) == ErrorCode::usage);
  CHECK(failure_of([&] { indexed("["); }) == ErrorCode::usage);
  CHECK(failure_of([&] { indexed(R"({"wids_version":1,"shardlist":[]})"); }) == ErrorCode::not_found);
  CHECK(failure_of([&] { indexed(R"({"wids_version":1,"shardlist":[{}]})"); }) == ErrorCode::corrupt);
}

TEST_CASE("wildcards and braces in one pattern both count, here and in a bucket") {
  const StoreServer server{{"data/a-1.tar", ""}, {"data/a-2.tar", ""}, {"data/b-1.tar", ""}, {"data/x.txt", ""}};
  const TempDir dir;
  for (const auto& [path, content] : server.files()) write_file(dir.path(path), content);
  std::filesystem::create_directories(dir.path("data/a-3.tar"));  // a folder
  for (const std::string& root : {dir.path(), std::string("s3:/")}) {
    const auto found = [&](const char* pattern) { return names({root + pattern}, server.options()); };
    CHECK(found("/data/*.tar") == Texts{"a-1.tar", "a-2.tar", "b-1.tar"});
    CHECK(found("/data/{b,a}-*.tar") == Texts{"b-1.tar", "a-1.tar", "a-2.tar"});
    CHECK(found("/data/{b,a}-[1].tar") == Texts{"b-1.tar", "a-1.tar"});
    for (const char* pattern : {"/data/c*.tar", "/data/{a,c}-*.tar"}) {
      CHECK(failure_of([&] { found(pattern); }) == ErrorCode::not_found);
      CHECK(failure_of([&] { found(pattern); }).says("nothing matches"));
    }
  }
}

TEST_CASE("a name that is there means itself, whatever characters it has") {
  const StoreServer server{{"data/a[1].tar", ""}, {"data/a1.tar", ""}, {"data/q?x", ""},    {"data/qax", ""},
                           {"data/set*r/x", ""},  {"data/set-r", ""},  {"data/{b}.tar", ""}};
  const TempDir dir;
  for (const auto& [path, content] : server.files()) write_file(dir.path(path), content);
  for (const std::string& root : {dir.path("data/"), std::string("s3://data/")}) {
    const auto found = [&](const char* name) { return names({root + name}, server.options()); };
    CHECK(found("a[1].tar") == Texts{"a[1].tar"});
    CHECK(found("a[12].tar") == Texts{"a1.tar"});
    CHECK(found("{a[1],a1}.tar") == Texts{"a[1].tar", "a1.tar"});
    CHECK(found("q?x") == Texts{"q?x"});
    CHECK(found("set*r").size() == 1);
    CHECK(found("set*r") != Texts{"set-r"});
  }
  CHECK(names({dir.path("data/{b}.tar")}) == Texts{"{b}.tar"});
}

TEST_CASE("wildcards of a web address are refused with what HTTP can do; its query is none") {
  for (const char* url : {"http://h/x-[01].tar", "https://u:secret@h/*.tar?sig=hidden", "http://h/x-{0,1}*.tar"}) {
    const auto failure = failure_of([&] { names({url}); });
    CHECK(failure == ErrorCode::usage);
    CHECK(failure.says("HTTP has no listing"));
    CHECK_FALSE(failure.says("secret"));
    CHECK_FALSE(failure.says("hidden"));
  }
  CHECK(names({"http://h/x.tar?a=[1]*"}) == Texts{"x.tar?..."});
  CHECK(names({"http://[::1]/x.tar"}) == Texts{"x.tar"});
}

TEST_CASE("pipes and devices are refused before anybody waits for them") {
  CHECK(failure_of([] { names({"/dev/null"}); }) == ErrorCode::usage);
  CHECK(failure_of([] { names({"/dev/null"}, {}, Lists::by_content); }) == ErrorCode::usage);
}

TEST_CASE("by content a .txt or .json is a list only when it names files") {
  const TempDir dir;
  write_file(dir.path("c/a.jpg"), "");
  write_file(dir.path("c/b"), "");
  const auto found = [&](const char* text) {
    write_file(dir.path("l.txt"), text);
    return names({dir.path("l.txt")}, {}, Lists::by_content);
  };
  for (const char* list : {"gone.jpg\n", "gone.tar\n", "c/b\n", "\r\n\nc/\n", "s3://bucket/x\n",
                           "\xEF\xBB\xBF"
                           "c/b\n"}) {
    CHECK(found(list) != Texts{"l.txt"});
  }
  for (const char* data : {"", "\n", "a cat on a mat\n", "c\n", "c/a.jpg 0\n"}) CHECK(found(data) == Texts{"l.txt"});
  write_file(dir.path("m/manifest.json"), "{}");
  write_file(dir.path("labels.json"), R"({"cat":1})");
  CHECK(names({dir.path("m/manifest.json")}, {}, Lists::by_content) == Texts{"manifest.json"});
  CHECK(names({dir.path("labels.json")}, {}, Lists::by_content) == Texts{"labels.json"});
}
