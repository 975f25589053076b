#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/bytes.hpp"

namespace shardkit {

/// A stretch of a ByteSource in memory that moves from its start to its end: for formats whose records are parsed from
/// one piece of text. Whoever finds a record cut grows the window and parses it again from its start: the window
/// doubles then, so that the work stays linear.
class SourceWindow {
 public:
  explicit SourceWindow(ByteSource& source) : source_(source) {}

  /// The bytes in memory that were not passed; valid until grow().
  std::string_view text() const { return std::string_view(buffer_).substr(passed_); }
  /// Where text() starts in the source.
  std::uint64_t offset() const { return offset_; }

  /// Takes more bytes in behind text(); false when the source has none.
  bool grow();
  /// Leaves the first `count` bytes of text() behind.
  void pass(std::size_t count);

 private:
  ByteSource& source_;
  std::string buffer_;
  std::size_t passed_ = 0;
  std::uint64_t offset_ = 0;
};

}  // namespace shardkit
