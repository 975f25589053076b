#include "image/png_file.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <zlib.h>

#include "image/byte_order.hpp"

using namespace std::string_view_literals;

namespace shardkit::image {
namespace {

constexpr std::size_t kMostUnpacked = std::size_t{1} << 20U;  // Pillow's MAX_TEXT_CHUNK
constexpr std::uint64_t kMostText = 64 * kMostUnpacked;       // and MAX_TEXT_MEMORY

/// zlib's decompressor of one stream.
class Inflater {
 public:
  Inflater() { failed_ = inflateInit(&stream_) != Z_OK; }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  void feed(Bytes packed) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
    stream_.avail_in = static_cast<uInt>(packed.size());
  }
  bool has_input() const { return stream_.avail_in > 0; }
  bool failed() const { return failed_; }
  bool done() const { return done_; }

  /// Unpacks up to `size` bytes and returns their number.
  std::size_t unpack(std::uint8_t* out, std::size_t size) {
    stream_.next_out = out;
    stream_.avail_out = static_cast<uInt>(size);
    const int status = inflate(&stream_, Z_NO_FLUSH);
    failed_ = failed_ || status < 0;
    done_ = status == Z_STREAM_END;
    return size - stream_.avail_out;
  }

 private:
  z_stream stream_{};
  bool failed_ = false;
  bool done_ = false;
};

bool is_name(std::string_view name) {
  return std::ranges::all_of(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
}

std::uint32_t checksum(Bytes bytes) {
  return static_cast<std::uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

}  // namespace

/// Takes the pixels' stream and counts rows.
class PngFile::Rows {
 public:
  explicit Rows(const PngFile& png) {
    struct Pass {
      std::uint32_t x, y, across, down;
    };
    constexpr std::array interlaced{Pass{0, 0, 8, 8}, Pass{4, 0, 8, 8}, Pass{0, 4, 4, 8}, Pass{2, 0, 4, 4},
                                    Pass{0, 2, 2, 4}, Pass{1, 0, 2, 2}, Pass{0, 1, 1, 2}};
    const auto add = [&](std::uint64_t width, std::uint64_t height) {
      if (width > 0 && height > 0) passes_.emplace_back((width * png.bits_ * png.channels_ + 7) / 8 + 1, height);
    };
    if (!png.interlaced_) {
      add(png.frame_width_, png.frame_height_);
      return;
    }
    const auto count = [](std::uint64_t all, std::uint32_t first, std::uint32_t step) {
      return all > first ? (all - first + step - 1) / step : 0;
    };
    for (const Pass& pass : interlaced) {
      add(count(png.frame_width_, pass.x, pass.across), count(png.frame_height_, pass.y, pass.down));
    }
  }

  /// True after the last row; `fault` is set if there cannot be one.
  bool take(Bytes packed, std::string& fault) {
    inflater_.feed(packed);
    while (inflater_.has_input()) {
      const auto& [bytes, rows] = passes_[pass_];
      row_.resize(bytes);
      filled_ += inflater_.unpack(row_.data() + filled_, bytes - filled_);
      if (inflater_.failed()) fault = "its packed pixels are damaged";
      if (inflater_.failed() || filled_ < bytes) return false;
      if (row_.front() > 4) fault = fmt::format("a row has the filter {}", row_.front());
      if (row_.front() > 4) return false;
      filled_ = 0;
      if (++row_number_ == rows) ++pass_, row_number_ = 0;
      if (pass_ == passes_.size() || inflater_.done()) return true;
    }
    return false;
  }

 private:
  std::vector<std::pair<std::size_t, std::uint64_t>> passes_;  ///< bytes of a row with its filter, and rows
  std::size_t pass_ = 0;
  std::uint64_t row_number_ = 0;
  std::size_t filled_ = 0;
  std::vector<std::uint8_t> row_;
  Inflater inflater_;
};

bool PngFile::fail(std::string fault, bool ended) {
  fault_ = std::move(fault);
  ended_ = ended;
  return false;
}

/// Moves to the next chunk's content; false without a fault at other bytes.
bool PngFile::next(Chunk& chunk) {
  if (at_ > file_.size() || file_.size() - at_ < 8) return false;
  chunk = {as_text(file_).substr(at_ + 4, 4), at_ + 8, big_u32(file_, at_)};
  at_ += 8;
  return is_name(chunk.name);
}

bool PngFile::is_whole(const Chunk& chunk) {
  if (file_.size() - chunk.at >= chunk.size) return true;
  return fail(fmt::format("the data ends within the chunk {}", chunk.name), true);
}

bool PngFile::open() {
  Chunk chunk;
  while (next(chunk)) {
    if (chunk.name == "IEND") return fail("it has no pixels");
    const bool frame = chunk.name == "fdAT";
    if ((chunk.name == "IDAT" || frame) && channels_ > 0) {
      if (frame && !accept_frame_pixels(chunk)) return false;
      pixels_ = frame ? Chunk{chunk.name, chunk.at + 4, chunk.size - 4} : chunk;
      if (color_ == 3 && !has_palette_) return fail("it has no palette");
      if (!sequence_) frame_width_ = width_, frame_height_ = height_;
      is_animated_ = frames_ && *frames_ + (sequence_ ? 0U : 1U) > 1;
      return width_ > 0 && height_ > 0 && frame_width_ > 0 && frame_height_ > 0
                 ? true
                 : fail("width or height of the image is 0");
    }
    if (!is_whole(chunk)) return false;
    const std::size_t end = chunk.at + chunk.size;
    if (!accept(chunk, file_.subspan(chunk.at, chunk.size))) return false;
    if (file_.size() - end < 4) return fail(fmt::format("the data ends within the chunk {}", chunk.name), true);
    if (checksum(file_.subspan(chunk.at - 4, chunk.size + 4)) != big_u32(file_, end)) {
      return fail(fmt::format("the chunk {} has a wrong checksum", chunk.name));
    }
    at_ = end + 4;
  }
  return fail("there is no chunk where one must be", at_ + 8 > file_.size());
}

bool PngFile::read_rows() {
  Rows rows(*this);
  while (true) {
    const Bytes left = file_.subspan(std::min(pixels_.at, file_.size()));
    if (rows.take(left.first(std::min(left.size(), pixels_.size)), fault_)) return true;
    if (!fault_.empty()) return false;
    at_ = pixels_.at + pixels_.size + 4;
    Chunk chunk;
    if (!next(chunk)) return fail("the data ends before its last row", at_ + 8 > file_.size());
    if (chunk.name != "IDAT") return fail("its packed pixels end before its last row", true);
    pixels_ = chunk;
  }
}

bool PngFile::read_end() {
  at_ = pixels_.at + pixels_.size + 4;
  Chunk chunk;
  while (next(chunk) && chunk.name != "IEND" && !(chunk.name == "fcTL" && is_animated_)) {
    if (!is_whole(chunk)) return false;
    if (chunk.name == "fdAT" && !accept_frame_pixels(chunk)) return false;
    if (chunk.name != "fdAT" && !accept(chunk, file_.subspan(chunk.at, chunk.size))) return false;
    at_ = chunk.at + chunk.size + 4;
  }
  return true;
}

/// The content of a chunk that Pillow reads: long enough, and small when unpacked.
bool PngFile::accept(const Chunk& chunk, Bytes content) {
  if (chunk.name == "IHDR") return accept_header(content);
  if (chunk.name == "acTL") return accept_animation(content);
  if (chunk.name == "fcTL") return accept_frame(content);
  if (chunk.name.ends_with("TXt") || chunk.name == "tEXt" || chunk.name == "iCCP") return accept_text(chunk, content);
  using Least = std::pair<std::string_view, std::size_t>;
  constexpr std::array least{Least{"gAMA", 4}, Least{"cHRM", 32}, Least{"sRGB", 1}, Least{"pHYs", 9}};
  const auto* const found = std::ranges::find(least, chunk.name, &Least::first);
  std::size_t needed = found == least.end() ? 0 : found->second;
  if (chunk.name == "tRNS" && color_ != 3 && channels_ % 2 == 1) needed = 2 * std::size_t{channels_};
  if (content.size() < needed) return fail(fmt::format("the chunk {} is too short", chunk.name));
  has_palette_ = has_palette_ || chunk.name == "PLTE";
  if (chunk.name == "PLTE" && color_ == 3 && content.size() > 768) return fail("the palette has more than 256 colors");
  return true;
}

bool PngFile::accept_header(Bytes content) {
  if (content.size() < 13) return fail("the chunk IHDR is too short");
  width_ = big_u32(content, 0);
  height_ = big_u32(content, 4);
  bits_ = byte_at(content, 8);
  color_ = byte_at(content, 9);
  interlaced_ = byte_at(content, 12) != 0;
  constexpr std::array<unsigned, 7> channels{1, 0, 3, 1, 2, 0, 4};
  const bool known = bits_ == 8 || (bits_ == 16 && color_ != 3) ||
                     ((bits_ == 1 || bits_ == 2 || bits_ == 4) && (color_ == 0 || color_ == 3));
  channels_ = known && color_ < channels.size() ? channels.at(color_) : 0;
  return byte_at(content, 11) == 0 ? true : fail("an unknown filter");
}

bool PngFile::accept_animation(Bytes content) {
  if (content.size() < 8) return fail("the chunk acTL is too short");
  const std::uint32_t frames = big_u32(content, 0);
  if (frames_) {
    frames_.reset();  // Pillow then takes it for a still image
  } else if (frames > 0 && frames <= 0x80000000U) {
    frames_ = frames;
  }
  return true;
}

bool PngFile::accept_frame_pixels(const Chunk& chunk) {
  if (chunk.size < 4 || file_.size() - chunk.at < 4) return fail("a frame without a number");
  const std::uint32_t number = big_u32(file_, chunk.at);
  if (!sequence_ || number != *sequence_ + 1) return fail("a frame has a wrong number");
  sequence_ = number;
  return true;
}

bool PngFile::accept_frame(Bytes content) {
  if (content.size() < 26) return fail("the chunk fcTL is too short");
  const std::uint32_t number = big_u32(content, 0);
  if (number != (sequence_ ? *sequence_ + 1 : 0)) return fail("a frame has a wrong number");
  sequence_ = number;
  const std::uint64_t right = std::uint64_t{big_u32(content, 12)} + big_u32(content, 4);
  const std::uint64_t bottom = std::uint64_t{big_u32(content, 16)} + big_u32(content, 8);
  frame_width_ = big_u32(content, 4);
  frame_height_ = big_u32(content, 8);
  return right <= width_ && bottom <= height_ ? true : fail("a frame is larger than the image");
}

/// tEXt, zTXt, iTXt and iCCP: a name and a zero byte, then what may be packed.
bool PngFile::accept_text(const Chunk& chunk, Bytes content) {
  const std::string_view text = as_text(content);
  const std::size_t name_end = text.find('\0');
  const bool named = name_end != std::string_view::npos;
  const auto from = [&](std::size_t at) { return content.subspan(std::min(at, content.size())); };
  if (chunk.name == "iCCP") {
    const std::size_t method = named ? name_end + 1 : 0;
    if (method >= content.size() || text[method] != '\0') return fail("its profile is packed by an unknown method");
    return accept_packed(chunk.name, from(method + 1));
  }
  if (chunk.name == "zTXt") {
    if (!named || name_end + 1 == content.size()) return true;
    if (text[name_end + 1] != '\0') return fail("a text is packed by an unknown method");
    return accept_packed(chunk.name, from(name_end + 2));
  }
  if (chunk.name == "iTXt") {
    if (!named || content.size() - name_end < 3) return true;
    const std::size_t language_end = text.find('\0', name_end + 3);
    const std::size_t key_end =
        language_end == std::string_view::npos ? language_end : text.find('\0', language_end + 1);
    if (key_end == std::string_view::npos) return true;
    if (text[name_end + 1] != '\0') {
      return text[name_end + 2] != '\0' || accept_packed(chunk.name, from(key_end + 1));
    }
  }
  text_bytes_ += content.size();
  return text_bytes_ <= kMostText ? true : fail("its texts are larger than 64 MiB");
}

bool PngFile::accept_packed(std::string_view name, Bytes packed) {
  Inflater inflater;
  inflater.feed(packed);
  std::array<std::uint8_t, 16384> out;
  std::size_t size = 0;
  while (size < kMostUnpacked && inflater.has_input() && !inflater.done()) {
    const std::size_t got = inflater.unpack(out.data(), std::min(out.size(), kMostUnpacked - size));
    if (inflater.failed()) return true;  // Pillow leaves it out
    size += got;
  }
  if (size >= kMostUnpacked && inflater.has_input() && !inflater.done()) {
    return fail(fmt::format("the chunk {} has more than 1 MiB when it is unpacked", name));
  }
  text_bytes_ += name == "iCCP" ? 0 : size;
  return text_bytes_ <= kMostText ? true : fail("its texts are larger than 64 MiB");
}

}  // namespace shardkit::image
