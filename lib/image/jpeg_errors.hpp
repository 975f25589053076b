#pragma once

#include <csetjmp>
#include <cstdio>  // jpeglib.h needs it and does not include it

#include <jpeglib.h>

namespace shardkit {

/// libjpeg's error manager with a way out. libjpeg reports errors by a callback that must not return; it jumps to the
/// function below it that called libjpeg.
struct JpegErrors {
  jpeg_error_mgr base;  // first: libjpeg hands its address around
  std::jmp_buf landing;
  char text[JMSG_LENGTH_MAX];  ///< the first warning's or the error's words
  int error_code;              ///< libjpeg's message code of the error; 0 without one
  bool warned;
  bool input_ended;  ///< libjpeg asked for bytes after the last

  /// Fills `base`; the callbacks expect it in a JpegErrors.
  void install();
  void reset();
};

}  // namespace shardkit
