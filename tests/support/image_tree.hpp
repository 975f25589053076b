#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "core/prng.hpp"
#include "support/files.hpp"

/// What `convert --validate magic` takes for a JPEG.
inline const std::string kJpegStart = "\xff\xd8\xff";

/// A tree <root>/class_<c>/img_<i>.jpg of files of random bytes and sizes behind the first bytes of a JPEG: enough
/// where nothing decodes them.
struct ImageTree {
  std::string root;
  std::uint64_t classes = 3;
  std::uint64_t per_class = 40;
  std::uint64_t largest = 20'000;

  void make() const {
    shardkit::Prng prng(11);
    for (std::uint64_t c = 0; c < classes; ++c) {
      for (std::uint64_t i = 0; i < per_class; ++i) {
        std::string content(1 + prng.below(largest), '\0');
        for (char& byte : content) byte = static_cast<char>(prng.next());
        content.replace(0, std::min(content.size(), kJpegStart.size()), kJpegStart);
        write_file(path(c, i), content);
      }
    }
  }

  std::string path(std::uint64_t c, std::uint64_t i) const {
    return fmt::format("{}/class_{}/img_{:03}.jpg", root, c, i);
  }
};
