// What other programs put into tars, good and bad.
#include <filesystem>

#include "core/hash.hpp"
#include "dataset/index/index.hpp"
#include "dataset/verify/verify.hpp"
#include "reshard_support.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::test;
namespace fs = std::filesystem;

namespace {

const std::vector<ReadMember> kSample{{"k", "cls", "7"}, {"k", "jpg", "image"}};

std::vector<ReadMember> resharded(const TarBuilder& tar) {
  const OneTar one(tar);
  run(one.options());
  return one.result();
}

Error refused(const TarBuilder& tar) {
  const OneTar one(tar);
  Error error = failure(one.options());
  CHECK_FALSE(fs::exists(one.folder.path("out")));
  return error;
}

}  // namespace

TEST_CASE("every dialect of tar becomes the same plain USTAR") {
  CHECK(resharded(TarBuilder().sample("k", "image", "7").end()) == kSample);
  CHECK(resharded(TarBuilder().sample("k", "image", "7")) == kSample);  // no end-of-archive blocks
  CHECK(resharded(TarBuilder()
                      .pax({{"mtime", "1.5"}, {"path", "k.jpg"}})
                      .file("other", "image")
                      .pax({{"mtime", "1.5"}})
                      .file("k.cls", "7")
                      .end()) == kSample);
  CHECK(resharded(TarBuilder()
                      .gnu_long("k.jpg")
                      .member({.name = "cut", .magic = kGnuMagic}, "image")
                      .file("k.cls", "7")
                      .end()) == kSample);
  CHECK(resharded(TarBuilder().member({.name = "k.jpg", .magic = kV7Magic}, "image").file("k.cls", "7").end()) ==
        kSample);
  const std::string base256 = std::string("\x80", 1) + std::string(10, '\0') + '\x05';
  CHECK(resharded(TarBuilder().member({.name = "k.jpg", .size_field = base256}, "image").file("k.cls", "7").end()) ==
        kSample);
  const auto prefixed = resharded(TarBuilder()
                                      .member({.name = "k.jpg", .prefix = "folder"}, "image")
                                      .member({.name = "k.cls", .prefix = "folder"}, "7")
                                      .end());
  CHECK(keys_of(prefixed) == std::vector<std::string>{"folder/k"});
}

TEST_CASE("extensions become lower case, members are sorted by them, and --rename replaces one") {
  const OneTar tar(TarBuilder().file("k.Seg.PNG", "mask").file("k.JPEG", "image").file("k.cls", "7").end());
  ReshardOptions options = tar.options();
  run(options);
  CHECK(tar.result() == std::vector<ReadMember>{{"k", "cls", "7"}, {"k", "jpeg", "image"}, {"k", "seg.png", "mask"}});
  options.target = tar.folder.path("renamed");
  options.rename = {"jpeg=jpg", "seg.png=mask"};
  run(options);
  CHECK(members_in(options.target) ==
        std::vector<ReadMember>{{"k", "cls", "7"}, {"k", "jpg", "image"}, {"k", "mask", "mask"}});
}

TEST_CASE("keys that some reader cannot carry are mapped and counted; others stay") {
  const std::string folder_dots = "v1.0/img";
  const std::string spaced = "a b";
  const std::string dotted = "./plain";
  const std::string good = "n01/a~20b-c_D";
  const std::string umlaut = "\xc3\xa4";
  const std::string meta = "x/__y";
  const OneTar tar(TarBuilder()
                       .file(folder_dots + ".jpg", "1")
                       .file(spaced + ".jpg", "2")
                       .file(dotted + ".jpg", "3")
                       .file(good + ".jpg", "4")
                       .file(umlaut + ".jpg", "5")
                       .file(meta + ".jpg", "6")
                       .end());
  CHECK(run(tar.options()).renamed == 5);
  CHECK(keys_of(tar.result()) == std::vector<std::string>{"v1~2E0/img", "a~20b", "plain", good, "~C3~A4", "x/~5F_y"});
}

TEST_CASE("a key too long for a plain header is cut and gets a hash of the whole") {
  const std::string longest(95, 'k');  // with ".jpg" 99 bytes
  const std::string longer(120, 'k');
  const OneTar tar(TarBuilder()
                       .file(longest + ".jpg", "1")
                       .gnu_long(longer + ".jpg")
                       .member({.name = "cut", .magic = kGnuMagic}, "2")
                       .end());
  CHECK(run(tar.options()).renamed == 1);
  const std::vector<std::string> keys = keys_of(tar.result());
  CHECK(keys.at(0) == longest);
  CHECK(keys.at(1).size() == 96);
  CHECK(keys.at(1).ends_with("-" + to_hex(xxh3_64(as_bytes(longer)))));
}

TEST_CASE("keys that meet once they are mapped are duplicates like others") {
  CHECK(says(refused(TarBuilder().file("a b.jpg", "1").file("a~20b.jpg", "2").end()), "a~20b"));
}

TEST_CASE("what readers do not see is left out and counted") {
  const OneTar tar(TarBuilder()
                       .member({.name = "folder/", .type = '5'}, "")
                       .file("__meta__/x.jpg", "1")
                       .file("__MACOSX/k.jpg", "2")
                       .file("._k.jpg", "3")
                       .file("README", "4")
                       .member({.name = "k.png", .type = '2', .link_target = "k.jpg"}, "")
                       .sample("k", "image", "7")
                       .end());
  CHECK(run(tar.options()).ignored_members == 5);
  CHECK(tar.result() == kSample);
}

