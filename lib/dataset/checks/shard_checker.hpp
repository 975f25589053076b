#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "catalog/shard_set.hpp"
#include "core/bytes.hpp"
#include "core/context.hpp"
#include "dataset/checks/expected_shard.hpp"
#include "dataset/checks/problem.hpp"
#include "dataset/samples/sample_lister.hpp"
#include "formats/sample_name.hpp"
#include "formats/tar_parser.hpp"
#include "image/image_header.hpp"

namespace shardkit::dataset {

/// Looks at the content of a shard's members while the shard is read once, from start to end. For one shard and one
/// thread.
class MemberWatcher {
 public:
  virtual ~MemberWatcher() = default;

  /// A regular member of a sample. Returns true to get its content.
  virtual bool begin(const formats::TarEntry& entry, const formats::SampleName& name) = 0;
  /// The next piece of the requested content, never empty.
  virtual void piece(Bytes bytes) = 0;
  /// The content is complete. Not called for a member that the end of the archive truncates.
  virtual void end() = 0;
  /// The sample of the previous members is complete. Not called for a sample that the end of the archive may have
  /// truncated.
  virtual void sample_end(const formats::IndexSample& /*sample*/) {}
};

/// Samples with something in common, such as their set of members.
struct SampleKind {
  std::uint64_t samples = 0;
  std::string first_key;
  std::uint64_t first_offset = 0;

  void add(const formats::IndexSample& sample) {
    if (samples++ > 0) return;
    first_key = sample.key;
    first_offset = sample.offset;
  }
};

/// The facts found about one shard.
struct ShardReport {
  explicit ShardReport(std::string shard) : log(std::move(shard)) {}

  ProblemLog log;
  std::uint64_t samples = 0;
  std::uint64_t members = 0;
  std::uint64_t content_end = 0;          ///< of the last sample's last member
  std::vector<std::uint64_t> key_hashes;  ///< XXH3-64 of the samples' keys, in shard order
  std::unordered_map<std::uint64_t, std::uint64_t> samples_by_label;
  std::map<std::string, SampleKind> kinds;  ///< by the samples' extensions without the label's, sorted and joined
  SampleKind unlabeled;
  std::vector<SampleKind> texts;    ///< samples of texts alone; the last stands for all that are not listed
  std::string nameless_kind;        ///< extension for the first member without one, by its first bytes; empty: unknown
  bool ends_within_sample = false;  ///< see is_start_of_sample()
  bool damaged = false;             ///< bytes or samples of it are lost, so that the set is incomplete

  void note_text(const formats::IndexSample& sample) {
    if (texts.size() < ProblemLog::kMostErrorsListed) texts.emplace_back();
    texts.back().add(sample);
  }
};

/// Facts about the samples of a set, from its manifests.
struct SampleFacts {
  std::vector<std::uint64_t> labels;  ///< of the classes, sorted; empty: any label is valid
  PrimaryExtensions primary;
};

/// The usual extension of an image's kind; empty if unknown.
std::string extension_of(image::ImageKind kind);

/// What a shard is checked against.
struct ShardCheck {
  catalog::Inputs& inputs;
  const catalog::ShardFile& shard;
  const ExpectedShard& expected;
  const SampleFacts& facts;
  bool reads_all = true;                                        ///< compares every byte, not only headers
  const std::vector<std::unique_ptr<MemberWatcher>>& contents;  ///< look at members' contents at the same time
};

/// Reads and checks one shard. Its problems are added to `report`; throws only Error{cancelled}.
void verify_shard(const ShardCheck& check, ShardReport& report, Context& context);

}  // namespace shardkit::dataset
