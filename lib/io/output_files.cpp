#include "io/output_files.hpp"

#include "core/error.hpp"

namespace shardkit::io {

std::string read_text(OutputFiles& files, const std::string& path) {
  constexpr std::uint64_t kLongest = 1ULL << 30U;
  const auto file = files.open(path);
  std::string text;
  file->stream_all([&](Bytes piece) {
    text += as_text(piece);
    if (text.size() <= kLongest) return;
    throw Error(ErrorCode::corrupt, At{path}, "'{}' is larger than the allowed {} bytes", path, kLongest);
  });
  return text;
}

}  // namespace shardkit::io
