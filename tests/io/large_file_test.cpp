#include "io/large_file.hpp"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/prng.hpp"
#include "io/block_writer.hpp"
#include "io/page_cache.hpp"
#include "support/errors.hpp"
#include "support/files.hpp"
#include "support/forgetful_file_system.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::io;

namespace {

constexpr std::size_t kPage = LargeFile::kPage;

std::string noise(std::size_t bytes) {
  Prng random(bytes);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random.next());
  return text;
}

/// The last buffers that were appended, kept until they are stored: in another order than they came.
struct Buffers {
  AlignedBuffer memory[2];
  LargeFile::Pages pages[2];
};

/// Appends `content` in buffers of sizes that `random` chooses, laid out as planned or `moved` by some bytes.
void append_all(LargeFile& file, std::string_view content, Prng& random, std::size_t longest, std::size_t moved = 0) {
  for (std::size_t at = 0; at < content.size();) {
    Buffers buffers;
    for (int i = 0; i < 2; ++i) {
      const std::size_t size = std::min<std::size_t>(random.below(longest), content.size() - at);
      const std::size_t begin = (LargeFile::begin_for(at) + moved) % kPage;
      const MutableBytes memory = buffers.memory[i].get(LargeFile::memory_for(size));
      std::ranges::copy(as_bytes(content.substr(at, size)), memory.subspan(begin).begin());
      buffers.pages[i] = file.append(memory, begin, size);
      at += size;
    }
    file.store(buffers.pages[1]);
    file.store(buffers.pages[0]);
  }
}

void publish_large(FileSystem& files, const std::string& path, std::string_view content, std::uint64_t most_bytes) {
  Prng random(1);
  LargeFile file(files, path, most_bytes);
  append_all(file, content, random, 600'000);
  file.end();
  file.commit();
}

}  // namespace

TEST_CASE("a large file has exactly its bytes, whatever was reserved, with and without the page cache") {
  const TempDir dir;
  const auto files = posix_file_system();
  ForgetfulFileSystem cached;
  cached.refuse_bypass();
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kPage - 1, kPage, kPage + 1, kBlockBytes - 1,
                                 kBlockBytes, kBlockBytes + 512, 3 * kBlockBytes - 511}) {
    const std::string content = noise(size);
    for (const std::uint64_t reserved : {std::uint64_t{0}, std::uint64_t{size}, size + 3 * kBlockBytes + 17}) {
      CAPTURE(size);
      CAPTURE(reserved);
      publish_large(*files, dir.path("direct"), content, reserved);
      CHECK(read_file(dir.path("direct")) == content);
      publish_large(cached, dir.path("cached"), content, reserved);
      CHECK(read_file(dir.path("cached")) == content);
    }
  }
  CHECK(tree_content(dir.path()).size() == 2);
}

TEST_CASE("buffers of any size, laid out as planned or not, give the same bytes") {
  const TempDir dir;
  const auto files = posix_file_system();
  Prng random(3);
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    const std::string content = noise(random.below(2 * kBlockBytes));
    LargeFile file(*files, dir.path("x"), 2 * kBlockBytes);
    append_all(file, content, random, 1 + random.below(round % 2 == 0 ? 3 * kPage : kBlockBytes),
               round % 3 == 0 ? random.below(kPage) : 0);
    file.end();
    file.commit();
    REQUIRE(read_file(dir.path("x")) == content);
  }
}

TEST_CASE("pages to store are in the buffer, aligned, and leave out the page that is not whole yet") {
  const TempDir dir;
  const auto files = posix_file_system();
  LargeFile file(*files, dir.path("x"), kBlockBytes);
  AlignedBuffer memory;
  const LargeFile::Pages first = file.append(memory.get(LargeFile::memory_for(5000)), 0, 5000);
  CHECK(first.offset == 0);
  CHECK(first.bytes.size() == kPage);
  CHECK(first.bytes.data() == memory.get(1).data());
  AlignedBuffer next;
  const LargeFile::Pages second = file.append(next.get(LargeFile::memory_for(8000)), LargeFile::begin_for(5000), 8000);
  CHECK(second.offset == kPage);
  CHECK(second.bytes.size() == 2 * kPage);
  CHECK(second.bytes.data() == next.get(1).data());
  CHECK(file.append(memory.get(LargeFile::memory_for(10)), LargeFile::begin_for(13000), 10).bytes.empty());
}

TEST_CASE("a large file does not fill the page cache") {
  const TempDir dir;
  const auto files = posix_file_system();
  const std::string content = noise(4 * kBlockBytes + 1000);
  publish_large(*files, dir.path("new"), content, content.size());
  const File file = File::open_read(dir.path("new"));
  if (lives_in_memory(file) || !cached_bytes(file)) {
    MESSAGE("SKIPPED: the temporary folder's file system cannot be cold; set TMPDIR to a disk");
    return;
  }
  CHECK(cached_bytes(file) <= kPage);
}

TEST_CASE("a large file that was not committed, or not written because the disk is full, is gone") {
  const std::string content = noise(2 * kBlockBytes + 5);
  for (std::uint64_t moment = 1;; ++moment) {
    const TempDir dir;
    ForgetfulFileSystem files;
    files.fail_at(moment, ErrorCode::no_space);
    const auto failure =
        shardkit_test::failure_of([&] { publish_large(files, dir.path("x"), content, 3 * kBlockBytes); });
    if (!failure.failed) {
      CHECK(moment > 6);
      CHECK(read_file(dir.path("x")) == content);
      return;
    }
    CAPTURE(moment);
    CHECK(failure == ErrorCode::no_space);
    for (const auto& [name, left] : tree_content(dir.path())) CHECK((name == "x" && left == content));
  }
}

TEST_CASE("a power cut at any moment leaves the old large file or the new one, whole") {
  const std::string content = noise(2 * kBlockBytes + 5000);
  for (std::uint64_t moment = 1;; ++moment) {
    const TempDir dir;
    ForgetfulFileSystem files;
    publish(files, dir.path("x"), as_bytes("old"));
    files.fail_at(moment, ErrorCode::io);
    try {
      publish_large(files, dir.path("x"), content, content.size() + 12345);
    } catch (const Error&) {
    }
    CAPTURE(moment);
    for (const auto& cut : files.after_power_cuts()) {
      const std::string& left = cut.at(dir.path("x"));
      CHECK((left == "old" || left == content));
    }
    if (!files.failed()) {
      CHECK(files.after_power_cut().at(dir.path("x")) == content);
      CHECK(moment > 6);
      return;
    }
  }
}
