#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/bytes.hpp"

namespace shardkit::image {

/// The chunks of a PNG as Pillow reads them (PngImagePlugin.py and ZipDecode.c of Pillow 13): what it refuses, this
/// refuses. Call open(), then read_rows() unless the rows are known to be there, then read_end(); each is false with a
/// fault. Never throws because of the bytes, which outlive it.
class PngFile {
 public:
  explicit PngFile(Bytes file) : file_(file) {}

  /// The chunks before the pixels, with their checksums.
  bool open();
  /// The rows, without the checksums of their chunks.
  bool read_rows();
  /// The chunks behind the pixels. The first bytes that are not a chunk end the file.
  bool read_end();

  const std::string& fault() const { return fault_; }
  bool ended() const { return ended_; }  ///< the fault is that bytes are missing

 private:
  struct Chunk {
    std::string_view name;
    std::size_t at = 0;  ///< of its content
    std::size_t size = 0;
  };
  class Rows;

  bool fail(std::string fault, bool ended = false);
  bool next(Chunk& chunk);
  bool is_whole(const Chunk& chunk);
  bool accept(const Chunk& chunk, Bytes content);
  bool accept_header(Bytes content);
  bool accept_animation(Bytes content);
  bool accept_frame(Bytes content);
  bool accept_frame_pixels(const Chunk& chunk);
  bool accept_text(const Chunk& chunk, Bytes content);
  bool accept_packed(std::string_view name, Bytes packed);

  Bytes file_;
  std::size_t at_ = 8;
  Chunk pixels_;  ///< the chunk of pixels that is being read
  std::uint32_t width_ = 0;
  std::uint32_t height_ = 0;
  std::uint32_t frame_width_ = 0;  ///< of the frame that the pixels are for; that of the image without one
  std::uint32_t frame_height_ = 0;
  unsigned bits_ = 0;  ///< of a sample; 0 if the header's combination is unknown
  unsigned channels_ = 0;
  unsigned color_ = 0;
  bool interlaced_ = false;
  bool has_palette_ = false;
  std::optional<std::uint32_t> sequence_;  ///< number of the last chunk of a frame
  std::optional<std::uint32_t> frames_;    ///< of an animation
  bool is_animated_ = false;
  std::uint64_t text_bytes_ = 0;
  std::string fault_;
  bool ended_ = false;
};

}  // namespace shardkit::image
