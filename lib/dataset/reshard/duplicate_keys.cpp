#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/remedies.hpp"
#include "core/units.hpp"
#include "dataset/reshard/reshard.hpp"
#include "dataset/reshard/sample_table.hpp"
#include "dataset/reshard/tar_samples.hpp"

namespace shardkit::dataset {
namespace {

using Samples = std::vector<std::uint32_t>;

std::string position(const formats::MovedSample& sample, const ReshardInputs& inputs) {
  return fmt::format("'{}' at byte {}", inputs.tars[sample.input].path, sample.members.front().offset);
}

class Settler {
 public:
  Settler(SampleTable& table, GatheredSamples& gathered, const ReshardOptions& options, bool mark)
      : table_(table), gathered_(gathered), options_(options), mark_(mark) {}

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

  /// The number of the archive in an input that was put together of several.
  std::uint64_t archive_of(const formats::MovedSample& sample) const {
    const auto starts = gathered_.archive_starts.find(sample.input);
    if (starts == gathered_.archive_starts.end()) return 0;
    const auto last = std::ranges::max(sample.members, {}, &formats::IndexMember::offset).offset;
    return static_cast<std::uint64_t>(std::ranges::upper_bound(starts->second, last) - starts->second.begin());
  }

  struct Whole {
    std::uint32_t sample = 0;
    std::uint64_t archive = 0;
    std::set<std::string> extensions;
  };

  /// Whether `piece` is a sample of its own: with members that are already there, from another archive or under a
  /// --rename, which may have given two members one name; or with all of them, if they are to be marked.
  bool is_another(const Whole& whole, const Whole& piece) const {
    if (!options_.rename.empty() || whole.archive != piece.archive) {
      const auto is_there = [&](const std::string& extension) { return whole.extensions.contains(extension); };
      return std::ranges::any_of(piece.extensions, is_there);
    }
    return mark_ && std::ranges::includes(piece.extensions, whole.extensions);
  }

  /// Joins pieces of a sample of one tar, in the tar's order; returns those that are separate samples.
  Samples join_pieces(const Samples& same) {
    std::map<std::pair<std::uint64_t, std::string>, Whole> open;  // by tar and key there
    Samples wholes;
    for (const std::uint32_t sample : same) {
      const formats::MovedSample line = table_.read(sample);
      Whole piece{sample, archive_of(line), {}};
      for (const formats::IndexMember& member : line.members) piece.extensions.insert(member.extension);
      const auto [at, is_new] = open.try_emplace({line.input, unpacked_name(line.source_key)}, piece);
      Whole& whole = at->second;
      if (is_new || is_another(whole, piece)) {
        wholes.push_back(sample);
        whole = std::move(piece);
      } else {
        gathered_.replaced.add(table_.join(whole.sample, sample));
        whole.archive = piece.archive;
        whole.extensions.merge(piece.extensions);
        ++joined_;
      }
    }
    return wholes;
  }

  void mark(const Samples& same) {
    std::map<std::uint64_t, unsigned> of_tar;
    for (const std::uint32_t sample : same) ++of_tar[table_.read(sample).input];
    std::set<std::pair<std::uint64_t, std::uint64_t>> positions;  // of links they may be equal
    for (const std::uint32_t sample : same) {
      const formats::MovedSample line = table_.read(sample);
      using enum SampleTable::Mark;
      const bool is_new = positions.emplace(line.input, SampleTable::position_of(line)).second;
      to_mark_.emplace_back(sample, of_tar[line.input] == 1 ? by_input : is_new ? by_position : by_number);
    }
  }

  SampleTable& table_;
  GatheredSamples& gathered_;
  const ReshardOptions& options_;
  bool mark_;
  std::vector<std::pair<std::uint32_t, SampleTable::Mark>> to_mark_;
  std::pair<std::uint32_t, std::uint32_t> refused_;
  std::uint64_t repeated_keys_ = 0;
  std::uint64_t joined_ = 0;
};

}  // namespace

std::uint64_t settle_duplicate_keys(SampleTable& table, GatheredSamples& gathered, const ReshardInputs& inputs,
                                    const ReshardOptions& options, Context& context) {
  context.progress().start("compare keys", table.size());
  Settler settler(table, gathered, options, options.mark_duplicates);
  settler.run(context);
  // A marked key may meet one that was there before: then only an error is honest.
  Settler after(table, gathered, options, false);
  if (settler.has_marked()) after.run(context);
  const Settler& last = settler.has_marked() ? after : settler;
  if (last.repeated_keys() == 0) return settler.joined();
  const formats::MovedSample first = table.read(last.refused().first);
  const formats::MovedSample second = table.read(last.refused().second);
  const ReshardInput& one = inputs.tars[first.input];
  const ReshardInput& other = inputs.tars[second.input];
  const auto hash = [&](const ReshardInput& tar) { return xxh3_128(*inputs.files->open(tar.tar())); };
  const bool may_be_copy = first.input != second.input && one.tar_bytes() == other.tar_bytes();
  if (may_be_copy && !options.mark_duplicates && hash(one) == hash(other)) {
    throw Error(ErrorCode::conflict, At{other.path},
                "'{}' has the same bytes as '{}': leave one of them out by naming the other tars", other.path,
                one.path);
  }
  const std::uint64_t keys = last.repeated_keys();
  const std::string more = keys > 1 ? fmt::format(" ({} exist twice in total)", format_count(keys, "key")) : "";
  throw Error(ErrorCode::conflict, At{inputs.tars[second.input].path, second.members.front().offset},
              "key '{}' is in {} and in {}{}; {} keeps both with different keys", second.key, position(first, inputs),
              position(second, inputs), more,
              options.mark_duplicates ? "reshard them into sets of their own, which"
                                      : remedy::in_text(remedy::with_mark_duplicates(command_of(options))));
}

}  // namespace shardkit::dataset
