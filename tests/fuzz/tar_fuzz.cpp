// The two ways through an archive, seeking and streaming, tell the same of any bytes.

#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/hash.hpp"
#include "formats/tar_scanner.hpp"
#include "fuzz/fuzz.hpp"

using namespace shardkit;
using namespace shardkit::formats;

namespace {

/// Records the calls.
class Protocol final : public TarHandler {
 public:
  bool entry(const TarEntry& entry) override {
    fuzz::promise(entry.record_offset <= entry.header_offset && entry.header_offset < entry.data_offset);
    lines_ += fmt::format("{} {} {} {} {}\n", entry.name, static_cast<int>(entry.type), entry.header_offset,
                          entry.data_offset, entry.size);
    return entry.size < 4096;
  }
  void content(Bytes piece) override {
    fuzz::promise(!piece.empty());
    lines_ += as_text(piece);
  }
  void content_end() override { lines_ += "end\n"; }
  void finding(const TarFinding& finding) override {
    lines_ += fmt::format("fault {} at {}\n", static_cast<int>(finding.fault), finding.offset);
  }
  const std::string& lines() const { return lines_; }

 private:
  std::string lines_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes archive = fuzz::bytes_of(data, size);
  MemorySource source(archive);
  Protocol sought;
  Context context;
  scan_tar(source, sought, context);
  for (const std::size_t step : {std::size_t{1U << 20U}, std::size_t{700}}) {
    Protocol streamed;
    TarFeed feed(streamed, archive.size());
    for (std::size_t at = 0; at < archive.size(); at += step) {
      feed.feed(archive.subspan(at, std::min(step, archive.size() - at)));
    }
    feed.finish();
    fuzz::promise(streamed.lines() == sought.lines());
  }
  return 0;
}
