#include "io/uring_engine.hpp"

#include <atomic>
#include <system_error>

#include <fmt/format.h>

#include "io/sync_lane.hpp"
#include "io/uring_lane.hpp"

namespace shardkit {
namespace {

class UringEngine final : public ReadEngine {
 public:
  explicit UringEngine(const ReadEngineOptions& options) : opener_(options), depth_(options.depth) {
    const Uring trial(1);  // throws before caches are touched
  }
  std::string_view name() const override { return "uring"; }
  unsigned depth() const override { return depth_; }
  std::shared_ptr<const ReadFile> open(const std::string& path) const override { return opener_.open(path); }

  std::unique_ptr<ReadLane> make_lane(std::size_t most) const override {
    auto lane = std::make_unique<UringLane>(depth_, most);
    if (lane->buffer_failure() != 0) buffer_failure_ = lane->buffer_failure();
    return lane;
  }

  std::optional<std::string> remark() const override {
    const int failure = buffer_failure_;
    if (failure == 0) return std::nullopt;
    return fmt::format(
        "the buffers of engine 'uring' could not be registered ({}), so each direct read pins its memory "
        "anew; {}",
        std::generic_category().message(failure),
        failure == ENOMEM ? "raise the limit of locked memory (ulimit -l) to --threads x --depth x --block"
                          : "a smaller --block may help");
  }

 private:
  FileOpener opener_;
  unsigned depth_;
  mutable std::atomic<int> buffer_failure_{0};
};

}  // namespace

std::unique_ptr<ReadEngine> make_uring_engine(const ReadEngineOptions& options) {
  return std::make_unique<UringEngine>(options);
}

}  // namespace shardkit
