#include "dataset/reshard/duplicate_keys.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/units.hpp"

namespace shardkit {
namespace {

std::string place(const MovedSample& sample, const ReshardInputs& inputs) {
  return fmt::format("'{}' at byte {}", inputs.tars[sample.input].path, sample.members.front().offset);
}

[[noreturn]] void refuse(const MovedSample& first, const MovedSample& second, std::uint64_t keys,
                         const ReshardInputs& inputs) {
  const std::string more = keys > 1 ? fmt::format(" ({} in all are there twice)", format_count(keys, "key")) : "";
  const std::string remedy = first.input == second.input
                                 ? "its members are no neighbours, or it was written twice; mend that tar"
                                 : "--mark-duplicates keeps both under keys of their own";
  throw Error(ErrorCode::conflict,
              fmt::format("key '{}' is in {} and in {}{}: {}", second.key, place(first, inputs), place(second, inputs),
                          more, remedy),
              inputs.tars[second.input].path, second.members.front().offset);
}

class Settler {
 public:
  Settler(SampleTable& table, const ReshardInputs& inputs, bool mark) : table_(table), inputs_(inputs), mark_(mark) {}

  /// True when samples were marked.
  bool run(Context& ctx) {
    std::vector<std::uint32_t> order(table_.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto hash = [this](std::uint32_t sample) { return table_.record(sample).key_hash; };
    unsigned compared = 0;
    std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
      if (++compared % 65536 == 0) ctx.throw_if_stopped();  // ten million take seconds
      return hash(a) != hash(b) ? hash(a) < hash(b) : a < b;
    });
    for (auto begin = order.begin(); begin != order.end();) {
      const auto end =
          std::find_if(begin, order.end(), [&](std::uint32_t other) { return hash(other) != hash(*begin); });
      if (end - begin > 1) settle(std::span(begin, end));
      begin = end;
    }
    if (repeated_keys_ > 0) refuse(table_.read(refused_.first), table_.read(refused_.second), repeated_keys_, inputs_);
    for (const std::uint32_t sample : to_mark_) table_.mark(sample);
    return !to_mark_.empty();
  }

 private:
  /// Samples whose keys have one hash: nearly always one key.
  void settle(std::span<const std::uint32_t> samples) {
    std::map<std::string, std::vector<std::uint32_t>> by_key;
    for (const std::uint32_t sample : samples) by_key[table_.read(sample).key].push_back(sample);
    for (const auto& [key, same] : by_key) {
      if (same.size() == 1) continue;
      std::set<std::uint64_t> tars;
      for (const std::uint32_t sample : same) tars.insert(table_.read(sample).input);
      if (mark_ && tars.size() == same.size()) {
        to_mark_.insert(to_mark_.end(), same.begin(), same.end());
      } else {
        const auto pair = pair_to_name(same);
        if (repeated_keys_++ == 0 || pair.first < refused_.first) refused_ = pair;
      }
    }
  }

  /// Two of one tar where marks were asked for: samples of several tars would have got them.
  std::pair<std::uint32_t, std::uint32_t> pair_to_name(const std::vector<std::uint32_t>& same) const {
    const auto input = [this](std::uint32_t sample) { return table_.read(sample).input; };
    const auto twins = mark_ ? std::ranges::adjacent_find(same, {}, input) : same.end();
    return twins == same.end() ? std::pair(same[0], same[1]) : std::pair(twins[0], twins[1]);
  }

  SampleTable& table_;
  const ReshardInputs& inputs_;
  bool mark_;
  std::vector<std::uint32_t> to_mark_;
  std::pair<std::uint32_t, std::uint32_t> refused_;  ///< of the repeated keys that in input order comes first
  std::uint64_t repeated_keys_ = 0;
};

}  // namespace

void settle_duplicate_keys(SampleTable& table, const ReshardInputs& inputs, bool mark, Context& ctx) {
  ctx.progress().start("compare keys", table.size());
  // A marked key may meet one that was there before: then only an error is honest.
  if (Settler(table, inputs, mark).run(ctx)) Settler(table, inputs, false).run(ctx);
}

}  // namespace shardkit
