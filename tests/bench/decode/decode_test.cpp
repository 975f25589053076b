#include "bench/decode/decode.hpp"

#include <string>

#include <doctest/doctest.h>

#include "bench/bench_data.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::image;
using namespace shardkit::test;

namespace {

const std::string kGif("GIF89a0000000000000000", 22);

DecodeBenchOptions decode_options(const std::string& path) {
  DecodeBenchOptions options;
  options.paths = {path};
  options.threads = 2;
  options.min_seconds = 0;
  return options;
}

DecodeResult decode_quietly(const DecodeBenchOptions& options) {
  Context context;
  return decode(options, context);
}

ErrorCode code_of(const DecodeBenchOptions& options) {
  return error_code_of([&] { decode_quietly(options); });
}

}  // namespace

TEST_CASE("every image of shards and of folders is decoded at least once") {
  const ShardFolder folder;
  folder.write("shards/a.tar", image_shard(9, "a"));
  folder.write("images/n1/x.JPEG", small_jpeg(1));
  folder.write("images/n2/y.jpg", small_jpeg(2));
  folder.write("images/n2/y.txt", "no image");
  const DecodeResult shards = decode_quietly(decode_options(folder.path("shards")));
  CHECK(shards.images == 9);
  CHECK(shards.decoded == 9);
  CHECK(shards.failures.total == 0);
  CHECK(shards.samples_per_second == doctest::Approx(9 / shards.decode_seconds));
  CHECK(decode_quietly(decode_options(folder.path("images"))).images == 2);
}

TEST_CASE("megapixels are those of the whole images, also where a crop is decoded") {
  const TempDir dir;
  write_file(dir.path("a/x.jpg"), small_jpeg(0));  // 64 x 48
  DecodeBenchOptions options = decode_options(dir.path());
  for (const bool crop : {false, true}) {
    if (crop) options.crop = 32;
    const DecodeResult result = decode_quietly(options);
    CHECK(result.megapixels_per_second * result.decode_seconds == doctest::Approx(64 * 48 * 1e-6));
    CHECK(result.mix.mean_megapixels == doctest::Approx(64 * 48 * 1e-6));
    CHECK(result.crop.has_value() == crop);
  }
}

TEST_CASE("images are taken evenly, and no more than asked for") {
  const ShardFolder folder;
  folder.write("a.tar", image_shard(20, "a"));
  folder.write("b.tar", image_shard(20, "b"));
  DecodeBenchOptions options = decode_options(folder.path());
  options.samples = 7;
  CHECK(decode_quietly(options).images == 7);
  options.samples = 1;
  CHECK(decode_quietly(options).decoded == 1);
}

TEST_CASE("at least as long as asked for, over and over") {
  const TempDir dir;
  write_file(dir.path("x.jpg"), small_jpeg(0));
  DecodeBenchOptions options = decode_options(dir.path());
  options.min_seconds = 0.2;
  const DecodeResult result = decode_quietly(options);
  CHECK(result.decode_seconds > 0.04);  // the end is set before the threads start
  CHECK(result.images == 1);
  CHECK(result.decoded > 1);
}

TEST_CASE("no longer than a caller's limit, although not every image is decoded then") {
  const ShardFolder folder;
  folder.write("a.tar", image_shard(9, "a"));
  const DecodeBenchOptions options = decode_options(folder.path());
  Context context;
  CHECK(decode(options, find_input(options.paths, context), context, 0).decoded == 2);  // one by each thread
}

TEST_CASE("what goes wrong is counted by kind, once per image, and the rest is measured") {
  const TempDir dir;
  const std::string jpeg = small_jpeg(3);
  write_file(dir.path("good.jpg"), jpeg);
  write_file(dir.path("cut.jpg"), jpeg.substr(0, jpeg.size() / 2));
  write_file(dir.path("really_a_gif.jpg"), kGif);
  Context context;
  const DecodeResult result = decode(decode_options(dir.path()), context);
  CHECK(result.images == 3);
  CHECK(result.failures.other_format == 1);
  CHECK(result.failures.truncated + result.failures.warned + result.failures.corrupt == 1);
  CHECK(result.mix.other_format == 1);
  CHECK(result.mix.jpeg == 2);
}

TEST_CASE("a shard that was cut off gives the images it holds") {
  const ShardFolder folder;
  const std::string whole = image_shard(8, "k").bytes();
  folder.write("a.tar", image_shard(3, "a"));
  folder.write("cut.tar", whole.substr(0, whole.size() / 2));
  const DecodeResult result = decode_quietly(decode_options(folder.path()));
  CHECK(result.images > 3);
  CHECK(result.images < 3 + 8);
  CHECK(result.failures.total == 0);
}

TEST_CASE("CMYK is decoded and counted") {
  const TempDir dir;
  const Picture cmyk = make_picture(32, 32, 4);
  const ByteVector bytes = encode_raw(cmyk, {.adobe_marker = true});
  write_file(dir.path("cmyk.jpg"), as_text(bytes));
  const DecodeResult result = decode_quietly(decode_options(dir.path()));
  CHECK(result.mix.cmyk == 1);
  CHECK(result.failures.total == 0);
}

TEST_CASE("scaling measures 1, 2, 4, ... threads and ends with all") {
  const TempDir dir;
  write_file(dir.path("x.jpg"), small_jpeg(0));
  DecodeBenchOptions options = decode_options(dir.path());
  options.scaling = true;
  options.threads = 3;
  const DecodeResult result = decode_quietly(options);
  REQUIRE(result.scaling.size() == 3);
  CHECK(result.scaling[0].threads == 1);
  CHECK(result.scaling[0].speedup == 1);
  CHECK(result.scaling[1].threads == 2);
  CHECK(result.scaling[2].threads == 3);
  CHECK(result.samples_per_second == result.scaling[2].samples_per_second);
}

