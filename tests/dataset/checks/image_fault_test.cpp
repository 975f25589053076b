// The one judge of images: verify --depth decode reports what it finds, reshard --drop-bad leaves out its errors.
#include "dataset/checks/image_fault.hpp"

#include <map>
#include <set>

#include <fmt/format.h>

#include "dataset/image_samples.hpp"
#include "dataset/reshard/reshard_support.hpp"
#include "dataset/verify/verify_support.hpp"

using namespace shardkit;
using namespace std::string_literals;
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
          {"jpg", jpeg.substr(0, jpeg.size() - 2), "image_no_end"},
          {"jpg", jpeg.substr(0, jpeg.size() - 2) + "\xFF\xD0", "image_damaged"},  // another marker: all rows are there
          {"png", kPng.substr(0, kPng.size() - 12), "image_damaged"},
          {"jfif", jpeg.substr(0, jpeg.size() / 2), "image_truncated"},
          {"data", jpeg.substr(0, jpeg.size() / 2), "image_truncated"},  // an image by its content
          {"jpg", "\0\0\0\x1C"s + "ftypheic", "image_unsupported"},
          {"jpg", "\0\0\0\x1C"s + "ftypavif", "image_other_format"},
          {"ppm", "P6 hello", "image_truncated"},
          {"ppm", "P6 hello 4 255 ", "image_corrupt"},
          {"ppm", "P6 999999999 999999999 255 x", "image_too_large"},
          {"jpg", jpeg + "more", "image_data_after_end"},
          {"jpg", with_damaged_data(jpeg) + "more", "image_damaged"},
          {"jpg", without_tables(jpeg) + "more", "image_corrupt"},
          {"seg.png", kPng + "more", "image_data_after_end"},
          {"png", jpeg + "more", "image_other_format"},
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
  PixelChecker checker;
  for (const Judged& image : judged_images()) {
    const auto fault = image_fault(checker, as_bytes(image.bytes), image.extension);
    CAPTURE(image.code);
    CAPTURE(image.extension);
    CHECK((fault ? std::string(problem_kind(fault->code).name) : "") == image.code);
  }
}

TEST_CASE("the ends of an image show an error that decoding confirms, or that needs decoding, and no other") {
  PixelChecker checker;
  const std::set<std::string> shown{"image_truncated", "image_not_an_image"};
  for (const Judged& image : judged_images()) {
    CAPTURE(image.code);
    CAPTURE(image.extension);
    for (const auto& fault :
         {ends_fault(as_bytes(image.bytes), image.extension), header_fault(as_bytes(image.bytes), image.extension)}) {
      if (needs_decoding(fault)) {
        CHECK((image.code == "image_truncated" || image.code == "image_no_end" || image.code == "image_damaged"));
      } else if (fault && fault->is_error())
        CHECK(problem_kind(fault->code).name == image.code);
      if (shown.contains(image.code)) CHECK((fault && (fault->is_error() || needs_decoding(fault))));
    }
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
  REQUIRE(wrong.size() == 20);

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

TEST_CASE("verify finds cut images without decoding the others, and its remedy removes them") {
  ShardFolder folder;
  TarBuilder tar;
  int number = 0;
  for (const Judged& image : judged_images()) {
    tar.file(fmt::format("k{:02}.{}", number++, image.extension), image.bytes);
  }
  folder.write("s.tar", tar.end());
  index_folder(folder);
  const VerifyResult result = verify_path(folder.path());
  CHECK(result.depth == VerifyDepth::checksum);
  CHECK(result.checked.back() == fmt::format("first and last bytes of {} images", judged_images().size()));
  std::map<std::string, int> found;
  for (const Problem& item : result.problems) {
    if (item.code.starts_with("image_")) found[item.code] += static_cast<int>(item.count);
  }
  CHECK(found == std::map<std::string, int>{{"image_truncated", 8},
                                            {"image_not_an_image", 1},
                                            {"image_no_end", 1},
                                            {"image_unsupported", 1},
                                            {"image_corrupt", 1},
                                            {"image_too_large", 1},
                                            {"image_damaged", 2},
                                            {"image_data_after_end", 4},
                                            {"image_other_format", 4}});
  REQUIRE(result.remedies.size() == 2);
  CHECK(result.remedies[0].starts_with("# no command repairs image_unsupported"));  // dropping it would lose an image
  CHECK(result.remedies[1].find(" --drop-bad") != std::string::npos);
}

TEST_CASE("a cut image is found wherever its pieces end") {
  const std::string jpeg = make_jpeg(200);
  for (const std::size_t before : {0, 200'000, 255'000, 261'000}) {
    ShardFolder folder;
    TarBuilder tar;
    tar.file("a.bin", std::string(before, 'x'));
    tar.file("b.jpg", jpeg.substr(0, jpeg.size() - 400))
        .file("c.jpg", jpeg)
        .file("d.jpg", jpeg + "x")
        .file("e.jpg", "");
    folder.write("s.tar", tar.end());
    index_folder(folder);
    const VerifyResult result = verify_path(folder.path());
    CAPTURE(before);
    std::vector<std::string> found;
    for (const Problem& item : result.problems) {
      if (item.code.starts_with("image_")) found.push_back(item.code + " " + item.key);
    }
    CHECK(found ==
          std::vector<std::string>{"image_truncated b.jpg", "image_data_after_end d.jpg", "image_truncated e.jpg"});
  }
}

TEST_CASE("the verdict names what was not looked at, if there is any of it") {
  const auto verdict = [](const char* name, const std::string& content, VerifyDepth depth) {
    ShardFolder folder;
    folder.write("s.tar", TarBuilder().file(name, content).end());
    index_folder(folder);
    const std::string text = verify_path(folder.path(), {.shards = {}, .depth = depth, .threads = {}}).verdict;
    const std::size_t begin = text.find("KiB") + 3;
    return text.substr(begin, text.find("; 1 warning") - begin);
  };
  using enum VerifyDepth;
  for (const char* name : {"a.jpg", "a.seg.png"}) {
    const std::string image = std::string(name) == "a.jpg" ? make_jpeg() : kPng;
    CHECK(verdict(name, image, structure) == "; only headers and labels were read");
    CHECK(verdict(name, image, checksum) == "; images not decoded, see --depth decode");
    CHECK(verdict(name, image, decode) == "");
  }
  CHECK(verdict("a.npy", "numbers", structure) == "; only headers and labels were read");
  CHECK(verdict("a.npy", "numbers", checksum) == "");
  CHECK(verdict("a.npy", "numbers", decode) == "");
}

TEST_CASE("remedies name --drop-bad only for what it leaves out") {
  ShardFolder folder;
  folder.write("s.tar", TarBuilder().sample("k", kPng, "0").end());
  CHECK(decoded(folder.path()).remedies.empty());
  folder.write("s.tar", TarBuilder().sample("a", kPng, "0").sample("k", "no image", "0").end());
  REQUIRE(decoded(folder.path()).remedies.size() == 1);
  CHECK(decoded(folder.path()).remedies[0].find(" --drop-bad  # ") != std::string::npos);
}
