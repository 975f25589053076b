#include "bench/store/store_requests.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/prng.hpp"
#include "core/units.hpp"

namespace shardkit {
namespace {

std::vector<ObjectInfo> shuffled(std::vector<ObjectInfo> objects, std::uint64_t seed) {
  std::erase_if(objects, [](const ObjectInfo& object) { return object.size == 0; });
  Prng prng(seed);
  shuffle(std::span(objects), prng);
  return objects;
}

}  // namespace

StoreRequests::StoreRequests(std::vector<ObjectInfo> objects, std::uint64_t block, std::uint64_t seed)
    : objects_(shuffled(std::move(objects), seed)), states_(objects_.size()), block_(block), seed_(seed) {}

StoreRequest StoreRequests::next() {
  const std::uint64_t number = next_++;
  for (std::size_t skipped = 0; skipped < objects_.size(); ++skipped) {
    StoreRequest request{.object = static_cast<std::size_t>((number + skipped) % objects_.size())};
    const State state = states_[request.object];
    if (state == State::changed) continue;
    const std::uint64_t size = objects_[request.object].size;
    request.whole = state == State::whole;
    if (!request.whole) {
      const std::uint64_t blocks = (size + block_ - 1) / block_;
      request.offset = Prng(seed_ + number).below(blocks) * block_;
    }
    request.length = request.whole ? size : std::min(block_, size - request.offset);
    return request;
  }
  throw Error(ErrorCode::not_found,
              fmt::format("of {} listed all have changed or gone since", format_count(objects_.size(), "object")));
}

std::size_t StoreRequests::count(State state) const {
  return static_cast<std::size_t>(std::ranges::count_if(states_, [&](const auto& is) { return is == state; }));
}

}  // namespace shardkit
