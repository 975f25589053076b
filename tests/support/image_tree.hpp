#pragma once

#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "core/prng.hpp"
#include "support/fake_image.hpp"
#include "support/files.hpp"

/// A tree <root>/class_<c>/img_<i>.jpg of fake JPEGs with random bytes, in random sizes.
struct ImageTree {
  std::string root;
  std::uint64_t classes = 3;
  std::uint64_t per_class = 40;
  std::uint64_t largest = 20'000;

  void make() const {
    shardkit::Prng prng(11);
    for (std::uint64_t c = 0; c < classes; ++c) {
      for (std::uint64_t i = 0; i < per_class; ++i) {
        std::string content(prng.below(largest), '\0');
        for (char& byte : content) byte = static_cast<char>(prng.next());
        write_file(path(c, i), fake_jpeg(content));
      }
    }
  }

  std::string path(std::uint64_t c, std::uint64_t i) const {
    return fmt::format("{}/class_{}/img_{:03}.jpg", root, c, i);
  }
};
