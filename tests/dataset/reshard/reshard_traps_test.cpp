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
                       .member({.name = "k.png", .type = '2', .link_target = "/elsewhere/k.jpg"}, "")
                       .sample("k", "image", "7")
                       .end());
  CHECK(run(tar.options()).ignored_members == 5);
  CHECK(tar.result() == kSample);
}

namespace {

TarBuilder& link(TarBuilder& tar, const std::string& name, const std::string& target, char type) {
  return tar.member({.name = name, .type = type, .link_target = target}, "");
}
TarBuilder& hard(TarBuilder& tar, const std::string& name, const std::string& target) {
  return link(tar, name, target, '1');
}
TarBuilder& symbolic(TarBuilder& tar, const std::string& name, const std::string& target) {
  return link(tar, name, target, '2');
}

}  // namespace

TEST_CASE("members without any extension are refused with the command that gives them one") {
  CHECK(says(refused(TarBuilder().file("a", fake_jpeg("x")).end()), "=jpg"));
}

TEST_CASE("links become the files that they are once the tar is unpacked") {
  TarBuilder later;
  hard(later.file("a.bin", "1").file("a.bin", "2"), "b.bin", "a.bin").file("a.bin", "3").end();
  CHECK(sorted(resharded(later)) == std::vector<ReadMember>{{"a", "bin", "3"}, {"b", "bin", "2"}});
  TarBuilder spelled;
  hard(hard(spelled.file("./a.bin", "1").file("c.bin", "2"), "b.bin", "a.bin"), "./d.bin", "./c.bin").end();
  CHECK(sorted(resharded(spelled)) ==
        std::vector<ReadMember>{{"a", "bin", "1"}, {"b", "bin", "1"}, {"c", "bin", "2"}, {"d", "bin", "2"}});
  TarBuilder relative;
  symbolic(relative.file("x/a.bin", "1"), "y/b.bin", "../x/a.bin").file("x/a.bin", "2").end();
  CHECK(sorted(resharded(relative)) == std::vector<ReadMember>{{"x/a", "bin", "2"}, {"y/b", "bin", "2"}});
  TarBuilder chain;  // also a hard link before its target, which tar does not unpack
  symbolic(hard(hard(chain, "d.cls", "b.cls").sample("a", "image", "7"), "b.cls", "a.cls"), "c.cls", "b.cls").end();
  CHECK(sorted(resharded(chain)) ==
        std::vector<ReadMember>{
            {"a", "cls", "7"}, {"a", "jpg", "image"}, {"b", "cls", "7"}, {"c", "cls", "7"}, {"d", "cls", "7"}});
}

TEST_CASE("links that lead in a circle or out of the tar are named as lost") {
  TarBuilder tar;
  hard(hard(tar.sample("k", "image", "7"), "a.jpg", "b.jpg"), "b.jpg", "a.jpg");
  symbolic(symbolic(hard(tar, "c.jpg", "gone"), "d.jpg", "/k.jpg"), "e.jpg", "../k.jpg").end();
  const OneTar one(tar);
  Context context;
  CHECK(reshard(one.options(), context).ignored_members == 5);
  CHECK(one.result() == kSample);
  REQUIRE(context.warnings().at(0).code == "links_lost");
  CHECK(context.warnings()[0].text.find("5 links to no file in the tar, such as 'a.jpg' -> 'b.jpg'") !=
        std::string::npos);
}

TEST_CASE("what is not stored where it is named is refused, through a link and by index too") {
  TarBuilder linked;
  hard(linked.member({.name = "a.jpg", .type = 'S', .magic = kGnuMagic}, "x"), "b.jpg", "a.jpg").end();
  CHECK(refused(linked).code() == ErrorCode::unsupported);
  TarBuilder hard_link;
  hard(hard_link.sample("k", "image", "7"), "l.jpg", "k.jpg").end();
  TarBuilder symbolic_link;
  symbolic(symbolic_link.sample("k", "image", "7"), "l.jpg", "k.jpg").end();
  const TarBuilder sparse =
      TarBuilder().sample("k", "image", "7").pax({{"GNU.sparse.major", "1"}}).file("l.jpg", "1").end();
  for (const TarBuilder& tar : {hard_link, symbolic_link, sparse}) {
    const OneTar one(tar);
    Context context;
    try {
      shardkit::dataset::index({.shards = {one.folder.path("in.tar")}, .threads = std::nullopt}, context);
      FAIL("indexed as if nothing were wrong");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::unsupported);
      CHECK(error.offset() == 2048U);
    }
    CHECK_FALSE(fs::exists(one.folder.path("manifest.json")));
  }
}

TEST_CASE("what reshard writes of any name has nothing for its own verify to find but the dots") {
  const OneTar tar(TarBuilder()
                       .file("k/a.v1+x.jpg", fake_jpeg("1"))
                       .file("k/b.v1\xc3\xa4.jpg", fake_jpeg("2"))
                       .file("k/c.d:e.jpg", fake_jpeg("3"))
                       .file("k/d.d\\e.jpg", fake_jpeg("4"))
                       .end());
  ReshardOptions options = tar.options();
  run(options);
  Context context;
  VerifyOptions checking;
  checking.shards = {options.target};
  for (const Problem& problem : verify(checking, context).problems) {
    const bool is_known = problem.code == "dot_in_stem" || problem.code == "differing_members";
    CHECK_MESSAGE(is_known, problem.code);
  }
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

TEST_CASE("a tar of tars is refused: it has no samples of its own") {
  const Error error = refused(TarBuilder().file("./shard-000000.tar", "tar").end());
  CHECK(error.code() == ErrorCode::unsupported);
  CHECK(contains(error.what(), "sample './shard-000000'"));
  CHECK(contains(error.what(), "unpack it, then use the tars in it"));
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
