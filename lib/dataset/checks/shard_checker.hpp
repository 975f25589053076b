#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/bytes.hpp"
#include "dataset/checks/problem.hpp"
#include "dataset/samples/sample_lister.hpp"
#include "formats/sample_name.hpp"
#include "formats/tar_parser.hpp"
#include "formats/tar_scanner.hpp"

namespace shardkit::dataset {

/// Looks at the content of a shard's members while the shard is read, once, from start to end. One shard, one thread.
class MemberWatcher {
 public:
  virtual ~MemberWatcher() = default;

  /// A regular member of a sample. True to be given its content.
  virtual bool begin(const formats::TarEntry& entry, const formats::SampleName& name) = 0;
  /// The next piece of the content asked for, never empty.
  virtual void piece(Bytes bytes) = 0;
  /// All of it was given. Does not come for a member that the end of the archive cuts.
  virtual void end() = 0;
};

/// Samples with the same set of members.
struct SampleKind {
  std::uint64_t samples = 0;
  std::string first_key;
  std::uint64_t first_offset = 0;
};

/// What one shard turned out to hold.
struct ShardReport {
  explicit ShardReport(std::string shard) : log(std::move(shard)) {}

  ProblemLog log;
  std::uint64_t samples = 0;
  std::uint64_t members = 0;
  std::vector<std::uint64_t> key_hashes;  ///< XXH3-64 of the samples' keys, in shard order
  std::unordered_map<std::uint64_t, std::uint64_t> samples_by_label;
  std::map<std::string, SampleKind> kinds;  ///< by the samples' extensions but the label's, sorted and joined
  std::uint64_t unlabelled = 0;
  std::string first_unlabelled;  ///< its key
  std::uint64_t first_unlabelled_offset = 0;
};

/// Checks a shard's members, names and samples while they are read. One shard, one thread.
class ShardChecker final : public formats::TarHandler {
 public:
  /// `report` stays the caller's. `labels` are those that the manifest knows, sorted; empty when any will do.
  /// `contents` look at members' contents; they outlive the checker.
  ShardChecker(ShardReport& report, const std::vector<std::uint64_t>& labels, std::vector<MemberWatcher*> contents)
      : report_(report), labels_(labels), contents_(std::move(contents)) {}

  bool entry(const formats::TarEntry& entry) override;
  void content(Bytes piece) override;
  void content_end() override;
  void finding(const formats::TarFinding& finding) override;

  /// No member follows. To be called when the whole shard could be read.
  void finish();

 private:
  void check_facts(const formats::TarEntry& entry);
  void check_type(const formats::TarEntry& entry);
  void finish_sample(const formats::Sample& sample);
  void check_extensions(const formats::Sample& sample);
  void note_kind(const std::vector<std::string_view>& extensions, const formats::Sample& sample);

  ShardReport& report_;
  const std::vector<std::uint64_t>& labels_;
  const std::vector<MemberWatcher*> contents_;
  std::vector<MemberWatcher*> reading_;  ///< those that asked for the current member
  bool reading_label_ = false;
  formats::SampleGrouper grouper_;
  LabelReader label_reader_;
  bool has_label_ = false;  ///< the current sample has a .cls
  std::uint64_t label_offset_ = 0;
  std::optional<std::uint64_t> label_;  ///< of the current sample, once read
  bool bad_label_ = false;
  bool damaged_ = false;  ///< the archive itself is broken, so that an empty one is no finding of its own
};

}  // namespace shardkit::dataset
