#include "support/scanned_tar.hpp"

#include <algorithm>

#include "core/bytes.hpp"

namespace shardkit::test {
namespace {

class Collector final : public formats::TarHandler {
 public:
  bool entry(const formats::TarEntry& entry) override {
    result.entries.push_back(entry);
    result.contents.emplace_back();
    return true;
  }
  void content(Bytes piece) override { current_ += as_text(piece); }
  void content_end() override {
    result.contents.back() = current_;
    current_.clear();
  }
  void finding(const formats::TarFinding& finding) override {
    current_.clear();
    result.findings.push_back(finding);
  }

  ScannedTar result;

 private:
  std::string current_;
};

}  // namespace

std::vector<formats::TarFault> ScannedTar::faults() const {
  std::vector<formats::TarFault> result;
  for (const formats::TarFinding& finding : findings) result.push_back(finding.fault);
  return result;
}

bool ScannedTar::has(formats::TarFault fault) const {
  return std::any_of(findings.begin(), findings.end(), [&](const auto& finding) { return finding.fault == fault; });
}

ScannedTar scan(std::string_view archive) {
  MemorySource source(as_bytes(archive));
  Collector collector;
  Context context;
  formats::scan_tar(source, collector, context);
  return std::move(collector.result);
}

ScannedTar feed(std::string_view archive, std::size_t piece, formats::AfterEnd after_end) {
  Collector collector;
  formats::TarFeed tar(collector, archive.size(), after_end);
  for (std::size_t offset = 0; offset < archive.size(); offset += piece) {
    tar.feed(as_bytes(archive.substr(offset, piece)));
  }
  tar.finish();
  return std::move(collector.result);
}

bool same(const ScannedTar& a, const ScannedTar& b) {
  const auto same_entry = [](const formats::TarEntry& x, const formats::TarEntry& y) {
    return x.name == y.name && x.link_target == y.link_target && x.type == y.type &&
           x.record_offset == y.record_offset && x.header_offset == y.header_offset && x.data_offset == y.data_offset &&
           x.size == y.size;
  };
  return std::equal(a.entries.begin(), a.entries.end(), b.entries.begin(), b.entries.end(), same_entry) &&
         a.contents == b.contents && a.faults() == b.faults();
}

}  // namespace shardkit::test
