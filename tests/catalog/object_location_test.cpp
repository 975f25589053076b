#include "catalog/object_location.hpp"

#include <filesystem>

#include <doctest/doctest.h>

#include "support/errors.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::catalog;
using namespace shardkit_test;

namespace {

std::string in_list(const std::string& list, const std::string& entry) {
  return location_in_list(parse_location(list), entry).display();
}

}  // namespace

TEST_CASE("places say their store, their folder and their address, which shows no secret") {
  const ObjectLocation object = parse_location("s3://bucket/a//b.tar");
  CHECK(object.store() == "s3://bucket");
  CHECK(object.folder().display() == "s3://bucket/a//");
  const ObjectLocation web = parse_location("HTTPS://me:pw@Host:8443/a%20b/c d.tar?sig=secret");
  CHECK(web.store() == "https://host:8443");
  CHECK(web.path == "a%20b/c%20d.tar");
  CHECK(web.display() == "https://host:8443/a%20b/c%20d.tar?...");
  CHECK(web.full_url().query == "sig=secret");
  CHECK(web.full_url().user == "me");
  CHECK(decoded(web, web.path) == "a b/c d.tar");
  CHECK(parse_location("/a/./b//c").display() == "/a/b/c");
  CHECK(parse_location("x").display() == std::filesystem::current_path() / "x");
}

TEST_CASE("logins and queries tell apart what opens a store, not the store") {
  const ObjectLocation one = parse_location("http://me:pw@host/a?x=1");
  const ObjectLocation other = parse_location("http://host:80/b?x=2");
  CHECK(one.store() == other.store());
  CHECK(one.access() != other.access());
}

TEST_CASE("a path through a link and back is the one that opening it leads to") {
  const TempDir dir;
  write_file(dir.path("far/folder/x"), "");
  write_file(dir.path("far/y"), "");
  std::filesystem::create_directory_symlink(dir.path("far/folder"), dir.path("link"));
  CHECK(parse_location(dir.path("link/../y")).display() == std::filesystem::canonical(dir.path("far/y")));
}

TEST_CASE("entries of a list are seen from its folder") {
  CHECK(in_list("/data/list.txt", "sub/a.tar") == "/data/sub/a.tar");
  CHECK(in_list("/data/list.txt", "/b.tar") == "/b.tar");
  CHECK(in_list("s3://bucket/train/list.txt", "a b+c?.tar") == "s3://bucket/train/a b+c?.tar");
  CHECK(in_list("s3://bucket/train/list.txt", "./../val/./a.tar") == "s3://bucket/val/a.tar");
  CHECK(in_list("http://h/train/list.txt", "a b%20c.tar") == "http://h/train/a%20b%20c.tar");
  CHECK(in_list("http://h/train/list.txt", "../val/a.tar") == "http://h/val/a.tar");
  CHECK(in_list("http://h/train/list.txt", "/a.tar") == "http://h/a.tar");
  CHECK(in_list("http://h/train/list.txt", "s3://bucket/a.tar") == "s3://bucket/a.tar");
  CHECK(in_list("/data/list.txt", "http://h/a.tar") == "http://h/a.tar");
}

TEST_CASE("a list behind HTTP lends its login and query to relative entries alone") {
  const ObjectLocation list = parse_location("http://me:pw@h/train/list.txt?sas=1");
  CHECK(location_in_list(list, "a.tar").full_url().password == "pw");
  CHECK(location_in_list(list, "a.tar").url.query == "sas=1");
  CHECK(location_in_list(list, "a.tar?own=2").url.query == "own=2");
  CHECK(location_in_list(list, "http://h/a.tar").url.query.empty());
  CHECK(location_in_list(list, "http://h/a.tar").url.user.empty());
}

TEST_CASE("a list in a store leads neither out of it nor to local files") {
  CHECK(failure_of([] { in_list("s3://bucket/train/list.txt", "../../a.tar"); }) == ErrorCode::usage);
  CHECK(failure_of([] { in_list("http://h/list.txt", "../a.tar"); }) == ErrorCode::usage);
  CHECK(failure_of([] { in_list("s3://bucket/list.txt", "/data/a.tar"); }) == ErrorCode::usage);
  CHECK(failure_of([] { in_list("http://h/list.txt", "file:///etc/passwd"); }) == ErrorCode::unsupported);
}

TEST_CASE("other kinds of address are refused by their kind alone") {
  const Failure failure = failure_of([] { parse_location("ftp://me:pw@host/x?sig=1"); });
  CHECK(failure == ErrorCode::unsupported);
  CHECK(failure.says("'ftp:'"));
  CHECK_FALSE(failure.says("pw"));
  CHECK(failure_of([] { parse_location("pipe:cat secret"); }) == ErrorCode::unsupported);
  CHECK(failure_of([] { parse_location("http://"); }) == ErrorCode::usage);
  const Failure keys = failure_of([] { parse_location("s3://KEY:SECRET@bucket/x"); });
  CHECK(keys == ErrorCode::usage);
  CHECK_FALSE(keys.says("SECRET"));
}

TEST_CASE("a name that encoding does not preserve is requested by its exact URL") {
  CHECK(encodes_again(parse_location("http://h/a%20b.tar"), "a%20b.tar"));
  CHECK_FALSE(encodes_again(parse_location("http://h/a%2Fb.tar"), "a%2Fb.tar"));
  CHECK_FALSE(encodes_again(parse_location("http://h/a=b.tar"), "a=b.tar"));
  CHECK(encodes_again(parse_location("s3://bucket/a%2F=b"), "a%2F=b"));
}
