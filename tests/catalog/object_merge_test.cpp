#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "catalog/object_set.hpp"
#include "net/store_server.hpp"
#include "support/errors.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

// How open_objects() puts together what lies in several places, and how it treats what cannot be.

using namespace shardkit;
using namespace shardkit::catalog;
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

std::string content(const ObjectSet& set, const std::string& name) {
  const auto object = set.source->find(name);
  return object ? fetch_text(*set.source, *object, 1000, {}) : "-";
}

}  // namespace

TEST_CASE("objects of one store have names from their deepest common folder") {
  const StoreServer server{};
  CHECK(open({"s3://b-1/x/1/a.tar", "s3://b-1/x/12/a.tar"}, server.options()).names == Texts{"1/a.tar", "12/a.tar"});
  CHECK(open({"s3://b-1/a.tar", "s3://b-1/x/b.tar"}, server.options()).names == Texts{"a.tar", "x/b.tar"});
  CHECK(open({server.url("/x/1/a%20b.tar"), server.url("/x/2/a.tar")}).names == Texts{"1/a b.tar", "2/a.tar"});
}

TEST_CASE("objects of several stores, or with '/' alone in common, have their base names") {
  const StoreServer server{};
  const TempDir dir;
  write_file(dir.path("b.tar"), "1");
  CHECK(open({"s3://b-1/x/a.tar", dir.path("b.tar")}, server.options()).names == Texts{"a.tar", "b.tar"});
  CHECK(open({"s3://b-1/x/a.tar", "s3://b-2/x/b.tar"}, server.options()).names == Texts{"a.tar", "b.tar"});
  CHECK(open({"/proc/version", dir.path("b.tar")}).names == Texts{"version", "b.tar"});
}

TEST_CASE("a URL is asked for in its own spelling, together with others too") {
  const StoreServer server{{"k=v/a b.tar", "1"}, {"k=v/c,d.tar", "2"}, {"bucket/e.tar", "3"}};
  const Texts operands{server.url("/k=v/a%20b.tar"), server.url("/k=v/c,d.tar"), "s3://bucket/e.tar"};
  const ObjectSet set = open(operands, server.options());
  CHECK(set.names == Texts{"a b.tar", "c,d.tar", "e.tar"});
  CHECK(content(set, "a b.tar") == "1");
  CHECK(server.requests().back().target == "/k=v/a%20b.tar");
  CHECK(content(set, "c,d.tar") == "2");
  CHECK(server.requests().back().target == "/k=v/c,d.tar");
  CHECK(content(set, "e.tar") == "3");
}

TEST_CASE("what is named twice, in any spelling, is taken once") {
  const StoreServer server{{"bucket/a.tar", "1"}};
  const TempDir dir;
  write_file(dir.path("a.tar"), "1");
  CHECK(open({dir.path("a.tar"), dir.path("./a.tar"), dir.path() + "//{a,a}.tar"}).names == Texts{"a.tar"});
  CHECK(open({"s3://bucket/a.tar", "s3://bucket/{a,b}.tar"}, server.options()).names == Texts{"a.tar", "b.tar"});
  const ObjectSet set = open({dir.path(), dir.path("a.tar"), dir.path() + "/"});
  CHECK_FALSE(set.listed);
  CHECK(set.source->location() == std::filesystem::canonical(dir.path()));
}

TEST_CASE("folders and objects are merged, and are found and read under their names") {
  const StoreServer server{{"bucket/x/s.tar", "s3"}, {"web/w.tar", "web"}};
  const TempDir dir;
  write_file(dir.path("one/a/l.tar"), "local");
  const ObjectSet set = open({dir.path("one"), "s3://bucket/x", server.url("/web/w.tar")}, server.options());
  CHECK_FALSE(set.listed);
  CHECK(set.manifest.empty());
  SUBCASE("before they are listed") {}
  SUBCASE("after they are listed") { CHECK(listing(set) == Texts{"a/l.tar", "s.tar", "w.tar"}); }
  CHECK(content(set, "a/l.tar") == "local");
  CHECK(content(set, "s.tar") == "s3");
  CHECK(content(set, "w.tar") == "web");
  CHECK(content(set, "none") == "-");
  CHECK(set.source->names_in("") == Texts{"a/", "s.tar", "w.tar"});
  CHECK(set.source->names_in("a") == Texts{"a/l.tar"});
  CHECK(set.source->address_of("s.tar") == "s3://bucket/x/s.tar");
}

TEST_CASE("two objects of one name are refused by both addresses") {
  const StoreServer server{{"bucket/one/a.tar", "1"}, {"bucket/two/a.tar", "2"}, {"other/a.tar", "3"}};
  const Failure listed = failure_of([&] { open({"s3://bucket/one/a.tar", "s3://other/a.tar"}, server.options()); });
  CHECK(listed == ErrorCode::usage);
  CHECK(listed.says("'s3://bucket/one/a.tar' and 's3://other/a.tar'"));
  const Failure folders = failure_of([&] { listing(open({"s3://bucket/one", "s3://bucket/two"}, server.options())); });
  CHECK(folders == ErrorCode::usage);
  CHECK(folders.says("'s3://bucket/one/a.tar' and 's3://bucket/two/a.tar'"));
  const Failure both = failure_of([&] { listing(open({"s3://bucket/one", "s3://other/a.tar"}, server.options())); });
  CHECK(both.says("'s3://other/a.tar' and 's3://bucket/one/a.tar'"));
}

