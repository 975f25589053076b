#include "catalog/unpacked_tar.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include <archive.h>
#include <fmt/format.h>

#include "core/error.hpp"
#include "core/units.hpp"
#include "formats/tar_scanner.hpp"

namespace shardkit::catalog {
namespace {

constexpr std::size_t kReadBlock = 256U * 1024U;
/// The free space left for other programs: a twentieth of the disk, on large ones this.
constexpr std::uint64_t kMostReserve = 256U * 1024U * 1024U;
constexpr std::uint64_t kCheckEvery = 64U * 1024U * 1024U;
/// Padding after the last member that is still unpacked: more than any tar's record size in use.
constexpr std::uint64_t kMostPadding = 8U * 1024U * 1024U;

/// Looks at the tar while it is unpacked: stops if it is not a tar, and checks free space before large members.
class Watcher final : public formats::TarHandler {
 public:
  Watcher(const std::string& path, std::uint64_t packed_bytes, const std::string& folder, bool salvage)
      : path_(path),
        folder_(folder),
        salvage_(salvage),
        most_(UnpackedTar::kUnpackedFree + packed_bytes * UnpackedTar::kUnpackedRatio) {}

  bool entry(const formats::TarEntry& entry) override {
    members_end_ = entry.data_offset + entry.size;
    if (members_end_ > most_) refuse_bomb(entry);
    require_space(entry.size, entry.header_offset);
    return false;
  }
  void finding(const formats::TarFinding& finding) override {
    if (salvage_ && finding.offset > 0) return;
    switch (finding.fault) {
      case formats::TarFault::not_a_tar:
      case formats::TarFault::compressed:
      case formats::TarFault::bad_checksum:
      case formats::TarFault::bad_size:
      case formats::TarFault::empty:
        throw Error(ErrorCode::corrupt, At{path_, finding.offset},
                    "'{}' cannot be read at byte {} of its unpacked content: {}", path_, finding.offset, finding.text);
      default:
        break;  // the scan of the unpacked tar reports it with all details
    }
  }

  void require_space(std::uint64_t bytes, std::uint64_t offset) const {
    require_space_to_unpack(folder_, bytes, fmt::format("'{}' at byte {} of its content", path_, offset));
  }

  /// Where the content of the last found member ends.
  std::uint64_t members_end() const { return members_end_; }

 private:
  [[noreturn]] void refuse_bomb(const formats::TarEntry& entry) const {
    throw Error(ErrorCode::unsupported, At{path_, entry.header_offset},
                "'{}' was not unpacked: '{}' at byte {} of its content has size {}, which makes more than {}, 1 GiB "
                "and {} times the packed size; if that is correct, unpack it yourself and give the tar",
                path_, entry.name, entry.header_offset, format_size(entry.size), format_size(most_),
                UnpackedTar::kUnpackedRatio);
  }

  const std::string& path_;
  const std::string& folder_;
  const bool salvage_;
  const std::uint64_t most_;  ///< bytes that the members may end at
  std::uint64_t members_end_ = 0;
};

struct ArchiveFree {
  void operator()(archive* reader) const { archive_read_free(reader); }
};
using Reader = std::unique_ptr<archive, ArchiveFree>;

[[noreturn]] void fail(archive* reader, const std::string& path, std::uint64_t offset) {
  const char* text = archive_error_string(reader);
  throw Error(ErrorCode::corrupt, At{path, offset}, "'{}' cannot be unpacked past byte {} of its content: {}", path,
              offset, text ? text : "damaged or cut off");
}

/// The compressed bytes, as libarchive asks for them.
struct Packed {
  ByteSource& source;
  std::uint64_t offset = 0;
  std::vector<std::byte> block = std::vector<std::byte>(kReadBlock);
  std::optional<Error> error = {};  ///< that cannot pass through libarchive
};

la_ssize_t read_packed(archive* reader, void* data, const void** block) {
  Packed& packed = *static_cast<Packed*>(data);
  try {
    const std::size_t got = packed.source.read_at(packed.offset, packed.block);
    packed.offset += got;
    *block = packed.block.data();
    return static_cast<la_ssize_t>(got);
  } catch (const Error& error) {
    packed.error = error;
    archive_set_error(reader, EIO, "%s", error.what());
    return -1;
  }
}

[[noreturn]] void fail(archive* reader, const Packed& packed, const std::string& path, std::uint64_t offset) {
  if (packed.error) throw Error(*packed.error);
  fail(reader, path, offset);
}

Reader open_raw(Packed& packed, const std::string& path) {
  Reader reader(archive_read_new());
  if (!reader) throw std::bad_alloc();
  // Not all that libarchive knows: for some it would start other programs.
  archive_read_support_filter_gzip(reader.get());
  archive_read_support_filter_bzip2(reader.get());
  archive_read_support_filter_xz(reader.get());
  archive_read_support_filter_zstd(reader.get());
  archive_read_support_filter_lz4(reader.get());
  archive_read_support_format_raw(reader.get());
  archive_entry* entry = nullptr;
  if (archive_read_open(reader.get(), &packed, nullptr, read_packed, nullptr) != ARCHIVE_OK ||
      archive_read_next_header(reader.get(), &entry) != ARCHIVE_OK) {
    fail(reader.get(), packed, path, 0);
  }
  return reader;
}

}  // namespace

UnpackedTar::UnpackedTar(std::unique_ptr<ByteSource> source, const std::string& path, const std::string& folder,
                         io::FileSystem& files, Context& ctx, bool salvage)
    : file_(files, io::join_path(folder, "unpacked")) {
  Watcher watcher(path, source->size(), folder, salvage);
  watcher.require_space(source->size(), 0);
  Packed packed{*source};
  const Reader reader = open_raw(packed, path);
  const auto after_end = salvage ? formats::AfterEnd::go_on : formats::AfterEnd::stop;
  formats::TarFeed feed(watcher, std::uint64_t{1} << 62U, after_end);  // its size is known when it ends
  std::uint64_t checked = 0;
  while (bytes_ < watcher.members_end() + kMostPadding) {
    ctx.throw_if_stopped();
    const void* block = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    const int status = archive_read_data_block(reader.get(), &block, &size, &offset);
    if (status == ARCHIVE_EOF) break;
    if (status != ARCHIVE_OK && salvage && bytes_ > 0 && !packed.error) break;
    if (status != ARCHIVE_OK) fail(reader.get(), packed, path, bytes_);
    const Bytes bytes(static_cast<const std::byte*>(block), size);
    feed.feed(bytes);
    file_.write(bytes);
    bytes_ += size;
    if (bytes_ - checked >= kCheckEvery) watcher.require_space(0, checked = bytes_);
    ctx.progress().bytes.fetch_add(size, std::memory_order_relaxed);
  }
  if (watcher.members_end() == 0 && bytes_ >= kMostPadding) {
    throw Error(ErrorCode::corrupt, At{path, 0}, "'{}' unpacks to zeros ({} checked), so it is not a tar", path,
                format_size(bytes_));
  }
  file_.flush();
}

void require_space_to_unpack(const std::string& folder, std::uint64_t bytes, const std::string& what) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  const std::uint64_t reserve = std::min<std::uint64_t>(kMostReserve, space.capacity / 20);
  if (error || (space.available >= reserve && bytes <= space.available - reserve)) return;
  throw Error(ErrorCode::no_space, At{folder},
              "{} cannot be unpacked: {} do not fit into the {} that '{}' has free, of which {} are reserved for "
              "others; free space there, or choose an output on a larger disk",
              what, format_size(bytes), format_size(space.available), folder, format_size(reserve));
}

}  // namespace shardkit::catalog
