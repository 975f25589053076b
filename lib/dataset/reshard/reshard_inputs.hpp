#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catalog/shard_set.hpp"
#include "catalog/unpacked_tar.hpp"
#include "core/context.hpp"
#include "dataset/sharding/shard_writer.hpp"
#include "formats/manifest.hpp"
#include "formats/plan_file.hpp"
#include "formats/shard_index.hpp"

namespace shardkit::dataset {

/// The classes of each label; a class map may give several one label.
using LabelNames = std::map<std::uint64_t, std::vector<std::string>>;

/// An input tar.
struct ReshardInput {
  ReshardInput(std::string named, formats::PlanInput file) : path(std::move(named)), identity(std::move(file)) {}

  std::string path;                                ///< as the user named it
  formats::PlanInput identity;                     ///< of the file at `path`
  std::unique_ptr<catalog::UnpackedTar> unpacked;  ///< of a compressed one
  std::shared_ptr<const LabelNames> names;         ///< of its own set's manifest; null without one
  std::optional<formats::ManifestShard> listed;    ///< the manifest's entry for it
  bool by_list = false;                            ///< made with --list: the folders of its paths are not classes
  bool has_names = false;                          ///< convert or reshard made it: its index has the original names
  bool is_compressed = false;                      ///< by its name, for a local file also by its first bytes

  /// The uncompressed tar and its size.
  const std::string& tar() const { return unpacked ? unpacked->path() : path; }
  std::uint64_t tar_bytes() const { return unpacked ? unpacked->bytes() : identity.bytes; }
};

struct ReshardInputs {
  std::shared_ptr<catalog::Inputs> files;  ///< opens the tars and the files next to them
  std::vector<ReshardInput> tars;
  /// Names of labels, from the manifests beside the tars; ordered by label, then name. Their counts are 0.
  std::vector<formats::ManifestClass> classes;
  /// Options of the converts that made them which explain where samples differ from their source (verify --against):
  /// fields, list, metadata, on_bad, primary, quality, resize, sidecar, unlabeled. Of several values the first.
  std::map<std::string, std::string> made_with;
  std::vector<formats::IndexSkip> left_out;     ///< files that the converts left out of these sets, by path
  std::map<std::string, std::uint64_t> merged;  ///< with --merge-classes: the new labels of all classes; else empty
  unsigned earlier_splits = 0;                  ///< --splits that all samples went through together
  bool texts_are_data = false;                  ///< see texts_are_data(); known once the samples are gathered
};

LabelNames names_by_label(const std::vector<formats::ManifestClass>& classes);

/// Which of the classes of its label a sample of `tar` belongs to. If there are several, its original path decides;
/// empty if that is not known, because the tar has no index or was made with --list.
std::optional<std::size_t> class_of(const ReshardInput& tar, const formats::MovedSample& sample,
                                    const std::vector<std::string>& of_label);
/// The same, but throws Error{unsupported} instead, with the remedy; `option` needs to know.
std::size_t require_class_of(const ReshardInput& tar, const formats::MovedSample& sample,
                             const std::vector<std::string>& of_label, std::string_view option);

struct ReshardOptions;
/// The inputs that the operands name (resolve_shards()). Throws Error{usage} if a tar is in one of the folders
/// `targets`, Error{conflict} if two manifests disagree about labels (compare_labels()), unless --merge-classes is
/// given: the merged set would confuse them.
ReshardInputs find_reshard_inputs(const ReshardOptions& options, const std::vector<std::string>& targets,
                                  Context& context);

/// Unpacks the compressed inputs into `folder`, several at a time. Throws Error{no_space} before the first byte if not
/// even their packed bytes fit, later like UnpackedTar.
void unpack_inputs(ReshardInputs& inputs, const ReshardOptions& options, const std::string& folder, unsigned threads,
                   io::FileSystem& files, Context& context);

/// The largest sample, with its headers, that memory has room for.
std::uint64_t most_sample_bytes();

/// The samples of a reshard's plan, read from its input tars; `plan`, `inputs` and `options` outlive it. With
/// `drop_bad` samples with an image that verify counts as an error (image_fault()), and labels and texts without data,
/// are left out, also those larger than most_sample_bytes(), and with `salvage` those whose bytes are not what their
/// index says. `cores` decode at a time.
std::unique_ptr<SampleSource> shard_source(const formats::PlanReader& plan, const ReshardInputs& inputs,
                                           const ReshardOptions& options, unsigned cores);

}  // namespace shardkit::dataset
