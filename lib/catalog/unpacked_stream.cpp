#include "catalog/unpacked_stream.hpp"

#include <exception>
#include <new>
#include <utility>

#include <archive.h>

#include "core/error.hpp"

namespace shardkit::catalog {
namespace {

struct ArchiveFree {
  void operator()(archive* handle) const { archive_read_free(handle); }
};

}  // namespace

struct UnpackedStream::Reader {
  ReadPacked read_packed;
  std::unique_ptr<archive, ArchiveFree> handle{archive_read_new()};
  bool is_open = false;
  std::exception_ptr failure{};  ///< of read_packed, which cannot pass through libarchive

  explicit Reader(ReadPacked read) : read_packed(std::move(read)) {
    if (!handle) throw std::bad_alloc();
    // Not all that libarchive knows: for some it would start other programs.
    archive_read_support_filter_gzip(handle.get());
    archive_read_support_filter_bzip2(handle.get());
    archive_read_support_filter_xz(handle.get());
    archive_read_support_filter_zstd(handle.get());
    archive_read_support_filter_lz4(handle.get());
    archive_read_support_format_raw(handle.get());
  }

  bool open() {
    archive_entry* entry = nullptr;
    return archive_read_open(handle.get(), this, nullptr, read, nullptr) == ARCHIVE_OK &&
           archive_read_next_header(handle.get(), &entry) == ARCHIVE_OK;
  }

  static la_ssize_t read(archive* handle, void* data, const void** block) {
    Reader& reader = *static_cast<Reader*>(data);
    try {
      const Bytes bytes = reader.read_packed();
      *block = bytes.data();
      return static_cast<la_ssize_t>(bytes.size());
    } catch (...) {
      reader.failure = std::current_exception();
      archive_set_error(handle, EIO, "the compressed bytes cannot be read");
      return -1;
    }
  }

  [[noreturn]] void fail(const std::string& path, std::uint64_t offset) const {
    if (failure) std::rethrow_exception(failure);
    const char* text = archive_error_string(handle.get());
    throw Error(ErrorCode::corrupt, At{path, offset}, "'{}' cannot be unpacked past byte {} of its content: {}", path,
                offset, text ? text : "damaged or cut off");
  }
};

UnpackedStream::UnpackedStream(ReadPacked read_packed, std::string path)
    : path_(std::move(path)), reader_(std::make_unique<Reader>(std::move(read_packed))) {}

UnpackedStream::~UnpackedStream() = default;

Bytes UnpackedStream::next() {
  if (!std::exchange(reader_->is_open, true) && !reader_->open()) reader_->fail(path_, 0);
  const void* block = nullptr;
  std::size_t size = 0;
  la_int64_t offset = 0;
  while (size == 0) {
    const int status = archive_read_data_block(reader_->handle.get(), &block, &size, &offset);
    if (status == ARCHIVE_EOF) return {};
    if (status != ARCHIVE_OK) reader_->fail(path_, bytes_);
  }
  bytes_ += size;
  return {static_cast<const std::byte*>(block), size};
}

bool UnpackedStream::source_failed() const { return reader_->failure != nullptr; }

}  // namespace shardkit::catalog
