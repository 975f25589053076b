#include "formats/tar_pax.hpp"

#include <charconv>
#include <cstddef>
#include <system_error>

namespace shardkit {

bool PaxRecords::next() {
  if (rest_.empty() || damaged_) return false;
  if (rest_.find_first_not_of('\0') == std::string_view::npos) return false;  // some writers pad with NULs
  damaged_ = true;                                                            // until the record has proved sound
  std::size_t length = 0;
  const char* const end = rest_.data() + rest_.size();
  const auto [stop, error] = std::from_chars(rest_.data(), end, length);
  const auto digits = static_cast<std::size_t>(stop - rest_.data());
  if (error != std::errc() || stop == end || *stop != ' ') return false;
  if (length > rest_.size() || length < digits + 2 || rest_[length - 1] != '\n') return false;
  const std::string_view record = rest_.substr(digits + 1, length - digits - 2);
  const std::size_t equals = record.find('=');
  if (equals == std::string_view::npos || equals == 0) return false;
  keyword_ = record.substr(0, equals);
  value_ = record.substr(equals + 1);
  rest_.remove_prefix(length);
  damaged_ = false;
  return true;
}

}  // namespace shardkit