TEST_CASE("a merged listing says which single object is not there") {
  const StoreServer server{{"bucket/one/b.tar", "1"}};
  const ObjectSet set = open({"s3://bucket/one", "s3://bucket/a.tar"}, server.options());
  const Failure failure = failure_of([&] { set.source->list(); });
  CHECK(failure == ErrorCode::not_found);
  CHECK(failure.says("s3://bucket/a.tar"));
}

TEST_CASE("a folder behind HTTP cannot be one of several") {
  const StoreServer server{{"web/manifest.json", "{}"}};
  const TempDir dir;
  const Failure failure = failure_of([&] { open({dir.path(), server.url("/web")}); });
  CHECK(failure == ErrorCode::unsupported);
  CHECK(failure.says("use it on its own"));
}

TEST_CASE("names that cannot be files are refused when objects are listed one by one") {
  const StoreServer server{};
  const auto refused = [&](const Texts& operands) { return failure_of([&] { open(operands, server.options()); }); };
  CHECK(refused({"s3://bucket/x/{a,b//c}.tar"}) == ErrorCode::unsupported);
  CHECK(refused({"s3://bucket/{a,a/b}"}).says("'a' (other names use it as their folder)"));
  CHECK(refused({server.url("/%2e%2e/x.tar"), server.url("/y.tar")}) == ErrorCode::unsupported);
  CHECK(refused({server.url("/a%00b.tar")}).says("NUL"));
}

TEST_CASE("presigned URLs are asked for as they are, and named without their query") {
  const StoreServer server{{"x/a=1.tar", "1"}, {"x/b.tar", "2"}};
  const ObjectSet one = open({server.url("/x/a=1.tar?X-Sig=s%2F1&y")});
  CHECK(one.names == Texts{"a=1.tar"});
  CHECK(content(one, "a=1.tar") == "1");
  CHECK(server.requests().back().target == "/x/a=1.tar?X-Sig=s%2F1&y");
  const ObjectSet two = open({server.url("/x/a=1.tar?s=1"), server.url("/x/b.tar?s=2")});
  CHECK(two.names == Texts{"a=1.tar", "b.tar"});
  CHECK(content(two, "a=1.tar") == "1");
  CHECK(content(two, "b.tar") == "2");
  CHECK(server.requests().back().target == "/x/b.tar?s=2");
}

TEST_CASE("a folder and a list behind HTTP lend their query to what they hold") {
  const StoreServer server{{"x/l.txt", "a.tar\n"}, {"x/a.tar", "1"}};
  CHECK(content(open({server.url("/x/l.txt?sas=1")}), "a.tar") == "1");
  CHECK(server.requests().back().target == "/x/a.tar?sas=1");
  CHECK(content(open({server.url("/x?sas=1")}), "a.tar") == "1");
  CHECK(server.requests().back().target == "/x/a.tar?sas=1");
}

TEST_CASE("no name, address or error shows a login or a query") {
  StoreServer server{{"x/l.txt", "a.tar\n"}, {"x/a.tar", "1"}, {"x/b.json", "{}"}};
  server.refuse("closed", 403);
  server.refuse("closed/manifest.json", 403);
  const auto secret = [&](const std::string& target) {
    return server.url_with_login("me:hidden", target + "?s=hidden");
  };
  const auto shows_secret = [](const std::string& text) { return text.find("hidden") != std::string::npos; };
  for (const Texts& operands : {Texts{secret("/x/a.tar")}, Texts{secret("/x/l.txt")}, Texts{secret("/x")},
                                Texts{secret("/x/{a,b}.tar"), server.url("/x/c.tar")}}) {
    const ObjectSet set = open(operands);
    CHECK_FALSE(shows_secret(set.source->location()));
    CHECK_FALSE(shows_secret(set.source->address_of("a.tar")));
    for (const std::string& name : set.names) CHECK_FALSE(shows_secret(name));
    if (set.listed) continue;
    const Failure failure = failure_of([&] { set.source->list(); });
    CHECK(failure.failed);
    CHECK_FALSE(shows_secret(failure.text + failure.path));
  }
  for (const std::string& operand :
       {secret("/x/none.txt"), secret("/x/b.json"), secret("/closed"), secret("/x/{0..1.tar"),
        secret("/x/manifest.json"), std::string("http://me:hidden@/x?s=hidden"),
        std::string("http://me:hidden@{a..b.org/x.tar")}) {
    const Failure failure = failure_of([&] { open({operand}); });
    CAPTURE(failure.text);
    CHECK(failure.failed);
    CHECK_FALSE(shows_secret(failure.text + failure.path));
  }
}

TEST_CASE("a pipe is refused, not waited for") {
  const TempDir dir;
  ::mkfifo(dir.path("p.tar").c_str(), 0600);
  CHECK(failure_of([&] { open({dir.path("p.tar")}); }) == ErrorCode::usage);
  const ObjectSet set = open({dir.path()});
  CHECK(failure_of([&] { set.source->find("p.tar"); }) == ErrorCode::unsupported);
}
