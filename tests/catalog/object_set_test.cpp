#include "catalog/object_set.hpp"

#include <filesystem>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "formats/manifest.hpp"
#include "net/store_server.hpp"
#include "support/errors.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::catalog;
using namespace shardkit::formats;
using namespace shardkit::io;
using namespace shardkit::net;
using namespace shardkit_test;

namespace {

using Texts = std::vector<std::string>;

ObjectSet open(const Texts& operands, const StoreOptions& options = {}) { return open_objects(operands, options, {}); }

Texts listing(const ObjectSet& set) {
  Texts names;
  for (const ObjectInfo& object : set.source->list()) names.push_back(object.name);
  return names;
}

/// What the named objects hold, one after the other; "-" for one that is not there.
Texts contents(const ObjectSet& set) {
  Texts found;
  for (const auto& object : find_all(*set.source, set.names, {}, 4)) {
    found.push_back(object ? fetch_text(*set.source, *object, 1000, {}) : "-");
  }
  return found;
}

std::string manifest_of(const Texts& shards) {
  Manifest manifest;
  for (const std::string& name : shards) manifest.shards.push_back({name, 0, 0, {}});
  return write_manifest(manifest);
}

std::string wids_of(const Texts& urls) {
  std::string list;
  for (const std::string& url : urls) {
    list += fmt::format(R"({}{{"url":"{}","nsamples":1}})", list.empty() ? "" : ",", url);
  }
  return fmt::format(R"({{"wids_version":1,"shardlist":[{}]}})", list);
}

/// "data" on this machine, at a web server, in a bucket: operands mean the same everywhere.
struct Stores {
  Stores(std::initializer_list<StoreServer::Files::value_type> files) : server(files) {
    for (const auto& [path, content] : server.files()) write_file(dir.path(path), content);
    roots = {dir.path(), server.url(), "s3:/"};
  }
  TempDir dir;
  StoreServer server;
  Texts roots;
};

}  // namespace

TEST_CASE("a folder is all below it, with its manifest where it has one") {
  const Stores stores{{"data/b/x.bin", "1"}, {"data/a.tar", "22"}, {"plain/y", ""}};
  for (const std::string& root : {stores.dir.path(), std::string("s3:/")}) {
    CAPTURE(root);
    for (const char* spelling : {"/data", "/data/"}) {
      const ObjectSet set = open({root + spelling}, stores.server.options());
      CHECK_FALSE(set.listed);
      CHECK(set.names.empty());
      CHECK(set.manifest.empty());
      CHECK(listing(set) == Texts{"a.tar", "b/x.bin"});
    }
  }
}

TEST_CASE("several folders are listed as one, also one level at a time") {
  TempDir dir;
  for (const char* path : {"one/a.tar", "one/deep/b.bin", "two/c.tar"}) write_file(dir.path(path), "1");
  const ObjectSet set = open({dir.path("one"), dir.path("two")});
  CHECK(listing(set) == Texts{"a.tar", "deep/b.bin", "c.tar"});
  CHECK(set.source->names_in({}) == Texts{"a.tar", "c.tar", "deep/"});
  CHECK(set.source->list("deep").size() == 1);
}

TEST_CASE("a folder's manifest is found, also when it is the manifest that is named") {
  const Stores stores{{"data/a.tar", "1"}, {"data/manifest.json", manifest_of({"a.tar"})}};
  for (const std::string& root : stores.roots) {
    CAPTURE(root);
    for (const char* spelling : {"/data", "/data/", "/data/manifest.json"}) {
      const ObjectSet set = open({root + spelling}, stores.server.options());
      CHECK_FALSE(set.listed);
      CHECK(set.manifest == "manifest.json");
      CHECK(set.source->find("a.tar")->size == 1);
    }
    CHECK(failure_of([&] { open({root + "/none/manifest.json"}, stores.server.options()); }) == ErrorCode::not_found);
  }
}

TEST_CASE("a folder behind HTTP without a manifest cannot be listed, and says what to do") {
  const StoreServer server{{"data/a.tar", "1"}};
  const ObjectSet set = open({server.url("/data")});
  CHECK(set.manifest.empty());
  const Failure failure = failure_of([&] { set.source->list(); });
  CHECK(failure == ErrorCode::unsupported);
  for (const char* remedy : {"manifest.json", "x-{000..146}.tar", "*.txt", "wids"}) CHECK(failure.says(remedy));
}

