#include "image/jpeg_errors.hpp"

#include <jerror.h>

namespace shardkit {
namespace {

JpegErrors* errors_of(j_common_ptr info) { return reinterpret_cast<JpegErrors*>(info->err); }

[[noreturn]] void leave(j_common_ptr info) {
  JpegErrors* errors = errors_of(info);
  errors->error_code = info->err->msg_code;
  info->err->format_message(info, errors->text);
  std::longjmp(errors->landing, 1);
}

void note_message(j_common_ptr info, int level) {
  if (level >= 0) return;
  JpegErrors* errors = errors_of(info);
  if (!errors->warned) info->err->format_message(info, errors->text);
  errors->warned = true;
  errors->input_ended |= info->err->msg_code == JWRN_JPEG_EOF;
}

void print_nothing(j_common_ptr /*info*/) {}

}  // namespace

void JpegErrors::install() {
  jpeg_std_error(&base);
  base.error_exit = leave;
  base.emit_message = note_message;
  base.output_message = print_nothing;
  reset();
}

void JpegErrors::reset() {
  text[0] = '\0';
  error_code = 0;
  warned = false;
  input_ended = false;
}

}  // namespace shardkit
