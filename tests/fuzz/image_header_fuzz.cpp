// What a look at an image's header and end tells, of any bytes.

#include "fuzz/fuzz.hpp"
#include "image/image_header.hpp"
#include "image/image_problem.hpp"

using namespace shardkit;
using namespace shardkit::image;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes file = fuzz::bytes_of(data, size);
  const JpegHeaderResult header = read_jpeg_header(file);
  if (header.status == JpegHeaderStatus::ok) {
    fuzz::promise(header.header.scan_offset <= file.size());
    const auto end = end_of_image(file, header.header.scan_offset);
    fuzz::promise(!end || (*end > header.header.scan_offset && *end <= file.size()));
  }
  sniff_image(file);
  image_size(file);
  for (const char* extension : {"jpg", "png", "webp", "bmp", "gif", "tiff", "ppm", "x"}) {
    for (const auto& problem : {ends_problem(file, extension), header_problem(file, extension)}) {
      fuzz::promise(!problem || !problem->text.empty());
    }
  }
  return 0;
}
