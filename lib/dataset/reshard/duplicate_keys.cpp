#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/remedies.hpp"
#include "core/units.hpp"
#include "dataset/reshard/reshard.hpp"
#include "dataset/reshard/sample_table.hpp"

namespace shardkit::dataset {
namespace {

using Samples = std::vector<std::uint32_t>;

std::string position(const formats::MovedSample& sample, const ReshardInputs& inputs) {
  return fmt::format("'{}' at byte {}", inputs.tars[sample.input].path, sample.members.front().offset);
}

class Settler {
 public:
  Settler(SampleTable& table, bool mark) : table_(table), mark_(mark) {}

  void run(Context& context) {
    SampleOrder order = input_order(table_);
    const auto hash = [this](std::uint32_t sample) { return table_.record(sample).key_hash; };
    unsigned compared = 0;
    std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
      if (++compared % 65536 == 0) context.throw_if_stopped();  // ten million take seconds
      return hash(a) != hash(b) ? hash(a) < hash(b) : a < b;
    });
    for (auto begin = order.begin(); begin != order.end();) {
      const auto end =
          std::find_if(begin, order.end(), [&](std::uint32_t other) { return hash(other) != hash(*begin); });
      if (end - begin > 1) settle(std::span(begin, end));
      begin = end;
    }
    for (const auto& [sample, mark] : to_mark_) table_.mark(sample, mark);
  }

  bool has_marked() const { return !to_mark_.empty(); }
  std::uint64_t joined() const { return joined_; }
  std::uint64_t repeated_keys() const { return repeated_keys_; }
  /// Two samples of the repeated key that comes first in input order.
  const std::pair<std::uint32_t, std::uint32_t>& refused() const { return refused_; }

 private:
  /// Samples whose keys have one hash: nearly always one key.
  void settle(std::span<const std::uint32_t> samples) {
    std::map<std::string, Samples> by_key;
    for (const std::uint32_t sample : samples) by_key[table_.read(sample).key].push_back(sample);
    for (auto& [key, same] : by_key) {
      if (same.size() > 1) same = join_pieces(same);
      if (same.size() == 1) continue;
      if (mark_) {
        mark(same);
      } else if (repeated_keys_++ == 0 || std::pair(same[0], same[1]) < refused_) {
        refused_ = {same[0], same[1]};
      }
    }
  }

  /// Joins pieces of a sample of one tar, in the tar's order; returns those that are separate samples.
  Samples join_pieces(const Samples& same) {
    struct Whole {
      std::uint32_t sample = 0;
      std::set<std::string> extensions;
    };
    std::map<std::pair<std::uint64_t, std::string>, Whole> open;  // by tar and key there
    Samples wholes;
    for (const std::uint32_t piece : same) {
      const formats::MovedSample line = table_.read(piece);
      std::set<std::string> extensions;
      for (const formats::IndexMember& member : line.members) extensions.insert(member.extension);
      const auto [at, is_new] = open.try_emplace({line.input, line.source_key}, Whole{piece, extensions});
      Whole& whole = at->second;
      const auto is_there = [&](const std::string& extension) { return whole.extensions.contains(extension); };
      if (is_new || std::ranges::any_of(extensions, is_there)) {
        wholes.push_back(piece);
        whole = {piece, std::move(extensions)};
      } else {
        table_.join(whole.sample, piece);
        whole.extensions.merge(extensions);
        ++joined_;
      }
    }
    return wholes;
  }

  void mark(const Samples& same) {
    std::map<std::uint64_t, unsigned> of_tar;
    for (const std::uint32_t sample : same) ++of_tar[table_.read(sample).input];
    for (const std::uint32_t sample : same) {
      const bool is_only = of_tar[table_.read(sample).input] == 1;
      to_mark_.emplace_back(sample, is_only ? SampleTable::Mark::by_input : SampleTable::Mark::by_position);
    }
  }

  SampleTable& table_;
  bool mark_;
  std::vector<std::pair<std::uint32_t, SampleTable::Mark>> to_mark_;
  std::pair<std::uint32_t, std::uint32_t> refused_;
  std::uint64_t repeated_keys_ = 0;
  std::uint64_t joined_ = 0;
};

}  // namespace

std::uint64_t settle_duplicate_keys(SampleTable& table, const ReshardInputs& inputs, const ReshardOptions& options,
                                    Context& context) {
  context.progress().start("compare keys", table.size());
  Settler settler(table, options.mark_duplicates);
  settler.run(context);
  // A marked key may meet one that was there before: then only an error is honest.
  Settler after(table, false);
  if (settler.has_marked()) after.run(context);
  const Settler& last = settler.has_marked() ? after : settler;
  if (last.repeated_keys() == 0) return settler.joined();
  const formats::MovedSample first = table.read(last.refused().first);
  const formats::MovedSample second = table.read(last.refused().second);
  const std::uint64_t keys = last.repeated_keys();
  const std::string more = keys > 1 ? fmt::format(" ({} exist twice in total)", format_count(keys, "key")) : "";
  throw Error(ErrorCode::conflict, At{inputs.tars[second.input].path, second.members.front().offset},
              "key '{}' is in {} and in {}{}; {} keeps both with different keys", second.key, position(first, inputs),
              position(second, inputs), more,
              options.mark_duplicates ? "reshard them into sets of their own, which"
                                      : remedy::in_text(remedy::with_mark_duplicates(command_of(options))));
}

}  // namespace shardkit::dataset
