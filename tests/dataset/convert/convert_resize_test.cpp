#include <filesystem>
#include <map>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "dataset/convert/convert_support.hpp"
#include "dataset/merge/merge.hpp"
#include "dataset/verify/verify.hpp"
#include "formats/manifest.hpp"
#include "formats/shard_index.hpp"
#include "image/image_header.hpp"
#include "image/jpeg_encoder.hpp"
#include "io/file.hpp"
#include "support/fake_image.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::formats;
using namespace shardkit::image;
using namespace shardkit::io;
using namespace shardkit::test;
namespace fs = std::filesystem;

namespace {

/// A JPEG of waves, so that it has something to lose.
std::string jpeg(std::uint32_t width, std::uint32_t height, int quality = 95) {
  std::vector<std::uint8_t> pixels(std::size_t{width} * height * 3);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>((i * i / 97) ^ (i / width));
  JpegEncoder encoder;
  const Bytes bytes = encoder.encode({pixels, width, height, 3}, {quality, Subsampling::s444, false, false});
  return std::string(as_text(bytes));
}

struct Photos {
  TempDir dir;

  Photos() {
    write("a/wide.jpg", jpeg(300, 200));
    write("a/tall.jpg", jpeg(150, 401));
    write("a/small.jpg", jpeg(60, 64));
    write("b/exact.jpeg", jpeg(100, 128));
    write("b/wide.txt", "a caption");
    write("b/wide.jpg", jpeg(512, 384));
  }
  void write(const std::string& path, const std::string& content) const {
    write_file(dir.path("src/" + path), content);
  }

  ConvertOptions options(const char* target = "out") const {
    ConvertOptions options;
    options.source = dir.path("src");
    options.target = dir.path(target);
    options.sharding.samples = 3;
    options.sharding.resize = 100;
    return options;
  }
  /// Members of each sample by path and extension.
  std::map<std::string, std::string> members(const std::string& target = "out") const {
    std::map<std::string, std::string> found;
    const std::string path = dir.path(target + "/manifest.json");
    for (const ManifestShard& shard : read_manifest(read_file(path), path).shards) {
      const std::string tar = read_file(dir.path(target + "/" + shard.name));
      const std::string index_path = dir.path(target + "/" + shard_index_path(shard.name));
      FileSource index(index_path);
      ShardIndexVisitor visitor;
      visitor.sample = [&](IndexSample&& sample) {
        for (const IndexMember& member : sample.members) {
          found[sample.path + ":" + member.extension] = tar.substr(member.offset, member.size);
        }
      };
      read_shard_index(index, index_path, visitor);
    }
    return found;
  }
};

std::string size_of(const std::string& image) {
  const JpegHeader header = read_jpeg_header(as_bytes(image)).header;
  return std::to_string(header.width) + "x" + std::to_string(header.height);
}

}  // namespace

TEST_CASE("--resize gives the shorter side its pixels and touches nothing else") {
  const Photos photos;
  const ConvertResult result = run(photos.options());
  CHECK(result.samples == 5);
  CHECK(result.resized == 3);
  const auto members = photos.members();
  CHECK(size_of(members.at("a/wide.jpg:jpg")) == "150x100");
  CHECK(size_of(members.at("a/tall.jpg:jpg")) == "100x267");
  CHECK(size_of(members.at("b/wide.jpg:jpg")) == "133x100");
  CHECK(members.at("a/small.jpg:jpg") == read_file(photos.dir.path("src/a/small.jpg")));
  CHECK(members.at("b/exact.jpeg:jpg") == read_file(photos.dir.path("src/b/exact.jpeg")));
  CHECK(members.at("b/wide.jpg:txt") == "a caption");
  CHECK(members.at("b/wide.jpg:cls") == "1");
}

TEST_CASE("the shards are sound, and shorter than planned") {
  const Photos photos;
  const ConvertResult result = run(photos.options());
  VerifyOptions options;
  options.shards = {photos.dir.path("out")};
  options.depth = VerifyDepth::decode;
  Context context;
  CHECK(verify(options, context).errors == 0);
  ConvertOptions plain = photos.options("plain");
  plain.sharding.resize.reset();
  CHECK(result.bytes < run(plain).bytes);
}

