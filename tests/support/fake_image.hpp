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

/// With an OS/2 header, which does not say where the rows end.
inline std::string fake_bmp(std::string_view content = {}) {
  return "BM" + std::string(12, '\0') + std::string("\x0c\0\0\0", 4) + std::string(content);
}

/// Its directory has no entry.
inline std::string fake_tiff(std::string_view content = {}) {
  return std::string("II*\0\x08\0\0\0", 8) + std::string(6, '\0') + std::string(content);
}
