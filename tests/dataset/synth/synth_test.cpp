#include "dataset/synth/synth.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "dataset/synth/synth_picture.hpp"
#include "image/image_problem.hpp"
#include "image/jpeg_decoder.hpp"
#include "io/file.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::image;
using namespace shardkit::io;

namespace {

SynthOptions small(const std::string& target) {
  SynthOptions options;
  options.target = target;
  options.classes = 3;
  options.per_class = 5;
  return options;
}

SynthResult run(const SynthOptions& options) {
  Context context;
  return synth(options, context);
}

/// Every file below `root` by its path from there.
std::map<std::string, std::string> tree(const std::string& root) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) continue;
    files[entry.path().lexically_relative(root)] = read_text_file(entry.path());
  }
  return files;
}

void write(const std::string& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }

ErrorCode refusal(const SynthOptions& options) {
  try {
    run(options);
  } catch (const Error& error) {
    return error.code();
  }
  FAIL("synth did not refuse");
  return ErrorCode::io;
}

}  // namespace

TEST_CASE("a tree has its classes and images, named as ImageNet names them") {
  const TempDir dir;
  const SynthResult result = run(small(dir.path("tree")));
  CHECK(result.images == 15);
  CHECK(result.classes == 3);
  CHECK(result.images_kept == 0);
  const auto files = tree(dir.path("tree"));
  CHECK(files.size() == 16);  // and the marker
  CHECK(files.count("n00000000/n00000000_0.JPEG") == 1);
  CHECK(files.count("n00000002/n00000002_4.JPEG") == 1);
  std::uint64_t bytes = 0;
  JpegDecoder decoder;
  for (const auto& [name, content] : files) {
    if (!name.ends_with(".JPEG")) continue;
    bytes += content.size();
    CHECK(header_problem(as_bytes(content), ".JPEG") == std::nullopt);
    CHECK(decoder.decode(as_bytes(content)).failure == DecodeFailure::none);
  }
  CHECK(result.bytes == bytes);
  CHECK(result.mean_image_bytes == doctest::Approx(static_cast<double>(bytes) / 15));
}

TEST_CASE("images do not depend on the number of threads, but on the seed") {
  const TempDir dir;
  std::vector<std::map<std::string, std::string>> trees;
  for (const std::uint64_t threads : {1, 2, 7}) {
    SynthOptions options = small(dir.path(std::to_string(threads)));
    options.threads = threads;
    run(options);
    trees.push_back(tree(options.target));
  }
  CHECK((trees.at(0) == trees.at(1)));
  CHECK((trees.at(0) == trees.at(2)));
  SynthOptions other = small(dir.path("other"));
  other.seed = 2;
  run(other);
  CHECK((tree(other.target).at("n00000001/n00000001_1.JPEG") != trees.at(0).at("n00000001/n00000001_1.JPEG")));
}

TEST_CASE("an image is the same in a larger tree") {
  const TempDir dir;
  run(small(dir.path("small")));
  SynthOptions large = small(dir.path("large"));
  large.classes = 4;
  large.per_class = 6;
  run(large);
  const std::string name = "n00000002/n00000002_3.JPEG";
  CHECK((tree(dir.path("small")).at(name) == tree(dir.path("large")).at(name)));
}

TEST_CASE("a second call keeps what is whole and mends what is not") {
  const TempDir dir;
  const SynthOptions options = small(dir.path("tree"));
  run(options);
  const auto before = tree(options.target);
  CHECK(run(options).images_kept == 15);
  const std::string cut = options.target + "/n00000000/n00000000_2.JPEG";
  std::filesystem::resize_file(cut, 1000);
  write(options.target + "/n00000001/n00000001_0.JPEG", "");
  std::filesystem::remove(options.target + "/n00000002/n00000002_4.JPEG");
  const SynthResult result = run(options);
  CHECK(result.images_kept == 12);
  CHECK((tree(options.target) == before));
}

