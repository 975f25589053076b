#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dataset/checks/image_fault.hpp"
#include "dataset/checks/problem.hpp"
#include "dataset/checks/shard_checker.hpp"
#include "image/jpeg_decoder.hpp"

namespace shardkit::dataset {

/// Looks at the first and last bytes of a shard's images while the thread that reads it hashes them: what `convert
/// --validate magic` does with its files. Decodes only JPEGs without an end marker.
class ImageEnds final : public MemberWatcher {
 public:
  /// Findings go to `log`, and `images` counts. Both outlive it.
  ImageEnds(ProblemLog& log, std::atomic<std::uint64_t>& images) : log_(log), images_(images) {}

  bool begin(const formats::TarEntry& entry, const formats::SampleName& name) override;
  void piece(Bytes bytes) override;
  void end() override;

 private:
  std::optional<ImageFault> look(Bytes image);

  ProblemLog& log_;
  std::atomic<std::uint64_t>& images_;
  image::JpegDecoder decoder_;
  formats::TarEntry entry_;
  std::string extension_;
  std::vector<std::byte> bytes_;  ///< of an image that comes in several pieces
  std::optional<ImageFault> fault_;
};

}  // namespace shardkit::dataset