TEST_CASE("resized shards are the same bytes for any number of threads and parts, and are resumed") {
  const Photos photos;
  ConvertOptions options = photos.options();
  options.threads = 1;
  run(options);
  options = photos.options("seven");
  options.threads = 7;
  run(options);
  CHECK(tree_content(photos.dir.path("seven")) == tree_content(photos.dir.path("out")));
  options = photos.options("parts");
  for (const char* part : {"0/2", "1/2"}) {
    options.part = part;
    run(options);
  }
  Context context;
  merge({photos.dir.path("parts"), false}, context);
  CHECK(tree_content(photos.dir.path("parts")) == tree_content(photos.dir.path("out")));
  CHECK(run(photos.options()).shards_reused == 2);
  options = photos.options();
  options.sharding.quality = 50;
  CHECK_THROWS_WITH_AS(run(options), doctest::Contains("used --quality 90, but this one asks for --quality 50"), Error);
}

TEST_CASE("an image that would come out larger gets a lower quality, and is counted") {
  const Photos photos;
  photos.write("b/frugal.jpg", jpeg(110, 104, 10));
  ConvertOptions options = photos.options();
  options.sharding.quality = 100;
  CHECK(run(options).resized_at_lower_quality == 1);
  const std::string frugal = photos.members().at("b/frugal.jpg:jpg");
  CHECK(size_of(frugal) == "106x100");
  CHECK(frugal.size() <= fs::file_size(photos.dir.path("src/b/frugal.jpg")));
}

TEST_CASE("images of other kinds stay as they are, with a warning") {
  const Photos photos;
  photos.write("b/other.png", fake_png());
  Context context;
  CHECK(convert(photos.options(), context).samples == 6);
  CHECK(context.warnings().at(0).code == "images_not_resized");
  CHECK(photos.members().at("b/other.png:png") == read_file(photos.dir.path("src/b/other.png")));
}

TEST_CASE("a damaged image is never made to look sound: it stops the convert, is left out, or stays as it is") {
  const Photos photos;
  const std::string whole = jpeg(300, 200);
  photos.write("b/cut.jpg", whole.substr(0, whole.size() / 2));
  CHECK_THROWS_WITH_AS(run(photos.options("fail")), doctest::Contains("(image_truncated)"), Error);
  ConvertOptions unchecked = photos.options("unchecked");
  unchecked.sharding.validate = Validate::none;
  CHECK_THROWS_WITH_AS(run(unchecked), doctest::Contains("cannot be resized: the image ends"), Error);
  ConvertOptions options = photos.options("skip");
  options.sharding.on_bad = OnBad::skip;
  const ConvertResult skipped = run(options);
  CHECK(skipped.samples == 5);
  CHECK(skipped.skipped_files.at(0).path == "b/cut.jpg");
  options = photos.options("keep");
  options.sharding.on_bad = OnBad::keep;
  CHECK(run(options).kept_bad == 1);
  CHECK(photos.members("keep").at("b/cut.jpg:jpg") == whole.substr(0, whole.size() / 2));
}

TEST_CASE("what is called .jpg and is no image of any kind is as bad as a damaged one") {
  const Photos photos;
  photos.write("b/none.JPEG", "<html>404</html>");
  CHECK_THROWS_WITH_AS(run(photos.options("fail")), doctest::Contains("none.JPEG' is a bad image"), Error);
  ConvertOptions options = photos.options("keep");
  options.sharding.on_bad = OnBad::keep;
  CHECK(run(options).kept_bad == 1);
  CHECK(photos.members("keep").at("b/none.JPEG:jpg") == "<html>404</html>");
}

TEST_CASE("sizes and qualities that are none are refused") {
  const Photos photos;
  const auto refused = [&](std::optional<std::uint64_t> resize, std::optional<std::uint64_t> quality) {
    ConvertOptions options = photos.options();
    options.sharding.resize = resize;
    options.sharding.quality = quality;
    try {
      run(options);
    } catch (const Error& error) {
      return error.code() == ErrorCode::usage;
    }
    return false;
  };
  CHECK(refused(0, {}));
  CHECK(refused(65501, {}));
  CHECK(refused({}, 90));
  CHECK(refused(100, 0));
  CHECK(refused(100, 101));
}
