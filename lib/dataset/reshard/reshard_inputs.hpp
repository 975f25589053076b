#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "catalog/shard_set.hpp"
#include "catalog/unpacked_tar.hpp"
#include "core/context.hpp"
#include "dataset/sharding/shard_writer.hpp"
#include "formats/manifest.hpp"
#include "formats/plan_file.hpp"

namespace shardkit::dataset {

/// A tar that samples are taken from.
struct ReshardInput {
  std::string path;                                ///< as it was named
  formats::PlanInput identity;                     ///< of the file at `path`
  std::unique_ptr<catalog::UnpackedTar> unpacked;  ///< of a compressed one

  bool is_compressed() const { return catalog::is_compressed_tar_name(path); }
  /// The plain tar and its size.
  const std::string& tar() const { return unpacked ? unpacked->path() : path; }
  std::uint64_t tar_bytes() const { return unpacked ? unpacked->bytes() : identity.bytes; }
};

struct ReshardInputs {
  std::shared_ptr<catalog::Inputs> files;  ///< opens the tars and what lies beside them
  std::vector<ReshardInput> tars;
  /// Names of labels, from the manifests beside the tars; ordered by label, then name. Their counts are 0.
  std::vector<formats::ManifestClass> classes;
  /// Options of the converts that made them which explain where samples differ from their source (verify --against):
  /// list, metadata, on_bad, quality, resize, sidecar. Of several values the first.
  std::map<std::string, std::string> made_with;
};

/// The classes of each label; a class map may give several one label.
std::map<std::uint64_t, std::vector<std::string>> names_by_label(const std::vector<formats::ManifestClass>& classes);

/// What the operands name (resolve_shards()). Throws Error{usage} when a tar lies in one of the folders `targets`,
/// Error{conflict} when two manifests call one label by different names: the merged set would confuse them.
ReshardInputs find_reshard_inputs(const std::vector<std::string>& operands, const std::vector<std::string>& targets,
                                  const catalog::StoreAccess& access, Context& ctx);

/// Unpacks the compressed ones into `folder`, several at a time. Throws Error{no_space} before the first byte when not
/// even their packed bytes would fit, later as UnpackedTar does.
void unpack_inputs(ReshardInputs& inputs, const std::string& folder, unsigned threads, io::FileSystem& files,
                   Context& ctx);

/// Where the content lies that a hard link in a tar stands for.
struct LinkedContent {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// The contents of a tar's hard links, by the offset of the link's header. GNU tar writes such links for files that
/// share an inode; readers of shards see nothing there. Reads the tar's headers twice; memory grows with the links
/// alone. Throws Error{corrupt} with the place of a link that leads to no file of the tar, or back to itself.
std::map<std::uint64_t, LinkedContent> resolve_hard_links(ByteSource& tar, const std::string& name, const Context& ctx);

/// The samples of a reshard's plan, read from its input tars; `plan` and `inputs` outlive it. `drop_bad`: samples with
/// an image that verify counts as an error (image_fault()), and labels and texts without data, are left out; `cores`
/// decode at a time.
std::unique_ptr<SampleSource> shard_source(const formats::PlanReader& plan, const ReshardInputs& inputs, bool drop_bad,
                                           unsigned cores);

}  // namespace shardkit::dataset
