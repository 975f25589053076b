#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/checks/image_fault.hpp"
#include "dataset/checks/problem.hpp"
#include "dataset/checks/shard_checker.hpp"
#include "sync/bounded_queue.hpp"

namespace shardkit::dataset {

/// Finds the images of a shard, by their names or their first bytes.
class ImageFinder : public MemberWatcher {
 public:
  bool begin(const formats::TarEntry& entry, const formats::SampleName& name) final;
  void piece(Bytes bytes) final;
  void end() final;

 protected:
  const formats::TarEntry& entry() const { return entry_; }
  const std::string& extension() const { return extension_; }

  /// Takes an image, whose bytes are valid during the call.
  virtual void image(Bytes bytes) = 0;
  /// Takes note of an image above kLargestImage.
  virtual void too_large() {}
  /// Takes note of a member that is not an image.
  virtual void other() {}

 private:
  void decide(Bytes head, bool whole);

  formats::TarEntry entry_;
  std::string extension_;
  std::vector<std::byte> bytes_;  ///< of an image that comes in several pieces
  bool decided_ = false;
  bool wanted_ = false;
};

/// Decodes the images of many shards on its own threads while others read the shards, so that even a set of one shard
/// uses all cores. At most 128 MiB of images wait, and one more for each reader and each decoder; of each shard's
/// findings, only those are kept that its ProblemLog lists.
class ImageCheck {
 public:
  /// Stops handing out images when `stop` does.
  ImageCheck(std::size_t shards, std::stop_token stop) : queue_(kWaiting), stop_(std::move(stop)), shards_(shards) {}

  /// Collects the images of one shard; used by the thread that reads it.
  std::unique_ptr<MemberWatcher> collector(std::size_t shard);

  /// The loop of a decoding thread until close() or a stop.
  void decode(const std::stop_token& stop);

  /// Call this after the last image.
  void close() { queue_.close(); }

  /// The images that were checked. Call this, and the functions below, after all decoding threads have ended.
  std::uint64_t images() const { return images_; }
  /// Those of kinds without a decoder.
  std::uint64_t not_decoded() const;
  /// "BMP 2, .gif 1"; empty if all were decoded.
  std::string kinds_not_decoded() const;

  /// Adds the findings of a shard to its log, in the shard's order; once.
  void note(std::size_t shard, ProblemLog& log);

 private:
  static constexpr std::uint64_t kWaiting = 128U << 20U;
  struct Position {
    std::size_t shard = 0;
    std::uint64_t offset = 0;  ///< of the content
    std::string name;
  };
  struct Image {
    Position position;
    std::string extension;
    std::vector<std::byte> bytes;
  };
  struct Found {
    std::string name;
    std::string text;
  };
  struct CodeFindings {
    std::uint64_t count = 0;
    std::map<std::uint64_t, Found> first;  ///< by offset: decoders do not find them in this order
  };
  using ShardFindings = std::map<ProblemCode, CodeFindings>;

  class Collector;

  void add(Position&& position, std::optional<ImageFault> fault);
  void count_other(std::string_view extension);

  sync::BoundedQueue<Image> queue_;
  std::stop_token stop_;
  std::mutex mutex_;  ///< guards the members below
  std::uint64_t images_ = 0;
  std::map<std::string, std::uint64_t> not_decoded_;  ///< by kind
  std::vector<ShardFindings> shards_;
};

}  // namespace shardkit::dataset