TEST_CASE("hard links become files, through other links and before their target too") {
  const OneTar tar(TarBuilder()
                       .member({.name = "c.jpg", .type = '1', .link_target = "b.jpg"}, "")
                       .file("a.jpg", "image")
                       .file("a.cls", "7")
                       .member({.name = "b.jpg", .type = '1', .link_target = "a.jpg"}, "")
                       .member({.name = "b.cls", .type = '1', .link_target = "a.cls"}, "")
                       .end());
  ReshardOptions options = tar.options();
  run(options);
  CHECK(sorted(tar.result()) ==
        std::vector<ReadMember>{
            {"a", "cls", "7"}, {"a", "jpg", "image"}, {"b", "cls", "7"}, {"b", "jpg", "image"}, {"c", "jpg", "image"}});
  options.target = tar.folder.path("sevens");
  options.classes = {"7"};
  CHECK(run(options).samples == 2);
}

TEST_CASE("hard links that lead in a circle or nowhere are refused with shard and offset") {
  const Error circle = refused(TarBuilder()
                                   .sample("k", "image", "7")
                                   .member({.name = "a.jpg", .type = '1', .link_target = "b.jpg"}, "")
                                   .member({.name = "b.jpg", .type = '1', .link_target = "a.jpg"}, "")
                                   .end());
  CHECK(circle.code() == ErrorCode::corrupt);
  CHECK(circle.offset() == 2048U);
  CHECK(circle.path().ends_with("in.tar"));
  CHECK(refused(TarBuilder().member({.name = "a.jpg", .type = '1', .link_target = "a.jpg"}, "").end()).offset() == 0U);
  CHECK(says(refused(TarBuilder().member({.name = "a.jpg", .type = '1', .link_target = "gone"}, "").end()), "'gone'"));
}

TEST_CASE("a header that claims 8 EiB is refused with shard and offset, and costs no memory") {
  const std::string huge = std::string("\x80\0\0\0\x7f", 5) + std::string(7, '\xff');
  const Error error =
      refused(TarBuilder().sample("k", "image", "7").member({.name = "l.jpg", .size_field = huge}, "x").end());
  CHECK(error.code() == ErrorCode::corrupt);
  CHECK(error.offset() == 2048U);
  CHECK(error.path().ends_with("in.tar"));
}

TEST_CASE("an input that is cut anywhere is refused; where that looks like a missing end, it warns") {
  const std::string whole = numbered_samples(3, "k").bytes();
  const std::size_t end_blocks = whole.size() - 1024;
  for (std::size_t length = 1; length <= end_blocks; length += 211) {
    CAPTURE(length);
    const OneTar tar(TarBuilder().raw(whole.substr(0, length)));
    Context context;
    try {
      reshard(tar.options(), context);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::corrupt);
      CHECK(error.offset().has_value());
      CHECK_FALSE(fs::exists(tar.folder.path("out/manifest.json")));
      continue;
    }
    REQUIRE(context.warnings().size() == 1);
    CHECK(context.warnings()[0].code == "end_of_archive_missing");
  }
}

TEST_CASE("a sample with two members of one extension is refused") {
  const Error error = refused(TarBuilder().file("k.jpg", "1").file("k.JPG", "2").end());
  CHECK(error.code() == ErrorCode::corrupt);
  CHECK(says(error, "'jpg'"));
}

TEST_CASE("a sparse member is refused: what is stored is not its content") {
  CHECK(refused(TarBuilder().pax({{"GNU.sparse.major", "1"}}).file("k.jpg", "1").end()).code() ==
        ErrorCode::unsupported);
}

TEST_CASE("an index that fits is used, and checked against the content") {
  const OneTar tar(numbered_samples(5, "k"));
  Context context;
  shardkit::dataset::index({.shards = {tar.folder.path("in.tar")}, .threads = std::nullopt}, context);
  ReshardOptions options = tar.options();
  run(options);
  CHECK(sorted(tar.result()) == sorted(members_of(tar.folder.path("in.tar"))));
  tar.folder.flip("in.tar", 512);
  options.target = tar.folder.path("again");
  const Error error = failure(options);
  CHECK(error.code() == ErrorCode::conflict);
  CHECK(says(error, "differs from the shard's index"));
  CHECK(error.offset() == 512U);
}

TEST_CASE("an index that is damaged or of another size is not used") {
  const OneTar tar(numbered_samples(5, "k"));
  Context context;
  shardkit::dataset::index({.shards = {tar.folder.path("in.tar")}, .threads = std::nullopt}, context);
  tar.folder.flip(".shardkit/in.tar.index", 100);
  run(tar.options());
  CHECK(sorted(tar.result()) == sorted(members_of(tar.folder.path("in.tar"))));
  shardkit::dataset::index({.shards = {tar.folder.path("in.tar")}, .threads = std::nullopt}, context);
  tar.folder.write("in.tar", numbered_samples(4, "other"));
  ReshardOptions options = tar.options();
  options.target = tar.folder.path("again");
  CHECK(says(failure(options), "differs from its manifest"));
  fs::remove(tar.folder.path("manifest.json"));
  CHECK(run(options).samples == 4);
}

TEST_CASE("an input that changes after its samples were listed is refused") {
  const OneTar tar(numbered_samples(5, "k"));
  ReshardOptions options = tar.options();
  run(options);
  fs::remove(tar.folder.path("out/shard-000000.tar"));
  tar.folder.flip("in.tar", 512);
  CHECK(says(failure(options), "input 'in.tar' was modified since"));
}
