#include "bench/pipeline/steps/checkpoint_writer.hpp"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "bench/checkpoint/checkpoint_bytes.hpp"
#include "io/publish.hpp"

namespace shardkit {
namespace {

constexpr std::uint64_t kBlock = 8U << 20U;
constexpr const char* kName = "iobench-checkpoint";

}  // namespace

CheckpointWriter::CheckpointWriter(FileSystem& files, std::string folder, std::uint64_t bytes)
    : files_(files), folder_(std::move(folder)), bytes_(bytes), block_(std::min(bytes, kBlock)) {
  AtomicFile(files_, join_path(folder_, kName));  // that it can be written there
  fill_with_noise(block_, 0);
}

void CheckpointWriter::write(const std::stop_token& stop) {
  AtomicFile file(files_, join_path(folder_, kName));
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t left = bytes_; left > 0;) {
    if (stop.stop_requested()) return;
    const std::size_t piece = std::min<std::uint64_t>(left, block_.size());
    file.write(std::span(block_).first(piece));
    left -= piece;
  }
  file.flush();
  file.file().sync();
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  ++count_;
  seconds_ += took;
  longest_ = std::max(longest_, took);
}

}  // namespace shardkit
