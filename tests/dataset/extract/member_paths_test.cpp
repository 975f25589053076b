#include <doctest/doctest.h>

#include "dataset/extract/extract_target.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::formats;

namespace {

std::string refusal(const std::string& name) {
  const auto path = contained_path(name);
  return path ? "" : path.error().what();
}

formats::IndexSample sample(const std::string& key, std::optional<std::uint64_t> label, const std::string& path = {}) {
  return {.key = key, .label = label, .path = path, .members = {}};
}

formats::IndexMember member(const std::string& name, const std::string& extension) {
  return {.extension = extension, .name = name};
}

Manifest manifest_of(const std::vector<ManifestClass>& classes) {
  Manifest manifest;
  manifest.classes = classes;
  return manifest;
}

}  // namespace

TEST_CASE("harmless names become plain paths") {
  CHECK(*contained_path("a/b.jpg") == "a/b.jpg");
  CHECK(*contained_path("./a//./b.jpg") == "a/b.jpg");
  CHECK(*contained_path("a/..b/c...jpg") == "a/..b/c...jpg");
  CHECK(*contained_path("a b/\n\xff.jpg") == "a b/\n\xff.jpg");
  CHECK(*contained_path(std::string(255, 'x')) == std::string(255, 'x'));
}

TEST_CASE("every hostile name is refused with its reason") {
  CHECK(refusal("/etc/passwd").find("root") != std::string::npos);
  CHECK(refusal("../x.jpg").find("'..'") != std::string::npos);
  CHECK(refusal("a/../../x.jpg").find("'..'") != std::string::npos);
  CHECK(refusal("a/..").find("'..'") != std::string::npos);
  CHECK(refusal(std::string("a\0b.jpg", 7)).find("NUL") != std::string::npos);
  CHECK(refusal(std::string(256, 'x')).find("255") != std::string::npos);
  std::string deep;
  for (int i = 0; i < 2050; ++i) deep += "a/";
  CHECK(refusal(deep + "b.jpg").find("4095") != std::string::npos);
  CHECK(refusal(".shardkit/extract/x.jpg").find(".shardkit") != std::string::npos);
  for (const char* nothing : {"", ".", "./", "//"}) CHECK_FALSE(refusal(nothing).empty());
}

TEST_CASE("a known path is where the image goes back to, side-cars beside it, labels nowhere") {
  const MemberPaths paths(std::nullopt);
  const formats::IndexSample owner = sample("c/img~2Ev2", 5, "c/sub/img.v2.JPEG");
  CHECK(*paths.path_of(owner, member("c/img~2Ev2.jpg", "jpg")) == "c/sub/img.v2.JPEG");
  CHECK(*paths.path_of(owner, member("c/img~2Ev2.json", "json")) == "c/sub/img.v2.json");
  CHECK(paths.path_of(owner, member("c/img~2Ev2.cls", "cls"))->empty());
  CHECK_FALSE(paths.path_of(sample("c/x", 5, "../x.jpg"), member("c/x.jpg", "jpg")));
}

TEST_CASE("a file with a path of its own goes there, never above the target") {
  formats::IndexMember mask = member("c/a.mask.png", "mask.png");
  const formats::IndexSample owner = sample("c/a", 5, "c/a.jpg");
  const MemberPaths beside(std::nullopt);
  mask.path = "c/a_mask.png";
  CHECK(*beside.path_of(owner, mask) == "c/a_mask.png");
  mask.path = "../masks/c/a.png";
  CHECK(*beside.path_of(owner, mask) == "masks/c/a.png");
  mask.path = "x/../../../../etc/a.png";
  CHECK(*beside.path_of(owner, mask) == "etc/a.png");

  formats::Manifest manifest = manifest_of({{"c", 5, 1}});
  manifest.options["source_folder"] = "images";
  const MemberPaths below(manifest);
  mask.path = "../masks/c/a.png";
  CHECK(*below.path_of(owner, mask) == "masks/c/a.png");
  CHECK(*below.path_of(owner, member("c/a.jpg", "jpg")) == "images/c/a.jpg");
  manifest.options["source_folder"] = "../..";
  CHECK_FALSE(MemberPaths(manifest).path_of(owner, member("c/a.jpg", "jpg")));
}

TEST_CASE("without a path the class is the manifest's name or the label, and is not named twice") {
  const MemberPaths paths(manifest_of({{"dog house", 0, 1}, {"cat", 1, 1}}));
  CHECK(*paths.path_of(sample("x/1", 1), member("x/1.JPG", "jpg")) == "cat/x/1.JPG");
  CHECK(*paths.path_of(sample("cat/1", 1), member("cat/1.jpg", "jpg")) == "cat/1.jpg");
  CHECK(*paths.path_of(sample("dog~20house/1", 0), member("dog~20house/1.jpg", "jpg")) == "dog house/1.jpg");
  CHECK(*paths.path_of(sample("x", 7), member("x.jpg", "jpg")) == "7/x.jpg");
  CHECK(*paths.path_of(sample("c/x", {}), member("c/x.jpg", "jpg")) == "c/x.jpg");
  CHECK(paths.knows_class(1));
  CHECK_FALSE(paths.knows_class(7));
}

TEST_CASE("a label of several classes has no name") {
  const MemberPaths paths(manifest_of({{"dog", 0, 1}, {"wolf", 0, 1}}));
  CHECK(*paths.path_of(sample("x", 0), member("x.jpg", "jpg")) == "0/x.jpg");
}

TEST_CASE("a class that is no folder name, or a member's name that hides behind its class, is refused") {
  const MemberPaths paths(manifest_of({{"..", 0, 1}, {"a/b", 1, 1}, {"", 2, 1}}));
  for (const std::uint64_t label : {0U, 1U, 2U}) CHECK_FALSE(paths.path_of(sample("x", label), member("x.jpg", "jpg")));
  CHECK_FALSE(paths.path_of(sample("/etc/x", 9), member("/etc/x.jpg", "jpg")));
  CHECK_FALSE(paths.path_of(sample("../x", 9), member("../x.jpg", "jpg")));
}
