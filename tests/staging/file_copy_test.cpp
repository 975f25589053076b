#include "staging/file_copy.hpp"

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/prng.hpp"
#include "staging/copy_support.hpp"
#include "staging/stage_copier.hpp"

using namespace shardkit;
using namespace shardkit::staging;

namespace {

std::string noise(std::size_t bytes) {
  Prng prng(5);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(prng.next());
  return text;
}

}  // namespace

TEST_CASE("ranges are claimed once each, in order, and the last one back settles") {
  CopyFixture fixture("0123456789");
  const auto copy = fixture.open();
  const auto first = copy->claim(4);
  const auto second = copy->claim(4);
  const auto third = copy->claim(4);
  CHECK(first == ByteRange{0, 4});
  CHECK(second == ByteRange{4, 8});
  CHECK(third == ByteRange{8, 10});
  CHECK_FALSE(copy->claim(4));
  CHECK_FALSE(fixture.deliver(*copy, *third));
  CHECK_FALSE(fixture.deliver(*copy, *first));
  CHECK(fixture.deliver(*copy, *second));
  CHECK_FALSE(copy->claim(4));
  CHECK(copy->finish_hash({}) == fixture.right_hash());
  CHECK(read_file(fixture.partial()) == fixture.content_);
}

TEST_CASE("what of a claim did not come is claimed again") {
  CopyFixture fixture("0123456789");
  const auto copy = fixture.open();
  CHECK_FALSE(fixture.deliver(*copy, *copy->claim(6), 2));
  CHECK(copy->claim(6) == ByteRange{2, 8});
}

TEST_CASE("an empty file is settled by whoever claims nothing of it, once") {
  CopyFixture fixture("");
  const auto copy = fixture.open();
  const auto range = copy->claim(4);
  REQUIRE(range);
  CHECK(range->empty());
  CHECK_FALSE(copy->claim(4));
  CHECK(copy->release(*range, 0));
  CHECK_FALSE(copy->claim(4));
  CHECK(copy->finish_hash({}) == fixture.right_hash());
}

TEST_CASE("bytes in any order, from any number of threads, give the hash of the file") {
  CopyFixture fixture(noise(200'000), {50'000});
  const auto copy = fixture.open();
  std::atomic<int> settled{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        while (const auto range = copy->claim(1000)) {
          if (fixture.deliver(*copy, *range, ~0ULL, true)) ++settled;
        }
      });
    }
  }
  CHECK(settled == 1);
  CHECK(copy->finish_hash({}) == fixture.right_hash());
  CHECK(read_file(fixture.partial()) == fixture.content_);
}

TEST_CASE("a copy goes on with what was saved, and hashes that too") {
  CopyFixture fixture(noise(100));
  {
    const auto copy = fixture.open();
    const auto first = *copy->claim(30);
    const auto second = *copy->claim(30);
    fixture.deliver(*copy, second, ~0ULL, true);  // 16 bytes are due to be saved
    fixture.deliver(*copy, first, 10);
  }
  const auto copy = fixture.open();
  CHECK(copy->resumed_bytes() == 30);
  CHECK(copy->claim(100) == ByteRange{0, 30});
  CHECK(copy->claim(100) == ByteRange{60, 100});
  CHECK_FALSE(fixture.deliver(*copy, {0, 30}));
  CHECK(fixture.deliver(*copy, {60, 100}));
  CHECK(copy->finish_hash({}) == fixture.right_hash());
}

TEST_CASE("a slow copy is saved after some time, also where it has only a part of a block") {
  CopyFixture fixture(noise(100'000), {1ULL << 30U, std::chrono::milliseconds(0)});
  {
    const auto copy = fixture.open();
    RangeWriter writer;
    writer.begin(*copy, copy->claim(100'000)->begin);
    writer.take(as_bytes(fixture.content_).first(10'000));
    copy->hash_and_save({});
    writer.take(as_bytes(fixture.content_).subspan(10'000, 5'000));
    copy->hash_and_save({});
  }  // killed
  const auto copy = fixture.open();
  CHECK(copy->resumed_bytes() == 3 * 4096);
  const auto remaining = *copy->claim(100'000);
  CHECK(fixture.deliver(*copy, remaining));
  CHECK(copy->finish_hash({}) == fixture.right_hash());
}

TEST_CASE("after a stop nothing is written or synced") {
  CopyFixture fixture("0123456789");
  std::stop_source stop;
  DiskGate gate(stop.get_token());
  FileCopy copy(fixture.file(), fixture.files->open_patch(fixture.partial()), PartLog(*fixture.files, "none"),
                fixture.steps_, gate);
  const auto range = *copy.claim(10);
  copy.write(0, as_bytes("01"));
  stop.request_stop();
  CHECK_THROWS_AS(copy.write(2, as_bytes("23")), Error);
  CHECK_THROWS_AS(copy.save(), Error);
  CHECK(read_file(fixture.partial()).substr(0, 4) == std::string("01\0\0", 4));
  copy.release(range, 2);
}

TEST_CASE("what is saved is of no use when the partial file is shorter than it was") {
  CopyFixture fixture(noise(100));
  {
    const auto copy = fixture.open();
    fixture.deliver(*copy, *copy->claim(50));
    copy->save();
  }
  std::filesystem::resize_file(fixture.partial(), 49);
  const auto copy = fixture.open();
  CHECK(copy->resumed_bytes() == 0);
  CHECK(copy->claim(100) == ByteRange{0, 100});
}

TEST_CASE("a copy that is outdated takes nothing more, and starts over when all have left it") {
  CopyFixture fixture(noise(100));
  const auto copy = fixture.open();
  const auto first = *copy->claim(50);
  const auto second = *copy->claim(50);
  copy->mark_outdated();
  CHECK_FALSE(copy->claim(50));
  CHECK_THROWS_AS(fixture.deliver(*copy, first), OutdatedBytes);
  CHECK_FALSE(copy->release(first, 0));
  CHECK(copy->release(second, 50));
  copy->start_over({"x.bin", 100, "v2"});
  CHECK(copy->restarts() == 1);
  CHECK(copy->file().object.version == "v2");
  CHECK(fixture.deliver(*copy, *copy->claim(1000)));
  CHECK(copy->finish_hash({}) == fixture.right_hash());
}

TEST_CASE("a file without ranges is claimed as a whole, and its stream may begin again") {
  CopyFixture fixture(noise(100));
  const auto copy = fixture.open();
  const auto refused = *copy->claim(10);
  copy->mark_rangeless();
  copy->mark_outdated();
  CHECK(copy->release(refused, 0));
  copy->start_over_as_whole();
  CHECK(copy->restarts() == 0);
  const auto whole = copy->claim(10);
  CHECK(whole == ByteRange{0, 100});
  copy->write(0, as_bytes("first attempt, which breaks"));
  copy->rewind();
  CHECK(fixture.deliver(*copy, *whole));
  CHECK(copy->finish_hash({}) == fixture.right_hash());
}

TEST_CASE("while a copy is open nobody else opens it") {
  CopyFixture fixture("0123456789");
  auto copy = fixture.open();
  CHECK(fixture.files->open_patch(fixture.partial()) == nullptr);
  copy.reset();
  CHECK(fixture.files->open_patch(fixture.partial()) != nullptr);
}
