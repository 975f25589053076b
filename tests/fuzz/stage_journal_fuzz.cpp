// A stage journal tells the same however many pieces it is read in, and never more than its whole lines.

#include <algorithm>

#include "fuzz/fuzz.hpp"
#include "staging/stage_journal.hpp"

using namespace shardkit;
using namespace shardkit::staging;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(fuzz::bytes_of(data, size));
  StageJournal::State at_once;
  at_once.take(text);
  fuzz::promise(at_once.read == text.rfind('\n') + 1);
  StageJournal::State in_pieces;
  for (std::size_t seen = 0; seen < size;) {
    seen = std::min(size, seen + 7 + seen / 3);
    in_pieces.take(text.substr(in_pieces.read, seen - in_pieces.read));
  }
  fuzz::promise(in_pieces.read == at_once.read && in_pieces.set.has_value() == at_once.set.has_value());
  fuzz::promise(!at_once.set || (in_pieces.set->is(*at_once.set) && in_pieces.set->source == at_once.set->source));
  const auto same = [](const auto& a, const auto& b) {
    return a.first == b.first && a.second.bytes == b.second.bytes && a.second.pin == b.second.pin &&
           a.second.hash == b.second.hash;
  };
  fuzz::promise(std::ranges::equal(at_once.files, in_pieces.files, same));
  return 0;
}
