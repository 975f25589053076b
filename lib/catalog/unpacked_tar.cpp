#include "catalog/unpacked_tar.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "catalog/unpacked_stream.hpp"
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

/// Reads a source from start to end.
UnpackedStream::ReadPacked reads_all(ByteSource& source) {
  return [&source, offset = std::uint64_t{0}, block = std::vector<std::byte>(kReadBlock)]() mutable {
    const std::size_t got = source.read_at(offset, block);
    offset += got;
    return Bytes(block).first(got);
  };
}

}  // namespace

UnpackedTar::UnpackedTar(std::unique_ptr<ByteSource> source, const std::string& path, const std::string& folder,
                         io::FileSystem& files, Context& context, bool salvage)
    : file_(files, io::join_path(folder, "unpacked")) {
  Watcher watcher(path, source->size(), folder, salvage);
  watcher.require_space(source->size(), 0);
  const auto after_end = salvage ? formats::AfterEnd::go_on : formats::AfterEnd::stop;
  formats::TarFeed feed(watcher, formats::kUnknownBytes, after_end);
  UnpackedStream content(reads_all(*source), path);
  const auto next = [&]() -> Bytes {
    try {
      return content.next();
    } catch (const Error&) {
      if (content.source_failed() || !salvage || bytes_ == 0) throw;
      return {};
    }
  };
  std::uint64_t checked = 0;
  while (bytes_ < watcher.members_end() + kMostPadding) {
    context.throw_if_stopped();
    const Bytes bytes = next();
    if (bytes.empty()) break;
    feed.feed(bytes);
    file_.write(bytes);
    bytes_ += bytes.size();
    if (bytes_ - checked >= kCheckEvery) watcher.require_space(0, checked = bytes_);
    context.progress().bytes.fetch_add(bytes.size(), std::memory_order_relaxed);
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
