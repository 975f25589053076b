#include <array>
#include <string>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "formats/tar_header.hpp"

using namespace shardkit;
using namespace shardkit::formats;

namespace {

std::string header(std::string_view name, std::uint64_t size) {
  std::array<std::byte, kTarBlock> block{};
  block.fill(std::byte{0xff});
  write_ustar_header(block, name, size);
  return std::string(as_text(block));
}

}  // namespace

TEST_CASE("a header is plain USTAR with nothing of the machine in it") {
  const std::string block = header("a/b.jpg", 109'600);
  CHECK(block.substr(0, 8) == std::string("a/b.jpg\0", 8));
  CHECK(block.substr(100, 8) == std::string("0000444\0", 8));
  CHECK(block.substr(124, 12) == std::string("00000326040\0", 12));
  CHECK(block.substr(136, 12) == std::string("00000000000\0", 12));
  CHECK(block.substr(156, 1) == "0");
  CHECK(block.substr(257, 8) == std::string("ustar\0"
                                            "00",
                                            8));
  CHECK(block.substr(265) == std::string(512 - 265, '\0'));
}

TEST_CASE("the checksum is the sum of the bytes with its own field as spaces") {
  const std::string block = header("x", 1);
  unsigned sum = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(block[i]);
  }
  CHECK(std::stoul(block.substr(148, 6), nullptr, 8) == sum);
}

TEST_CASE("a name of 100 bytes fits and one of 101 does not") {
  CHECK(header(std::string(100, 'n'), 0).substr(0, 100) == std::string(100, 'n'));
  CHECK_THROWS_AS(header(std::string(101, 'n'), 0), Error);
  CHECK_THROWS_AS(header("", 0), Error);
}

TEST_CASE("sizes end below 8 GiB, where base-256 would begin") {
  CHECK(header("x", kTarSizeLimit - 1).substr(124, 11) == "77777777777");
  CHECK_THROWS_AS(header("x", kTarSizeLimit), Error);
}

TEST_CASE("content is padded to whole blocks") {
  CHECK(tar_padded(0) == 0);
  CHECK(tar_padded(1) == 512);
  CHECK(tar_padded(512) == 512);
  CHECK(tar_member_bytes(513) == 512 + 1024);
}
