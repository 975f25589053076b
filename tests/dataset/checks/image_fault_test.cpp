// The one judge of images: verify --depth decode reports what it finds, reshard --drop-bad leaves out its errors.
#include "dataset/checks/image_fault.hpp"

#include <set>

#include <fmt/format.h>

#include "dataset/image_samples.hpp"
#include "dataset/reshard/reshard_support.hpp"
#include "dataset/verify/verify_support.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::image;
using namespace shardkit::test;

namespace {

struct Judged {
  std::string extension;
  std::string bytes;
  std::string code;  ///< empty for a sound one
};

std::vector<Judged> judged_images() {
  const std::string jpeg = make_jpeg();
  return {{"jpg", jpeg, ""},
          {"seg.png", kPng, ""},
          {"jpg", jpeg.substr(0, jpeg.size() / 2), "image_truncated"},
          {"jpg", "", "image_truncated"},
          {"seg.png", kPng.substr(0, 29), "image_truncated"},
          {"jpg", without_tables(jpeg), "image_corrupt"},
          {"jpg", with_damaged_data(jpeg), "image_damaged"},
          {"png", "this is no image at all", "image_not_an_image"},
          {"jpg", kPng, "image_other_format"},
          {"jpg", kPng.substr(0, 29), "image_truncated"},
          {"png", jpeg.substr(0, jpeg.size() / 2), "image_truncated"},
          {"webp", jpeg, "image_other_format"},
          {"png", with_zero_width(kPng), "image_zero_pixels"},
          {"png", with_huge_png_sides(kPng), "image_too_large"},
          {"png", with_damaged_pixels(kPng), "image_corrupt"},
          {"jpg", with_huge_sides(jpeg), "image_too_large"}};
}

TarBuilder all_images() {
  TarBuilder tar;
  int number = 0;
  for (const Judged& image : judged_images()) {
    tar.file(fmt::format("k{:02}.cls", number), "0")
        .file(fmt::format("k{:02}.{}", number, image.extension), image.bytes);
    ++number;
  }
  return tar.file("lone.cls", "0").file("lone.json", "{}").end();
}

VerifyResult decoded(const std::string& path) {
  return verify_path(path, {.shards = {}, .depth = VerifyDepth::decode, .threads = {}});
}

}  // namespace

TEST_CASE("each kind of fault has its code, found by content and not by name alone") {
  JpegDecoder decoder;
  for (const Judged& image : judged_images()) {
    const auto fault = image_fault(decoder, as_bytes(image.bytes), image.extension);
    CAPTURE(image.code);
    CAPTURE(image.extension);
    CHECK((fault ? std::string(problem_kind(fault->code).name) : "") == image.code);
  }
}

TEST_CASE("--drop-bad leaves out exactly the samples with an image, or none, that verify counts as an error") {
  const OneTar tar(all_images());
  std::set<std::string> wrong;
  std::set<std::string> tolerated;
  for (const Problem& item : decoded(tar.folder.path()).problems) {
    if (!item.code.starts_with("image_") && item.code != "orphan_member") continue;
    (item.severity == Severity::error ? wrong : tolerated).insert(item.key.substr(0, item.key.find('.')));
  }
  REQUIRE(wrong.size() == 12);

  ReshardOptions options = tar.options();
  options.drop_bad = true;
  const ReshardResult result = run(options);
  std::set<std::string> dropped;
  for (const formats::IndexSkip& item : result.dropped_samples)
    dropped.insert(item.path.substr(item.path.rfind('/') + 1));
  CHECK(dropped == wrong);
  std::set<std::string> kept;
  for (const std::string& key : keys_of(tar.result())) kept.insert(key);
  for (const std::string& key : tolerated) CHECK_MESSAGE(kept.contains(key), key);
  for (const Problem& item : decoded(options.target).problems)
    CHECK_MESSAGE(item.severity == Severity::warning, item.text);
}

TEST_CASE("the reason of a drop, in the result and the index, starts with verify's code") {
  const OneTar tar(
      TarBuilder().sample("ok", make_jpeg(), "0").sample("bad", "no image", "0").file("lone.txt", "t").end());
  ReshardOptions options = tar.options();
  options.drop_bad = true;
  const ReshardResult result = run(options);
  REQUIRE(result.dropped_samples.size() == 2);
  CHECK(result.dropped_samples[0].reason.starts_with("image_not_an_image: "));
  CHECK(result.dropped_samples[0].reason.find("'bad.jpg' in 'in.tar' at byte ") != std::string::npos);
  CHECK(result.dropped_samples[1].reason.starts_with("orphan_member: "));
  const std::string index = read_file(tar.folder.path("out/.shardkit/shard-000000.tar.index"));
  CHECK(index.find("in.tar/bad\timage_not_an_image: ") != std::string::npos);
}

TEST_CASE("verify counts every bad image and lists the first ones of a shard") {
  ShardFolder folder;
  TarBuilder tar;
  for (int i = 0; i < 500; ++i) tar.sample(fmt::format("k{:03}", i), i % 2 == 0 ? "no image" : kPng, "0");
  folder.write("s.tar", tar.end());
  const VerifyResult result = decoded(folder.path());
  CHECK(result.errors == 250);
  CHECK(result.warnings == 250);
  CHECK(result.problems.size() == ProblemLog::kMostErrorsListed + ProblemLog::kMostWarningsListed);
  std::vector<std::string> keys;
  std::uint64_t counted = 0;
  for (const Problem& item : result.problems) {
    if (item.code == "image_not_an_image") keys.push_back(item.key);
    counted += item.count;
  }
  CHECK(counted == 500);
  CHECK(keys.front() == "k000.jpg");
  CHECK(keys.back() == "k038.jpg");
  CHECK(problem(result, "image_other_format").text.ends_with("(250 times in this shard)"));
}

TEST_CASE("remedies name --drop-bad only for what it leaves out") {
  ShardFolder folder;
  folder.write("s.tar", TarBuilder().sample("k", kPng, "0").end());
  CHECK(decoded(folder.path()).remedies.empty());
  folder.write("s.tar", TarBuilder().sample("k", "no image", "0").end());
  REQUIRE(decoded(folder.path()).remedies.size() == 1);
  CHECK(decoded(folder.path()).remedies[0].find(" OUT --drop-bad  # ") != std::string::npos);
}
