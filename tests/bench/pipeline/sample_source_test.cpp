#include "bench/pipeline/sample_source.hpp"

#include <filesystem>
#include <set>

#include <doctest/doctest.h>

#include "bench/bench_data.hpp"
#include "bench/pipeline/pipeline_fakes.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::test;
using shardkit_test::failure_of;

namespace {

/// Keeps what it is given, up to a number.
class Collector final : public SampleOutlet {
 public:
  explicit Collector(std::size_t most = 1000) : most_(most) {}
  SampleBuffer buffer(std::size_t bytes) override {
    SampleBuffer made;
    made.resize(bytes);
    return made;
  }
  bool give(SampleBuffer image) override {
    if (texts.size() >= most_) return false;
    texts.push_back(text_of(image));
    return true;
  }
  void pass_over() override { ++passed_over; }

  std::vector<std::string> texts;
  int passed_over = 0;

 private:
  std::size_t most_;
};

std::vector<std::string> epoch_of(ImageSource& source, std::uint64_t epoch = 0) {
  Collector collector;
  source.begin_epoch(epoch);
  source.read(collector, {});
  return collector.texts;
}

struct Found {
  explicit Found(const std::string& path) : input(find_input({path}, context)) {}
  Context context;
  InputSet input;
};

}  // namespace

TEST_CASE("of each sample of a shard its first image comes, in the shard's order") {
  const ShardFolder folder;
  folder.write("a.tar", TarBuilder()
                            .file("k1.jpg", "one")
                            .file("k1.cls", "1")
                            .file("k1.mask.png", "mask")
                            .file("__meta__/x.jpg", "meta")
                            .file("k2.json", "{}")
                            .file("k2.jpeg", "two")
                            .file("none.txt", "text")
                            .end());
  Found found(folder.path());
  const auto source = make_source(found.input, found.context);
  CHECK(source->form() == SourceForm::shards);
  CHECK(source->most_readers() == 1);
  CHECK(epoch_of(*source) == std::vector<std::string>{"one", "two"});
  CHECK(epoch_of(*source, 1) == std::vector<std::string>{"one", "two"});
}

TEST_CASE("images larger than a block come whole") {
  const ShardFolder folder;
  const std::string large(1'000'000, 'x');
  folder.write("a.tar", TarBuilder().file("a.jpg", large).file("b.jpg", "small").end());
  Found found(folder.path());
  CHECK((epoch_of(*make_source(found.input, found.context)) == std::vector<std::string>{large, "small"}));
}

TEST_CASE("image files come in another order each epoch, and what is no image does not") {
  const TempDir dir;
  std::set<std::string> expected;
  for (int i = 0; i < 20; ++i) {
    write_file(dir.path("c/" + std::to_string(i) + ".jpg"), std::to_string(i));
    expected.insert(std::to_string(i));
  }
  write_file(dir.path("c/readme.txt"), "no image");
  Found found(dir.path());
  const auto source = make_source(found.input, found.context);
  CHECK(source->form() == SourceForm::files);
  CHECK(source->most_readers() == 20);
  const auto first = epoch_of(*source, 0);
  CHECK(first.size() == 20);
  CHECK(std::set(first.begin(), first.end()) == expected);
  CHECK(epoch_of(*source, 0) == first);
  CHECK(epoch_of(*source, 1) != first);
}

TEST_CASE("a source stops when no more is wanted") {
  const ShardFolder folder;
  folder.write("shards/a.tar", image_shard(9, "a"));
  folder.write("files/a.jpg", "x");
  folder.write("files/b.jpg", "x");
  for (const char* name : {"shards", "files"}) {
    Found found(folder.path(name));
    const auto source = make_source(found.input, found.context);
    Collector collector(1);
    source->begin_epoch(0);
    source->read(collector, {});
    CHECK(collector.texts.size() == 1);
  }
}

TEST_CASE("files without an image are an error that names the first") {
  const TempDir dir;
  write_file(dir.path("a.bin"), "x");
  Found found(dir.path());
  const auto failure = failure_of([&] { make_source(found.input, found.context); });
  CHECK(failure == ErrorCode::not_found);
  CHECK(failure.path == dir.path("a.bin"));
}

TEST_CASE("a shard that shrank since it was listed is an error; so is a file that went away") {
  const ShardFolder folder;
  folder.write("shards/a.tar", image_shard(9, "a"));
  folder.write("files/a.jpg", "x");
  Found shards(folder.path("shards"));
  Found files(folder.path("files"));
  std::filesystem::resize_file(folder.path("shards/a.tar"), 2048);
  std::filesystem::remove(folder.path("files/a.jpg"));
  const auto shrunk = failure_of([&] { epoch_of(*make_source(shards.input, shards.context)); });
  CHECK(shrunk == ErrorCode::io);
  CHECK(shrunk.says("2048"));
  CHECK(failure_of([&] { epoch_of(*make_source(files.input, files.context)); }) == ErrorCode::not_found);
}

TEST_CASE("of a damaged shard what can be read is, with one warning however many epochs") {
  const ShardFolder folder;
  const std::string whole = image_shard(8, "k").bytes();
  folder.write("cut.tar", whole.substr(0, whole.size() / 2));
  Found found(folder.path());
  const auto source = make_source(found.input, found.context);
  const auto images = epoch_of(*source, 0);
  CHECK(images.size() > 2);
  CHECK(images.size() < 8);
  CHECK(epoch_of(*source, 1) == images);
  CHECK(found.context.warnings().size() == 1);
}

TEST_CASE("nothing comes without end") {
  Collector collector(500);
  const auto source = null_source();
  source->begin_epoch(0);
  source->read(collector, {});
  CHECK(collector.texts.size() == 500);
  CHECK(collector.texts.front().empty());
}
