#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/member_watcher.hpp"
#include "dataset/problem.hpp"
#include "image/jpeg_decoder.hpp"
#include "sync/bounded_queue.hpp"

namespace shardkit {

/// What is wrong with an image.
struct ImageFault {
  ProblemCode code = ProblemCode::image_corrupt;
  std::string text;  ///< what was found
};

/// Looks at one image: a JPEG is decoded to its last row, of another kind the header and the closing bytes are held
/// against the format. `extension` is the member's. Empty for a sound image, and for an empty member, which is a
/// finding of its own.
std::optional<ImageFault> image_fault(JpegDecoder& decoder, Bytes image, std::string_view extension);

/// Decodes the images of many shards on threads of its own while others read the shards: a set of one shard keeps all
/// cores busy too. At most 128 MiB of images wait, and one more for each reader and each decoder.
class ImageCheck {
 public:
  /// Stops handing out images when `stop` does.
  ImageCheck(std::size_t shards, std::stop_token stop) : queue_(kWaiting), stop_(std::move(stop)), shards_(shards) {}

  /// Collects the images of one shard; to be used by the one thread that reads it.
  std::unique_ptr<MemberWatcher> collector(std::size_t shard);

  /// What a decoding thread does until close() or a stop.
  void decode(const std::stop_token& stop);

  /// No more images come.
  void close() { queue_.close(); }

  /// The images that were looked at. To be called when all decoding threads have ended, as note().
  std::uint64_t images() const;
  /// Adds what was found in a shard to its log, in the shard's order.
  void note(std::size_t shard, ProblemLog& log);

 private:
  static constexpr std::uint64_t kWaiting = 128U << 20U;
  class Collector;

  struct Place {
    std::size_t shard = 0;
    std::uint64_t offset = 0;  ///< of the content
    std::string name;
  };
  struct Image {
    Place place;
    std::string extension;
    std::vector<std::byte> bytes;
  };
  struct Found {
    Place place;
    ImageFault fault;
  };
  struct ShardFindings {
    std::uint64_t images = 0;
    std::vector<Found> found;
  };

  void add(const Place& place, std::optional<ImageFault> fault);

  BoundedQueue<Image> queue_;
  std::stop_token stop_;
  mutable std::mutex mutex_;
  std::vector<ShardFindings> shards_;
};

}  // namespace shardkit
