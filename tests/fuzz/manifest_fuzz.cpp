// The JSON files of a set: a manifest that is read is written again as it means, others are refused.

#include "formats/manifest.hpp"
#include "formats/wids_index.hpp"
#include "fuzz/fuzz.hpp"
#include "staging/stage_journal.hpp"

using namespace shardkit;
using namespace shardkit::formats;
using namespace shardkit::staging;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(fuzz::bytes_of(data, size));
  const auto refusals = {ErrorCode::corrupt, ErrorCode::unsupported};
  fuzz::may_fail_with(refusals, [&] {
    const Manifest manifest = read_manifest(text, "fuzz");
    fuzz::promise(read_manifest(write_manifest(manifest), "fuzz") == manifest);
  });
  fuzz::may_fail_with(refusals, [&] {
    const StagedMarker marker = formats::read_staged_marker(text, "fuzz");
    fuzz::promise(formats::read_staged_marker(write_staged_marker(marker), "fuzz") == marker);
  });
  fuzz::may_fail_with(refusals, [&] { read_wids_index(text, "fuzz"); });
  is_wids_index(text);
  return 0;
}