TEST_CASE("efficiency is the speedup for each thread") {
  const TempDir dir;
  write_file(dir.path("x.jpg"), small_jpeg(0));
  DecodeBenchOptions options = decode_options(dir.path());
  options.scaling = true;
  const DecodeResult result = decode_quietly(options);
  REQUIRE(result.scaling.size() == 2);
  CHECK(result.scaling[0].efficiency_ratio == 1);
  CHECK(result.scaling[1].efficiency_ratio == doctest::Approx(result.scaling[1].speedup / 2));
}

TEST_CASE("augmenting is a stage of its own, of 224 pixels where no crop was named") {
  const TempDir dir;
  write_file(dir.path("x.jpg"), small_jpeg(0));
  write_file(dir.path("y.jpg"), small_jpeg(1));
  write_file(dir.path("no.jpg"), kGif);
  DecodeBenchOptions options = decode_options(dir.path());
  CHECK_FALSE(decode_quietly(options).augment.has_value());
  options.augment = Augmentation::imagenet;
  options.dtype = TensorType::f16;
  const DecodeResult result = decode_quietly(options);
  CHECK(result.crop == 224U);
  REQUIRE(result.augment.has_value());
  CHECK(result.augment->crops == 2);
  CHECK(result.augment->augmented == 2);
  CHECK(result.augment->dtype == TensorType::f16);
  CHECK(result.augment->bytes_per_second * result.augment->augment_seconds == doctest::Approx(2 * 224 * 224 * 3 * 2));
}

TEST_CASE("augmenting has its own cores, beside those of decoding") {
  const TempDir dir;
  write_file(dir.path("x.jpg"), small_jpeg(0));
  DecodeBenchOptions options = decode_options(dir.path());
  options.augment = Augmentation::imagenet;
  options.min_seconds = 0.05;
  const DecodeResult result = decode_quietly(options);
  const AugmentResult& augment = *result.augment;
  REQUIRE(augment.cores_needed.size() == result.cores_needed.size());
  REQUIRE_FALSE(augment.cores_needed.empty());
  const CoresNeeded& row = augment.cores_needed.front();
  CHECK(row.cores == doctest::Approx(row.samples_per_second / augment.samples_per_second_per_core));
}

TEST_CASE("tensors that do not fit into memory are refused before they are made") {
  const TempDir dir;
  write_file(dir.path("x.jpg"), small_jpeg(0));
  DecodeBenchOptions options = decode_options(dir.path());
  options.augment = Augmentation::imagenet;
  options.threads = 4096;
  options.crop = 8192;  // 805 MB for each thread
  CHECK(code_of(options) == ErrorCode::no_space);
}

TEST_CASE("the samples used are named") {
  const ShardFolder folder;
  folder.write("a.tar", image_shard(9, "key"));
  DecodeBenchOptions options = decode_options(folder.path());
  options.samples = 3;
  const SampleChoice shards = decode_quietly(options).samples_used;
  CHECK(shards.listed == 9);
  CHECK(shards.chosen == 3);
  REQUIRE(shards.first.size() == 3);
  CHECK(shards.first[0] == folder.path("a.tar") + "/key0.jpg");
  CHECK(shards.first[1] == folder.path("a.tar") + "/key3.jpg");
  folder.write("images/x.jpg", small_jpeg(1));
  CHECK(decode_quietly(decode_options(folder.path("images"))).samples_used.first ==
        std::vector{folder.path("images/x.jpg")});
}

TEST_CASE("no images, or none that decode, is an error") {
  const ShardFolder folder;
  folder.write("text/a.txt/readme.md", "no image");
  CHECK(code_of(decode_options(folder.path("text"))) == ErrorCode::not_found);
  folder.write("labels/a.tar", TarBuilder().file("k.cls", "1").end());
  CHECK(code_of(decode_options(folder.path("labels"))) == ErrorCode::not_found);
  folder.write("pngs/x.jpg", kGif);
  CHECK(code_of(decode_options(folder.path("pngs"))) == ErrorCode::unsupported);
  CHECK(code_of(decode_options(folder.path("missing"))) == ErrorCode::not_found);
}

TEST_CASE("absurd options of decode are usage errors") {
  const TempDir dir;
  write_file(dir.path("x.jpg"), small_jpeg(0));
  const auto broken = [&](auto change) {
    DecodeBenchOptions options = decode_options(dir.path());
    change(options);
    return code_of(options);
  };
  CHECK(broken([](DecodeBenchOptions& o) { o.threads = 0; }) == ErrorCode::usage);
  CHECK(broken([](DecodeBenchOptions& o) { o.samples = 0; }) == ErrorCode::usage);
  CHECK(broken([](DecodeBenchOptions& o) { o.crop = 0; }) == ErrorCode::usage);
  CHECK(broken([](DecodeBenchOptions& o) { o.crop = 1ULL << 40U; }) == ErrorCode::usage);
  CHECK(broken([](DecodeBenchOptions& o) { o.min_seconds = 1e18; }) == ErrorCode::usage);
}

TEST_CASE("a type of values that nothing augments is refused, with the option that it goes with") {
  const TempDir dir;
  write_file(dir.path("x.jpg"), small_jpeg(0));
  const auto refusal = [&](auto change) {
    DecodeBenchOptions options = decode_options(dir.path());
    change(options);
    return shardkit_test::failure_of([&] { decode_quietly(options); });
  };
  const auto type = refusal([](DecodeBenchOptions& o) { o.dtype = TensorType::u8; });
  CHECK(type == ErrorCode::usage);
  CHECK(type.says("--dtype needs "));
  CHECK(type.says("needs --augment imagenet"));
}
