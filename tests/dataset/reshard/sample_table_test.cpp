#include "dataset/reshard/sample_table.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <malloc.h>

#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::formats;
using namespace shardkit::io;

namespace {

MovedSample numbered(std::uint64_t input, std::uint64_t number, const std::string& key) {
  return {{key, number % 4, "", {{"cls", 512, 1}, {"jpg", 1536 + number, 1000 + number, number}}}, input, key};
}

/// A table of `inputs` inputs with `each` samples.
struct Filled {
  TempDir dir;
  std::unique_ptr<FileSystem> files = posix_file_system();
  SampleTable table{*files, dir.path()};

  Filled(std::uint64_t inputs, std::uint64_t each) {
    for (std::uint64_t i = inputs; i-- > 0;) {  // the last input is the first to be ready
      SampleTable::Batch batch(table);
      for (std::uint64_t n = 0; n < each; ++n) {
        const std::uint64_t number = i * each + n;
        batch.add(numbered(i, number, key(number)));
      }
      table.take(i, std::move(batch));
    }
    table.close();
  }
  static std::string key(std::uint64_t number) { return fmt::format("n{:02}/s{:07}", number * 7 % 10, number); }
};

std::size_t heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

}  // namespace

TEST_CASE("samples are numbered in input order, whatever order the inputs came in, and read back whole") {
  const Filled f(3, 5000);
  CHECK(f.table.size() == 15'000);
  for (const std::uint32_t number : {0U, 4999U, 5000U, 14'999U}) {
    CHECK(f.table.read(number) == numbered(number / 5000, number, Filled::key(number)));
    CHECK(f.table.tar_bytes(number) == moved_sample_tar_bytes(f.table.read(number)));
  }
}

TEST_CASE("a sample takes at most 32 bytes of memory: ten million stay below 512 MB") {
  constexpr std::uint64_t kSamples = 400'000;
  const std::size_t before = heap_bytes();
  const Filled f(200, kSamples / 200);
  const SampleOrder order = input_order(f.table);
  const std::size_t grown = heap_bytes() - before;
  CHECK(grown / kSamples <= 32);
  CHECK(std::filesystem::is_empty(f.dir.path()) == false);  // the rest is on disk, under a hidden name
}

TEST_CASE("the list of samples is gone from the disk when the table is") {
  std::string path;
  {
    const Filled f(1, 10);
    path = f.dir.path();
    CHECK_FALSE(std::filesystem::is_empty(path));
  }
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("a mark makes another key of the same length for every input") {
  Filled f(2, 10);
  f.table.mark(3, SampleTable::Mark::by_input);
  f.table.mark(13, SampleTable::Mark::by_input);
  CHECK(f.table.read(3).key.size() == f.table.read(3).source_key.size() + 9);
  CHECK(f.table.read(3).key.substr(11) != f.table.read(13).key.substr(11));
  CHECK(f.table.read(4).key == f.table.read(4).source_key);
}

TEST_CASE("sorting by key merges runs that do not fit into memory together") {
  const Filled f(3, 100'000);  // more than one run of 2^18 samples
  SampleOrder order = input_order(f.table);
  Context context;
  sort_by_key(f.table, order, context);
  REQUIRE(order.size() == 300'000);
  std::string last;
  for (std::size_t i = 0; i < order.size(); i += 1000) {
    const std::string key = f.table.read(order[i]).key;
    CHECK(last < key);
    last = key;
  }
  std::ranges::sort(order);
  CHECK(order == input_order(f.table));
}

TEST_CASE("a draw takes exactly as many, keeps their order, and grows without exchanging what it had") {
  const Filled f(2, 500);
  const SampleOrder ten = draw_samples(f.table, input_order(f.table), 10, 1);
  const SampleOrder twenty = draw_samples(f.table, input_order(f.table), 20, 1);
  CHECK(ten.size() == 10);
  CHECK(std::ranges::is_sorted(twenty));
  CHECK(std::ranges::includes(twenty, ten));
  CHECK(draw_samples(f.table, input_order(f.table), 10, 2) != ten);
  CHECK(draw_samples(f.table, input_order(f.table), 5000, 1).size() == 1000);
}

TEST_CASE("a draw is text: a number, or a share with a decimal point") {
  CHECK(wanted_samples("10", 1000) == 10);
  CHECK(wanted_samples("10", 4) == 10);
  CHECK(wanted_samples("0.25", 1000) == 250);
  CHECK(wanted_samples("1", 1000) == 1);
  CHECK(wanted_samples("1.0", 1000) == 1000);
}
