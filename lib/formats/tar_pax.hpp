#pragma once

#include <string_view>

namespace shardkit {

/// Walks the records of a PAX extended header, each "<length> <keyword>=<value>\n" where the decimal length counts the
/// whole record (POSIX.1-2017, pax, "pax Header Block").
class PaxRecords {
 public:
  /// `text` stays the caller's and must outlive the reader.
  explicit PaxRecords(std::string_view text) : rest_(text) {}

  /// Moves to the next record; false at the end or where the text is damaged.
  bool next();
  /// True when next() stopped before the end because what follows is no record.
  bool damaged() const { return damaged_; }

  std::string_view keyword() const { return keyword_; }
  std::string_view value() const { return value_; }

 private:
  std::string_view rest_;
  std::string_view keyword_;
  std::string_view value_;
  bool damaged_ = false;
};

}  // namespace shardkit
