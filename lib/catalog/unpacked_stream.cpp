#include "catalog/unpacked_stream.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>
#include <vector>

#include <archive.h>

#include "core/error.hpp"
#include "formats/tar_header.hpp"

namespace shardkit::catalog {
namespace {

struct ArchiveFree {
  void operator()(archive* handle) const { archive_read_free(handle); }
};

/// Passes over frames without data before the first of zstd or lz4, which libarchive takes for zstd's.
class FrameSkipper {
 public:
  /// What is left of the next piece of a file; empty if nothing is.
  Bytes skip(Bytes piece) {
    while (!piece.empty() && !is_past_) {
      const std::size_t in_frame = std::min<std::uint64_t>(frame_, piece.size());
      frame_ -= in_frame;
      piece = piece.subspan(in_frame);
      if (piece.empty()) break;
      const std::size_t head = std::min(kHead - head_.size(), piece.size());
      head_.insert(head_.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(head));
      piece = piece.subspan(head);
      if (head_.size() < kHead) break;
      const auto frame = formats::skippable_frame(head_);
      if (!frame) {
        is_past_ = true;
        head_.insert(head_.end(), piece.begin(), piece.end());
        return head_;
      }
      frame_ = *frame;
      head_.clear();
    }
    return piece;
  }

  /// At the end of the file: the bytes that were too few for a frame.
  Bytes remaining() { return is_past_ ? Bytes() : (is_past_ = true, Bytes(head_)); }

 private:
  static constexpr std::size_t kHead = formats::kSkippableHead;
  bool is_past_ = false;
  std::uint64_t frame_ = 0;
  std::vector<std::byte> head_;
};

}  // namespace

struct UnpackedStream::Reader {
  ReadPacked read_packed;
  FrameSkipper frames{};
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
      Bytes bytes;
      for (bool more = true; more && bytes.empty();) {
        const Bytes packed = reader.read_packed();
        more = !packed.empty();
        bytes = more ? reader.frames.skip(packed) : reader.frames.remaining();
      }
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
