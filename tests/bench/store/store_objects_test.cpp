#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "bench/bench_data.hpp"
#include "bench/input/input_files.hpp"
#include "formats/manifest.hpp"
#include "net/store_server.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::catalog;
using namespace shardkit::formats;
using namespace shardkit::test;
using namespace shardkit_test;

namespace {

/// Names and sizes.
std::vector<std::pair<std::string, std::uint64_t>> found(const StoreServer& server, const std::string& operand) {
  Context context;
  std::vector<std::pair<std::string, std::uint64_t>> objects;
  for (const InputFile& file : find_objects({operand}, context, std::make_shared<Inputs>(server.options())).files) {
    objects.emplace_back(file_name(file.path), file.bytes);
  }
  return objects;
}

using Found = std::vector<std::pair<std::string, std::uint64_t>>;

}  // namespace

TEST_CASE("of a prefix the shards at any depth are taken, what lies beside them is no data") {
  const StoreServer server{{"bucket/x/a.tar", "aaa"},
                           {"bucket/x/a.idx", "i"},
                           {"bucket/x/deep/b.tar", "bb"},
                           {"bucket/x/.shardkit/a.tar.index", "i"}};
  CHECK(found(server, "s3://bucket/x") == Found{{"a.tar", 3}, {"b.tar", 2}});
}

TEST_CASE("of a prefix without shards all files are taken but hidden ones") {
  const StoreServer server{
      {"bucket/x/1.bin", "aaa"}, {"bucket/x/y/2.bin", "i"}, {"bucket/x/.hidden", "bb"}, {"bucket/x/.git/config", "i"}};
  CHECK(found(server, "s3://bucket/x") == Found{{"1.bin", 3}, {"2.bin", 1}});
}

TEST_CASE("named objects are taken whatever they are called; a missing one is an error") {
  const StoreServer server{{"web/a.tar", "aaa"}, {"web/b.idx", "b"}};
  CHECK(found(server, server.url("/web/b.idx")) == Found{{"b.idx", 1}});
  CHECK(found(server, server.url("/web/{a.tar,b.idx}")) == Found{{"a.tar", 3}, {"b.idx", 1}});
  CHECK(error_code_of([&] { found(server, server.url("/web/c.tar")); }) == ErrorCode::not_found);
}

TEST_CASE("a folder behind HTTP is known by its manifest") {
  Manifest manifest;
  manifest.shards = {{"a.tar", 2, 3, {}}, {"b.tar", 1, 7, {}}};
  manifest.samples = 3;
  manifest.bytes = 10;
  const StoreServer server{{"web/manifest.json", write_manifest(manifest)}, {"other/x", "x"}};
  CHECK(found(server, server.url("/web/")) == Found{{"a.tar", 3}, {"b.tar", 7}});
  CHECK(error_code_of([&] { found(server, server.url("/other/")); }) == ErrorCode::unsupported);
}

TEST_CASE("where all is empty there is nothing to read") {
  const StoreServer server{{"bucket/x/a.tar", ""}, {"bucket/y", "y"}};
  CHECK(error_code_of([&] { found(server, "s3://bucket/x"); }) == ErrorCode::not_found);
  CHECK(error_code_of([&] { found(server, "s3://bucket/none/"); }) == ErrorCode::not_found);
}

TEST_CASE("a list that names files here and objects is refused, whichever comes first") {
  const ShardFolder folder;
  const StoreServer server{{"bucket/x/a.tar", "aaa"}};
  folder.write("b.tar", image_shard(1, "b"));
  folder.write("paths.txt", "b.tar\n");
  folder.write("urls.txt", "s3://bucket/x/a.tar\n");
  folder.write("url-first.txt", "s3://bucket/x/a.tar\nb.tar\n");
  folder.write("path-first.txt", "b.tar\ns3://bucket/x/a.tar\n");
  CHECK(found(server, folder.path("urls.txt")) == Found{{"a.tar", 3}});
  CHECK(found(server, folder.path("paths.txt")).size() == 1);
  for (const char* name : {"url-first.txt", "path-first.txt"}) {
    CHECK(error_code_of([&] { found(server, folder.path(name)); }) == ErrorCode::usage);
  }
}
