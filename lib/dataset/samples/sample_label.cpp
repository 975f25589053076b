#include "dataset/samples/sample_label.hpp"

#include "formats/tsv.hpp"

namespace shardkit {

std::optional<std::uint64_t> LabelReader::label() const {
  constexpr std::string_view kSpace = " \t\n\r\f\v";
  const std::size_t first = text_.find_first_not_of(kSpace);
  if (first == std::string::npos || text_.size() > kLongest) return std::nullopt;
  const std::size_t last = text_.find_last_not_of(kSpace);
  std::uint64_t value = 0;
  if (!parse_number(std::string_view(text_).substr(first, last - first + 1), value)) return std::nullopt;
  return value;
}

}  // namespace shardkit
