#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardkit::test {

/// One header block to lay out by hand, right or wrong.
struct RawHeader {
  std::string name;
  std::uint64_t size = 0;
  char type = '0';
  std::string link_target = {};
  std::string prefix = {};
  std::string magic = std::string("ustar\00000", 8);
  std::optional<std::string> size_field = {};  ///< these bytes in place of octal `size`
};

inline const std::string kGnuMagic{"ustar  \0", 8};
inline const std::string kV7Magic(8, '\0');

/// A header block with a correct checksum.
std::string tar_header(const RawHeader& header);
/// Puts the correct checksum into a block that was changed.
void fix_checksum(std::string& archive, std::size_t header_offset);
/// "<length> <keyword>=<value>\n".
std::string pax_record(std::string_view keyword, std::string_view value);

/// Lays out an archive piece by piece: the shapes no tool would write, too.
class TarBuilder {
 public:
  /// A regular ustar member.
  TarBuilder& file(const std::string& name, std::string_view content);
  /// A header and content of any type, padded; the header's size is the content's unless `header.size` says otherwise.
  TarBuilder& member(RawHeader header, std::string_view content);
  /// A PAX header ('x') or global header ('g') with these records.
  TarBuilder& pax(const std::vector<std::pair<std::string, std::string>>& records, char type = 'x');
  /// A GNU long name ('L') or long link target ('K').
  TarBuilder& gnu_long(const std::string& text, char type = 'L');
  /// A sample: <key>.jpg with `image` and <key>.cls with `label`.
  TarBuilder& sample(const std::string& key, std::string_view image, std::string_view label);
  /// Bytes as they are.
  TarBuilder& raw(std::string_view bytes);
  /// Two zero blocks, or as many as said.
  TarBuilder& end(std::size_t blocks = 2);

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace shardkit::test
