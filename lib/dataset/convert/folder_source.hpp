#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "catalog/image_source.hpp"
#include "dataset/sharding/shard_writer.hpp"
#include "formats/plan_file.hpp"

namespace shardkit::dataset {

/// What became of images on their way. Written by many threads.
struct ImageCounts {
  std::atomic<std::uint64_t> kept_bad{0};       ///< failed validation or would not be resized, and kept (--on-bad keep)
  std::atomic<std::uint64_t> resized{0};        ///< made smaller
  std::atomic<std::uint64_t> other_quality{0};  ///< of these: at a lower quality than asked for
  std::atomic<std::uint64_t> not_jpeg{0};       ///< of another kind, and therefore not resized
};

/// The samples of a convert's plan, read from the files of their source and treated as the plan says (--validate,
/// --on-bad, --resize); `cores` decode at a time. `plan` and `counts` outlive it. Throws Error{corrupt} for a plan
/// whose options say nothing or nonsense about it.
std::unique_ptr<SampleSource> folder_source(const formats::PlanReader& plan, const catalog::SourceFolder& images,
                                            unsigned cores, ImageCounts& counts);

}  // namespace shardkit::dataset
