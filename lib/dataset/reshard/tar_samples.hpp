#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "dataset/reshard/hard_links.hpp"
#include "dataset/samples/sample_label.hpp"
#include "formats/moved_sample.hpp"
#include "formats/sample_name.hpp"
#include "formats/tar_scanner.hpp"

namespace shardkit {

/// True for names of files that an operating system put beside samples (".DS_Store", "__MACOSX/x"), of hidden ones, and
/// of none: readers disagree about them.
bool is_stray_name(std::string_view name);

/// Makes samples of a tar's headers and labels, for scan_shard(). Keys and extensions are those of the tar, the latter
/// in lower case; members of no sample are counted.
class TarSamples final : public TarHandler {
 public:
  using OnSample = std::function<void(MovedSample&&)>;

  /// `tar` is where the bytes lie, `name` what errors call it, `links` what resolve_hard_links() found. All stay the
  /// caller's.
  TarSamples(const std::string& tar, const std::string& name, const std::map<std::uint64_t, LinkedContent>& links,
             OnSample on_sample)
      : tar_(tar), name_(name), links_(links), on_sample_(std::move(on_sample)) {}

  bool entry(const TarEntry& entry) override;
  void content(Bytes piece) override { label_reader_.add(piece); }
  void content_end() override { label_ = label_reader_.label(); }
  /// Throws Error{corrupt} for what makes readers lose members.
  void finding(const TarFinding& finding) override;
  /// No member follows.
  void finish();

  /// The tar has hard links that `links` lacks: resolve them and read it again.
  bool needs_links() const { return needs_links_; }
  bool lacks_end() const { return lacks_end_; }
  std::uint64_t ignored() const { return ignored_; }

 private:
  [[noreturn]] void fail(ErrorCode code, std::uint64_t offset, const std::string& text) const;
  void add(const TarEntry& member);
  void read_linked_label(const LinkedContent& content);
  void give(Sample&& found);

  const std::string& tar_;
  const std::string& name_;
  const std::map<std::uint64_t, LinkedContent>& links_;
  OnSample on_sample_;
  SampleGrouper grouper_;
  std::size_t members_ = 0;  ///< of the current sample
  LabelReader label_reader_;
  std::optional<std::uint64_t> label_;
  bool needs_links_ = false;
  bool lacks_end_ = false;
  std::uint64_t ignored_ = 0;
};

}  // namespace shardkit
