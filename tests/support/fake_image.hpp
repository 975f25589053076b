#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// Files that look like images at both ends, for where nothing decodes them: `convert --validate magic` and `verify`
/// accept them.

inline std::string fake_jpeg(std::string_view content = {}) {
  return "\xff\xd8\xff" + std::string(content) + "\xff\xd9";
}

inline std::string fake_png(std::string_view content = {}) {
  return "\x89PNG\r\n\x1a\n" + std::string(content) + std::string("\0\0\0\0IEND\xae\x42\x60\x82", 12);
}

/// `content` is shorter than 200 bytes.
inline std::string fake_webp(std::string_view content = {}) {
  const char size = static_cast<char>(content.size() + 4);
  return "RIFF" + std::string{size, '\0', '\0', '\0'} + "WEBP" + std::string(content);
}

/// One pixel of 24 bits behind an OS/2 header of 12 bytes, and then the content.
inline std::string fake_bmp(std::string_view content = {}) {
  constexpr std::string_view header{"BM\0\0\0\0\0\0\0\0\x1a\0\0\0\x0c\0\0\0\1\0\1\0\1\0\x18\0", 26};
  return std::string(header) + std::string(4, '\0') + std::string(content);
}

/// One gray pixel, for which a byte of the directory stands, and then the content.
inline std::string fake_tiff(std::string_view content = {}) {
  std::string file("II*\0\x08\0\0\0", 8);
  file += std::string("\x06\0", 2);  // entries: tag, type SHORT, count, value
  for (const char* entry : {"\x00\x01\1", "\x01\x01\1", "\x02\x01\x08", "\x06\x01\1", "\x11\x01\x08", "\x17\x01\1"})
    file += std::string(entry, 2) + std::string("\3\0\1\0\0\0", 6) + std::string(entry + 2, 1) + std::string(3, '\0');
  return file + std::string(4, '\0') + std::string(content);
}
