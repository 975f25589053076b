#include "image/jpeg_reader.hpp"

#include <algorithm>
#include <new>

#include <jerror.h>

namespace shardkit::image {
namespace {

JpegErrors* errors_of(j_common_ptr info) { return reinterpret_cast<JpegErrors*>(info->err); }

[[noreturn]] void jump_out(j_common_ptr info) {
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

boolean stop_at_end(j_decompress_ptr info) {
  errors_of(reinterpret_cast<j_common_ptr>(info))->input_ended = true;
  return FALSE;
}

void skip_to_end(j_decompress_ptr info, long count) {
  const std::size_t skipped = std::min(info->src->bytes_in_buffer, static_cast<std::size_t>(std::max(count, 0L)));
  info->src->next_input_byte += skipped;
  info->src->bytes_in_buffer -= skipped;
}

}  // namespace

void JpegErrors::install() {
  jpeg_std_error(&base);
  base.error_exit = jump_out;
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

JpegReader::JpegReader(unsigned max_scans, BehindEnd behind_end)
    : info_{}, errors_{}, progress_{}, behind_end_(behind_end) {
  errors_.install();
  progress_.base.progress_monitor = watch_scans;
  progress_.max_scans = static_cast<int>(max_scans);
  if (setjmp(errors_.landing) != 0) throw std::bad_alloc();
  create();
}

void JpegReader::create() {
  info_.err = &errors_.base;
  jpeg_create_decompress(&info_);
  info_.progress = &progress_.base;
}

JpegReader::~JpegReader() { jpeg_destroy_decompress(&info_); }

void JpegReader::watch_scans(j_common_ptr info) {
  Progress* progress = reinterpret_cast<Progress*>(info->progress);
  const auto* image = reinterpret_cast<j_decompress_ptr>(info);
  if (image->input_scan_number <= progress->max_scans) return;
  progress->exceeded = true;
  std::longjmp(reinterpret_cast<JpegErrors*>(info->err)->landing, 1);
}

bool JpegReader::read_header(Bytes jpeg) {
  errors_.reset();
  progress_.exceeded = false;
  if (setjmp(errors_.landing) != 0) return false;
  // A new object for each image, some microseconds: a used one keeps the last image's tables, with which an image that
  // lacks its own would seem sound, and (libjpeg-turbo 2.1.5) its color converter, through which it may write.
  jpeg_destroy_decompress(&info_);
  create();
  jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(jpeg.data()), jpeg.size());
  if (behind_end_ == BehindEnd::stop) {
    info_.src->fill_input_buffer = stop_at_end;
    info_.src->skip_input_data = skip_to_end;
  }
  return jpeg_read_header(&info_, TRUE) == JPEG_HEADER_OK;
}

bool JpegReader::start(unsigned scale_divisor, bool keep_gray, bool smooth_chroma) {
  if (setjmp(errors_.landing) != 0) return false;
  const bool cmyk = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
  const bool gray = keep_gray && info_.jpeg_color_space == JCS_GRAYSCALE;
  info_.out_color_space = cmyk ? JCS_CMYK : gray ? JCS_GRAYSCALE : JCS_RGB;
  info_.dct_method = JDCT_ISLOW;
  info_.do_fancy_upsampling = smooth_chroma ? TRUE : FALSE;
  info_.scale_num = 1;
  info_.scale_denom = scale_divisor;
  return jpeg_start_decompress(&info_) != FALSE;
}

bool JpegReader::crop_columns(std::uint32_t& x, std::uint32_t& width) {
  if (setjmp(errors_.landing) != 0) return false;
  jpeg_crop_scanline(&info_, &x, &width);
  return true;
}

bool JpegReader::skip_rows(std::uint32_t count) {
  if (setjmp(errors_.landing) != 0) return false;
  return jpeg_skip_scanlines(&info_, count) == count;
}

bool JpegReader::read_rows(std::uint8_t* target, std::size_t stride, std::uint32_t count) {
  constexpr std::uint32_t kRows = 8;
  JSAMPROW rows[kRows];
  if (setjmp(errors_.landing) != 0) return false;
  const JDIMENSION end = info_.output_scanline + count;
  const JDIMENSION begin = info_.output_scanline;
  while (info_.output_scanline < end) {
    const JDIMENSION wanted = std::min(kRows, end - info_.output_scanline);
    for (JDIMENSION i = 0; i < wanted; ++i) rows[i] = target + (info_.output_scanline - begin + i) * stride;
    if (jpeg_read_scanlines(&info_, rows, wanted) == 0) return false;
  }
  return true;
}

DecodeFailure JpegReader::error() const {
  if (progress_.exceeded) return DecodeFailure::too_many_scans;
  if (errors_.error_code == JERR_EMPTY_IMAGE) return DecodeFailure::zero_pixels;
  return errors_.error_code != 0 ? DecodeFailure::corrupt : DecodeFailure::none;
}

bool JpegReader::finish() {
  if (setjmp(errors_.landing) != 0) return false;
  jpeg_finish_decompress(&info_);
  return true;
}

}  // namespace shardkit::image
