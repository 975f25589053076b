#pragma once

#include <csetjmp>
#include <cstdint>
#include <cstdio>  // jpeglib.h needs it and does not include it

#include <jpeglib.h>

#include "core/bytes.hpp"
#include "image/jpeg_decoder.hpp"

namespace shardkit::image {

/// libjpeg's error manager with a jump. libjpeg reports errors with a callback that must not return; it jumps to the
/// function that called libjpeg.
struct JpegErrors {
  jpeg_error_mgr base;  // first: libjpeg passes its address
  std::jmp_buf landing;
  char text[JMSG_LENGTH_MAX];  ///< text of the first warning or the error
  int error_code;              ///< libjpeg's message code of the error; 0 without one
  bool warned;
  bool input_ended;  ///< libjpeg asked for bytes after the last

  /// Fills `base`; the callbacks expect it in a JpegErrors.
  void install();
  void reset();
};

/// One libjpeg decompressor whose calls return false if libjpeg would exit. One thread at a time, one image after the
/// other: read_header, start, then columns, rows, finish. After a false only read_header() may follow.
///
/// Functions that can jump have only trivial locals: a jump over a destructor is undefined.
class JpegReader {
 public:
  /// Behind the last byte, libjpeg goes on with an end marker of its own; or it stops there, as Pillow lets it.
  enum class BehindEnd { made_up, stop };
  explicit JpegReader(unsigned max_scans, BehindEnd behind_end = BehindEnd::made_up);
  ~JpegReader();
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  /// Discards the last image, finished or not, and reads the next one's bytes up to its first scan. The bytes must stay
  /// valid until its last row is read.
  bool read_header(Bytes jpeg);
  std::uint32_t image_width() const { return info_.image_width; }
  std::uint32_t image_height() const { return info_.image_height; }

  /// Starts to decode at 1 / `scale_divisor` of the size, into RGB; into CMYK if the image is CMYK or YCCK, and into
  /// gray if it is gray and `keep_gray`. Without `smooth_chroma`, do not use skip_rows(): libjpeg-turbo 2.1.5 then
  /// writes through a stale pointer.
  bool start(unsigned scale_divisor, bool keep_gray = false, bool smooth_chroma = true);
  std::uint32_t output_width() const { return info_.output_width; }
  std::uint32_t output_height() const { return info_.output_height; }
  unsigned output_channels() const { return static_cast<unsigned>(info_.out_color_components); }
  bool has_adobe_marker() const { return info_.saw_Adobe_marker != 0; }

  /// Narrows rows to `width` columns from `x`. Both return as libjpeg widened them to the left.
  bool crop_columns(std::uint32_t& x, std::uint32_t& width);
  /// Leaves out the first `count` rows. At most once an image, before any row is read: a later skip of libjpeg-turbo
  /// 2.1.5 can return stale rows.
  bool skip_rows(std::uint32_t count);
  /// Reads the next `count` rows, `stride` bytes apart.
  bool read_rows(std::uint8_t* target, std::size_t stride, std::uint32_t count);

  /// Reads to the end-of-image marker.
  bool finish();

  const JpegErrors& errors() const { return errors_; }
  /// The failure for what ended the last call; none without an error. An end of the input alone is none.
  DecodeFailure error() const;

 private:
  struct Progress {
    jpeg_progress_mgr base;
    int max_scans;
    bool exceeded;
  };
  static void watch_scans(j_common_ptr info);
  /// May jump.
  void create();

  jpeg_decompress_struct info_;
  JpegErrors errors_;
  Progress progress_;
  BehindEnd behind_end_;
};

}  // namespace shardkit::image
