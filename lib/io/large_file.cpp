#include "io/large_file.hpp"

#include <cstring>
#include <utility>

#include "io/block_writer.hpp"

namespace shardkit::io {

LargeFile::LargeFile(OutputFiles& files, std::string path, std::uint64_t most_bytes) : file_(files, std::move(path)) {
  const bool is_large = most_bytes >= kBlockBytes;  // a smaller one costs less in the page cache
  if (is_large && file_.file().bypass_cache()) file_.file().reserve(most_bytes);
}

LargeFile::Pages LargeFile::append(MutableBytes memory, std::size_t begin, std::size_t size) {
  const std::size_t before = end_ % kPage;
  if (begin != before) std::memmove(memory.data() + before, memory.data() + begin, size);
  std::memcpy(memory.data(), last_page_.data(), before);
  const std::size_t bytes = before + size;
  const std::size_t whole = bytes / kPage * kPage;
  std::memcpy(last_page_.data(), memory.data() + whole, bytes - whole);
  const Pages pages{end_ - before, memory.first(whole)};
  end_ += size;
  return pages;
}

void LargeFile::store(const Pages& pages) {
  if (pages.bytes.empty()) return;
  file_.file().write_at(pages.offset, pages.bytes);
  file_.file().write_back(pages.offset, pages.bytes.size());
}

void LargeFile::end() {
  const std::size_t left = end_ % kPage;
  file_.file().write_at(end_ - left, Bytes(last_page_).first(left));
  file_.file().resize(end_);
}

}  // namespace shardkit::io
