#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/bytes.hpp"
#include "core/context.hpp"
#include "formats/tar_parser.hpp"

/// The two ways to use a TarParser: pulling headers from a source that can seek, or feeding it every byte.
namespace shardkit::formats {

/// Receives the contents of an archive, in order.
class TarHandler {
 public:
  virtual ~TarHandler() = default;
  /// Returns true to get the member's content.
  virtual bool entry(const TarEntry& entry) = 0;
  /// The next piece of the requested content, never empty.
  virtual void content(Bytes /*piece*/) {}
  /// The requested content is complete; also called for empty members, but not for one that the end of the archive
  /// cuts.
  virtual void content_end() {}
  virtual void finding(const TarFinding& finding) = 0;
};

/// Iterates over a source's members and reads only their headers. A small read-ahead buffer serves headers that are
/// close together, so that they do not cost a read each. One thread at a time.
class TarScanner {
 public:
  using OnFinding = std::function<void(const TarFinding&)>;
  /// The caller keeps `source`. Faults of the archive are passed to `on_finding`.
  explicit TarScanner(
      ByteSource& source, OnFinding on_finding = [](const TarFinding&) {}, AfterEnd after_end = AfterEnd::stop);

  /// The next member; false at the end. Throws the errors of the source.
  bool next(TarEntry& entry);

 private:
  Bytes read(const TarParser::Range& range);

  ByteSource& source_;
  OnFinding on_finding_;
  TarParser parser_;
  std::vector<std::byte> buffer_;
  std::uint64_t buffer_offset_ = 0;
  std::size_t buffered_ = 0;
};

/// Reads all of an archive's headers, and the content that the handler requests. Progress gets the archive's size at
/// the end. Throws the errors of source and handler, and Error{cancelled} if `context` is stopped.
void scan_tar(ByteSource& source, TarHandler& handler, Context& context);

/// The same, but reads every byte once, in order, passes it to `hash`, and updates the progress's bytes. Returns their
/// number.
std::uint64_t read_tar(ByteSource& source, TarHandler& handler, const std::function<void(Bytes)>& hash,
                       Context& context);

/// The size of an archive that is only known at its end.
inline constexpr std::uint64_t kUnknownBytes = std::uint64_t{1} << 62U;

/// Gets a whole archive from start to end, in pieces of any length.
class TarFeed {
 public:
  /// The caller keeps `handler`.
  TarFeed(TarHandler& handler, std::uint64_t archive_bytes, AfterEnd after_end = AfterEnd::stop)
      : handler_(handler), parser_(archive_bytes, after_end) {}

  void feed(Bytes bytes);
  /// The end of the input: what is missing now is reported as truncated.
  void finish();

 private:
  void deliver_content(Bytes bytes);
  bool supply_from(Bytes bytes);

  TarHandler& handler_;
  TarParser parser_;
  std::uint64_t offset_ = 0;        ///< of the piece that is being fed
  std::vector<std::byte> carried_;  ///< start of a requested range that continues in the next piece
  bool content_wanted_ = false;     ///< content_begin_ to content_end_ is passed to the handler
  std::uint64_t content_begin_ = 0;
  std::uint64_t content_end_ = 0;
};

}  // namespace shardkit::formats
