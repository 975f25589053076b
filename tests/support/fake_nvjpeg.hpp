#pragma once

#include <cstddef>

/// What a test program that loads the fake libnvjpeg (fake_nvjpeg.cpp) lends to it, besides the part of CUDA's runtime
/// that fake_cuda.cpp makes up.
extern "C" {

/// A JPEG's header; `subsampling` counts as shardkit::image::Subsampling does.
struct FakeJpegHeader {
  unsigned width;
  unsigned height;
  unsigned components;
  int subsampling;
  bool progressive;
};

/// False where there is none that can be read.
bool fake_jpeg_header(const unsigned char* data, std::size_t length, FakeJpegHeader* header);

/// Writes its pixels as RGB; false where it does not decode.
bool fake_jpeg_decode(const unsigned char* data, std::size_t length, unsigned char* rgb, std::size_t capacity);

/// Called with the number of batches that the hardware decoders have, when another one begins.
void fake_jpeg_batches(int under_way);
}
