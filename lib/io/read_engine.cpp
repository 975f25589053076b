#include "io/read_engine.hpp"

#include <algorithm>

#include <fcntl.h>
#include <fmt/format.h>

#include "core/error.hpp"
#include "io/direct_opener.hpp"
#include "io/mmap_engine.hpp"
#include "io/sync_lane.hpp"
#include "io/uring_engine.hpp"

namespace shardkit {
namespace {

class PreadEngine final : public ReadEngine {
 public:
  explicit PreadEngine(const ReadEngineOptions& options) : opener_(options) {}
  std::string_view name() const override { return "pread"; }
  unsigned depth() const override { return 1; }
  std::shared_ptr<const ReadFile> open(const std::string& path) const override { return opener_.open(path); }
  std::unique_ptr<ReadLane> make_lane(std::size_t most) const override {
    return std::make_unique<SyncLane>(pread_window, most);
  }

 private:
  FileOpener opener_;
};

}  // namespace

bool engine_takes_depth(std::string_view name) { return name == "uring"; }

std::unique_ptr<ReadEngine> make_read_engine(std::string_view name, const ReadEngineOptions& options) {
  if (std::ranges::find(kReadEngines, name) == kReadEngines.end()) {
    throw Error(ErrorCode::usage,
                fmt::format("--engine: there is no engine '{}'; there are: {}", name, fmt::join(kReadEngines, ", ")));
  }
  if (options.depth > 1 && !engine_takes_depth(name)) {
    throw Error(ErrorCode::unsupported,
                fmt::format("engine '{}' has one read under way for each thread: more --threads have more, and so has "
                            "--engine uring with --depth",
                            name));
  }
  if (name == "pread") return std::make_unique<PreadEngine>(options);
  if (name == "mmap") return make_mmap_engine(options);
  return make_uring_engine(options);
}

}  // namespace shardkit