TEST_CASE("an object is named by its base name, and need not be there yet") {
  const Stores stores{{"data/a.tar", "1"}, {"data/b.idx", "22"}};
  for (const std::string& root : stores.roots) {
    CAPTURE(root);
    for (const auto& [name, content] :
         std::vector<std::pair<std::string, std::string>>{{"a.tar", "1"}, {"b.idx", "22"}}) {
      const ObjectSet set = open({fmt::format("{}/data/{}", root, name)}, stores.server.options());
      CHECK(set.listed);
      CHECK(set.names == Texts{name});
      CHECK(contents(set) == Texts{content});
      CHECK(set.manifest.empty());
    }
  }
  CHECK(contents(open({"s3://data/none.tar"}, stores.server.options())) == Texts{"-"});
  CHECK(failure_of([&] { open({stores.dir.path("none.tar")}); }) == ErrorCode::not_found);
}

TEST_CASE("s3://bucket/x is an object when there is one of that key and nothing below it") {
  const StoreServer server{{"bucket/x", "1"}, {"bucket/both", "1"}, {"bucket/both/y", "2"}, {"bucket/folder/z", "3"}};
  CHECK(open({"s3://bucket/x"}, server.options()).names == Texts{"x"});
  CHECK(listing(open({"s3://bucket/both"}, server.options())) == Texts{"y"});
  CHECK(listing(open({"s3://bucket/folder"}, server.options())) == Texts{"z"});
  CHECK(listing(open({"s3://bucket/x/"}, server.options())).empty());
  CHECK(listing(open({"s3://bucket"}, server.options())).size() == 4);
}

TEST_CASE("who may not ask for an object may still ask for what lies below it") {
  StoreServer server{{"bucket/train/a.tar", "1"}};
  server.refuse("bucket/train", 403);
  CHECK(listing(open({"s3://bucket/train"}, server.options())) == Texts{"a.tar"});
}

TEST_CASE("a prefix of which nothing is there is empty, a bucket that is not there is an error") {
  const StoreServer server{{"bucket/a", "1"}};
  CHECK(listing(open({"s3://bucket/none"}, server.options())).empty());
  const Failure failure = failure_of([&] { listing(open({"s3://nowhere/none"}, server.options())); });
  CHECK(failure == ErrorCode::not_found);
  CHECK(failure.says("NoSuchBucket"));
}

TEST_CASE("the end of a URL decides whether it is a file") {
  const StoreServer server{};
  for (const char* file : {"/a.tar", "/a.tar.gz", "/a.idx", "/a.mp4", "/b/v1.2/x.bin"}) {
    CAPTURE(file);
    CHECK(open({server.url(file)}).listed);
  }
  for (const char* folder : {"", "/", "/data", "/data.tar/", "/v1.0", "/.hidden", "/a.longextension", "/b.x_y"}) {
    CAPTURE(folder);
    CHECK_FALSE(open({server.url(folder)}).listed);
  }
}

TEST_CASE("a pattern names objects in its order, each without a request, or folders where it ends in a slash") {
  const Stores stores{{"data/x-1", "1"}, {"data/x-2", "2"}, {"data/{y}.tar", "3"}, {"more/z", "4"}};
  for (const std::string& root : stores.roots) {
    CAPTURE(root);
    const ObjectSet set = open({root + "/data/x-{2..0}"}, stores.server.options());
    CHECK(set.listed);
    CHECK(set.names == Texts{"x-2", "x-1", "x-0"});
    CHECK(contents(set) == Texts{"2", "1", "-"});
    CHECK(contents(open({root + "/data/{y}.tar"}, stores.server.options())) == Texts{"3"});
    CHECK(failure_of([&] { open({root + "/data/x-{0..9.tar"}, stores.server.options()); }) == ErrorCode::usage);
  }
  CHECK(listing(open({stores.dir.path("{data,more}/")})) == Texts{"x-1", "x-2", "{y}.tar", "z"});
  CHECK(listing(open({"s3://{data,more}/"}, stores.server.options())).size() == 4);
}

TEST_CASE("a list and a wids index name objects from where they lie") {
  const Stores stores{{"data/lists/l.txt", "../b.tar\r\n\n../sub/a.tar\r\n../b.tar\n"},
                      {"data/lists/i.json", wids_of({"../b.tar", "./../sub/a.tar"})},
                      {"data/b.tar", "1"},
                      {"data/sub/a.tar", "2"}};
  for (const std::string& root : stores.roots) {
    CAPTURE(root);
    for (const char* file : {"/data/lists/l.txt", "/data/lists/i.json"}) {
      const ObjectSet set = open({root + file}, stores.server.options());
      CHECK(set.listed);
      CHECK(set.names == Texts{"b.tar", "sub/a.tar"});
      CHECK(contents(set) == Texts{"1", "2"});
    }
    CHECK(failure_of([&] { open({root + "/data/none.txt"}, stores.server.options()); }) == ErrorCode::not_found);
    CHECK(failure_of([&] { open({root + "/data/none.json"}, stores.server.options()); }) == ErrorCode::not_found);
  }
}

