// Names: keys are portable whatever the bytes, patterns expand or are refused, sizes and times parse or are refused.

#include "core/units.hpp"
#include "formats/brace_pattern.hpp"
#include "formats/portable_name.hpp"
#include "formats/sample_name.hpp"
#include "fuzz/fuzz.hpp"

using namespace shardkit;
using namespace shardkit::formats;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(fuzz::bytes_of(data, size));
  const std::string key = image_key("class", text);
  fuzz::promise(key.size() <= kLongestKey);
  const auto mark = static_cast<KeyMark>(size % 3);
  fuzz::promise(image_key("class", text, mark, 60).size() + 1 + 60 <= 100);
  for (const char c : marked_key(key, text) + portable_extension(text)) fuzz::promise(c > ' ' && c < 0x7f);
  if (const auto name = split_sample_name(text)) {
    fuzz::promise(name->key.size() + 1 + name->extension.size() == text.size());
  }
  fuzz::may_fail_with({ErrorCode::usage}, [&] { fuzz::promise(expand_braces(text, 1000).size() <= 1000); });
  if (const auto bytes = parse_size(text)) fuzz::promise(!text.empty());
  if (const auto seconds = parse_duration(text)) fuzz::promise(*seconds >= 0);
  return 0;
}
