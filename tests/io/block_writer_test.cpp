#include "io/block_writer.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/prng.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::io;

namespace {

constexpr std::size_t kBlock = 16384;

std::string noise(std::size_t bytes) {
  Prng random(bytes);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random.below(256));
  return text;
}

/// An output in memory that takes blocks and records where they began.
struct BlockOutput {
  std::vector<std::uint64_t> begins;
  std::string content;
  const std::byte* last = nullptr;  ///< memory of the last block
  std::size_t room = ~std::size_t{0};

  BlockWriter writer{kBlock, [this](std::uint64_t offset, Bytes block) {
                       if (content.size() + block.size() > room) throw Error(ErrorCode::no_space, "full");
                       begins.push_back(offset);
                       content.resize(offset);
                       content += as_text(block);
                       last = block.data();
                     }};
};

}  // namespace

TEST_CASE("bytes become blocks of one size at increasing offsets, the last one shorter") {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kBlock - 1, kBlock, kBlock + 1, 3 * kBlock - 1,
                                 3 * kBlock, 3 * kBlock + 4097}) {
    CAPTURE(size);
    const std::string whole = noise(size);
    BlockOutput output;
    output.writer.write(as_bytes(whole));
    CHECK(output.writer.stored() == size / kBlock * kBlock);
    output.writer.flush();
    CHECK(output.writer.stored() == size);
    CHECK(output.content == whole);
    REQUIRE(output.begins.size() == (size + kBlock - 1) / kBlock);
    for (std::size_t i = 0; i < output.begins.size(); ++i) CHECK(output.begins[i] == i * kBlock);
  }
}

TEST_CASE("pieces of any size give the same bytes, each block aligned in memory") {
  Prng random(7);
  for (int round = 0; round < 200; ++round) {
    const std::string whole = noise(random.below(5 * kBlock));
    BlockOutput output;
    for (std::size_t at = 0; at < whole.size();) {
      const std::size_t some = std::min<std::size_t>(1 + random.below(2 * kBlock), whole.size() - at);
      output.writer.write(as_bytes(whole).subspan(at, some));
      at += some;
      if (!output.begins.empty()) CHECK(reinterpret_cast<std::uintptr_t>(output.last) % 4096 == 0);
    }
    output.writer.flush();
    REQUIRE(output.content == whole);
  }
}

TEST_CASE("a whole aligned block is stored from where it is, without a copy") {
  AlignedBuffer memory;
  const MutableBytes block = memory.get(kBlock);
  std::ranges::fill(block, std::byte{'x'});
  BlockOutput output;
  output.writer.write(block);
  CHECK(output.last == block.data());
  output.writer.write(as_bytes("behind a piece it is gathered"));
  output.writer.write(block);
  CHECK(output.last != block.data());
  CHECK(output.writer.stored() == 2 * kBlock);
}

TEST_CASE("flushed pages leave the next block aligned in the output") {
  const std::string whole = noise(2 * kBlock);
  BlockOutput output;
  output.writer.write(as_bytes(whole).first(5000));
  output.writer.flush_pages();
  CHECK(output.writer.stored() == 4096);
  output.writer.flush_pages();
  CHECK(output.begins == std::vector<std::uint64_t>{0});
  output.writer.write(as_bytes(whole).subspan(5000));
  output.writer.flush();
  CHECK(output.begins == std::vector<std::uint64_t>{0, 4096, 4096 + kBlock});
  CHECK(output.content == whole);
}

TEST_CASE("a writer that begins again forgets what it had gathered") {
  BlockOutput output;
  output.writer.write(as_bytes("of another range"));
  output.writer.begin(3 * kBlock);
  CHECK(output.writer.stored() == 3 * kBlock);
  output.writer.write(as_bytes("right"));
  output.writer.flush();
  CHECK(output.begins == std::vector<std::uint64_t>{3 * kBlock});
  CHECK(output.content.substr(3 * kBlock) == "right");
}

TEST_CASE("a block that could not be stored does not count as stored") {
  BlockOutput output;
  output.room = 2 * kBlock;
  const auto failure = shardkit_test::failure_of([&] { output.writer.write(as_bytes(noise(5 * kBlock))); });
  CHECK(failure == ErrorCode::no_space);
  CHECK(output.writer.stored() == 2 * kBlock);
}
