// A part log tells ranges within its file, or nothing; one that was cut tells no more than before.

#include "fuzz/fuzz.hpp"
#include "staging/file_copy.hpp"

using namespace shardkit;
using namespace shardkit::staging;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(fuzz::bytes_of(data, size));
  const auto record = read_part_log(text);
  if (!record) return 0;
  std::uint64_t end = 0;
  for (const ByteRange& range : record->durable.ranges()) {
    fuzz::promise(range.begin < range.end && range.end <= record->size);
    fuzz::promise(end == 0 || range.begin > end);
    end = range.end;
  }
  fuzz::promise(record->durable.total() <= record->size);
  // Bytes behind the last line end, as a power cut leaves them, change nothing.
  const auto whole = read_part_log(text.substr(0, text.rfind('\n') + 1));
  fuzz::promise(whole && whole->name == record->name && whole->pin == record->pin && whole->size == record->size &&
                whole->durable.ranges() == record->durable.ranges());
  return 0;
}
