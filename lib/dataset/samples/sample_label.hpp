#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/bytes.hpp"

namespace shardkit {

inline constexpr std::string_view kLabelExtension = "cls";

/// True for members that only say something of others: a label, a text. `extension` is in lower case.
inline bool is_side_member(std::string_view extension) {
  return extension == kLabelExtension || extension == "json" || extension == "txt";
}

/// Collects the content of a .cls member and reads it: a whole number in ASCII digits, white space around it allowed,
/// as Python's int() takes it.
class LabelReader {
 public:
  void start() { text_.clear(); }
  /// Pieces in order; of a content that is too long for a label no more is kept than proves it.
  void add(Bytes piece) { text_ += as_text(piece).substr(0, kLongest + 1 - text_.size()); }
  /// The label; empty when the content is none.
  std::optional<std::uint64_t> label() const;
  /// The content, cut, for messages.
  const std::string& text() const { return text_; }

 private:
  static constexpr std::size_t kLongest = 32;
  std::string text_;
};

}  // namespace shardkit