TEST_CASE("a folder that holds something else is refused and left alone") {
  const TempDir dir;
  std::filesystem::create_directory(dir.path("full"));
  write(dir.path("full/thesis.txt"), "years of work");
  CHECK(refusal(small(dir.path("full"))) == ErrorCode::conflict);
  CHECK(tree(dir.path("full")).size() == 1);
  run(small(dir.path("tree")));
  SynthOptions other = small(dir.path("tree"));
  other.per_class = 6;
  CHECK(refusal(other) == ErrorCode::conflict);
  write(dir.path("file"), "");
  CHECK_THROWS_AS(run(small(dir.path("file"))), Error);
}

TEST_CASE("an empty folder is taken, and what an interrupted call left does not stop the next") {
  const TempDir dir;
  write(dir.path("..shardkit-synth.host-1-0.tmp"), "");
  CHECK(run(small(dir.path())).images == 15);
}

TEST_CASE("options that make no tree are usage errors before anything is made") {
  const TempDir dir;
  const SynthOptions good = small(dir.path("tree"));
  SynthOptions bad = good;
  bad.classes = 0;
  CHECK(refusal(bad) == ErrorCode::usage);
  bad = good;
  bad.per_class = 0;
  CHECK(refusal(bad) == ErrorCode::usage);
  bad = good;
  bad.threads = 0;
  CHECK(refusal(bad) == ErrorCode::usage);
  CHECK_FALSE(std::filesystem::exists(good.target));
}

TEST_CASE("a stop ends the work with Error{cancelled} and leaves only whole images") {
  const TempDir dir;
  std::stop_source stop;
  stop.request_stop();
  Context context(stop.get_token());
  try {
    synth(small(dir.path("tree")), context);
    FAIL("synth was not cancelled");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::cancelled);
  }
}

TEST_CASE("profiles have ImageNet's mix of kinds, sizes and bytes") {
  Prng prng(4);
  constexpr int kDraws = 20000;
  std::map<Subsampling, int> kinds;
  double bytes = 0;
  std::vector<std::uint64_t> pixels;
  for (int i = 0; i < kDraws; ++i) {
    const SynthProfile profile = draw_synth_profile(prng);
    ++kinds[profile.subsampling];
    pixels.push_back(std::uint64_t{profile.width} * profile.height);
    bytes += profile.bytes_per_pixel * static_cast<double>(pixels.back());
    REQUIRE(profile.quality >= 60);
    REQUIRE(profile.quality <= 98);
  }
  CHECK(kinds[Subsampling::s444] / double{kDraws} == doctest::Approx(0.765).epsilon(0.02));
  CHECK(kinds[Subsampling::s420] / double{kDraws} == doctest::Approx(0.212).epsilon(0.05));
  CHECK(kinds[Subsampling::gray] > 300);
  CHECK(bytes / kDraws == doctest::Approx(110'000).epsilon(0.03));
  std::nth_element(pixels.begin(), pixels.begin() + kDraws / 2, pixels.end());
  CHECK(pixels.at(kDraws / 2) == doctest::Approx(500 * 375).epsilon(0.03));
}

TEST_CASE("a picture's file has the size, shape and subsampling that its profile asks for") {
  Prng noise(1);
  const NoiseTile tile(noise);
  SynthPainter painter(tile);
  Prng prng(2);
  for (const Subsampling subsampling : {Subsampling::s444, Subsampling::s420, Subsampling::gray}) {
    const SynthProfile profile{
        .width = 333, .height = 500, .subsampling = subsampling, .quality = 92, .bytes_per_pixel = 0.5};
    const Bytes jpeg = painter.make_jpeg(profile, prng);
    CHECK(static_cast<double>(jpeg.size()) == doctest::Approx(0.5 * 333 * 500).epsilon(0.15));
    const JpegHeaderResult read = read_jpeg_header(jpeg);
    CHECK(read.header.width == 333);
    CHECK(read.header.height == 500);
    CHECK(read.header.subsampling == subsampling);
  }
}