TEST_CASE("a list may name what lies elsewhere") {
  const StoreServer server{{"bucket/x/b.tar", "1"}, {"web/c.tar", "2"}};
  const TempDir dir;
  write_file(dir.path("a.tar"), "0");
  write_file(dir.path("l.txt"), fmt::format("a.tar\ns3://bucket/x/b.tar\n{}\n", server.url("/web/c.tar")));
  const ObjectSet set = open({dir.path("l.txt")}, server.options());
  CHECK(set.names == Texts{"a.tar", "b.tar", "c.tar"});
  CHECK(contents(set) == Texts{"0", "1", "2"});
  CHECK(set.source->location() == std::filesystem::canonical(dir.path("a.tar")).string() + " and 2 more");
  CHECK(is_location_of_several(set.source->location()));
  for (const char* one : {"s3://bucket/x", "/data/some more", "/data/one and more", "/data/x and 2 more/train", ""})
    CHECK_FALSE(is_location_of_several(one));
  CHECK(set.source->address_of("b.tar") == "s3://bucket/x/b.tar");
  CHECK(listing(set) == set.names);
  CHECK(set.source->names_in("") == set.names);
}

TEST_CASE("what is none of the forms is refused") {
  const TempDir dir;
  write_file(dir.path("other.json"), R"({"shards":[]})");
  write_file(dir.path("empty.txt"), "\n");
  CHECK(failure_of([] { open({}); }) == ErrorCode::usage);
  CHECK(failure_of([] { open({""}); }) == ErrorCode::usage);
  CHECK(failure_of([&] { open({dir.path("other.json")}); }) == ErrorCode::usage);
  CHECK(failure_of([&] { open({dir.path("empty.txt")}); }) == ErrorCode::not_found);
  CHECK(failure_of([&] { open({"abfs://bucket/x"}); }) == ErrorCode::unsupported);
  CHECK(failure_of([&] { open({"pipe:cat x.tar"}); }) == ErrorCode::unsupported);
}

TEST_CASE("listed shards are held against the manifest beside them, when it has some of them") {
  const Stores stores{{"data/a.tar", "1"},
                      {"data/b.tar", "2"},
                      {"data/c.tar", "3"},
                      {"data/sub/d.tar", "4"},
                      {"data/manifest.json", manifest_of({"a.tar", "b.tar"})}};
  for (const std::string& root : stores.roots) {
    CAPTURE(root);
    const auto manifest = [&](const char* pattern) { return open({root + pattern}, stores.server.options()).manifest; };
    CHECK(manifest("/data/{a,b}.tar") == "manifest.json");
    CHECK(manifest("/data/a.tar") == "manifest.json");
    CHECK(manifest("/data/{a,c}.tar") == "manifest.json");
    CHECK(manifest("/data/c.tar").empty());
    CHECK(manifest("/data/{a,sub/d}.tar").empty());
    CHECK(manifest("/data/sub/d.tar").empty());
  }
}

TEST_CASE("a manifest of another program is none, one that may not be read or is damaged is a problem") {
  StoreServer server{{"other/a.tar", ""},
                     {"other/manifest.json", "{}"},
                     {"closed/a.tar", ""},
                     {"broken/a.tar", ""},
                     {"broken/manifest.json", manifest_of({"a.tar"}).substr(0, 60)}};
  server.refuse("closed/manifest.json", 403);
  CHECK(open({server.url("/other/a.tar")}).manifest.empty());
  for (const std::string& closed : {std::string("s3://closed/a.tar"), server.url("/closed/a.tar")}) {
    const ObjectSet set = open({closed}, server.options());
    CHECK(set.manifest.empty());
    CHECK(set.manifest_problem.find("403") != std::string::npos);
  }
  CHECK(open({server.url("/other/a.tar")}).manifest_problem.empty());
  const ObjectSet broken = open({server.url("/broken/a.tar")});
  CHECK(broken.manifest.empty());
  CHECK_FALSE(broken.manifest_problem.empty());
}
