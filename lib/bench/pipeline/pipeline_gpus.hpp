#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "bench/pipeline/gpu/gpu_sink.hpp"
#include "bench/pipeline/pipeline.hpp"
#include "bench/pipeline/pipeline_setup.hpp"

/// Which GPUs take a pipeline's batches, and whether any do.
namespace shardkit::bench {

/// The option that cannot do without a GPU, such as "--sink gpu"; empty where none is given.
std::optional<std::string_view> option_for_gpu(const PipelineOptions& options);

/// How many GPUs --device lists; none without it. Throws Error{usage} for what is no list of numbers.
std::vector<std::uint64_t> listed_devices(const PipelineOptions& options);

/// The GPUs that take batches, of those that are there: the listed ones, else the first. None where batches stay in
/// host memory. Fewer than the job has share its batches in turn, which is warned of once. Throws Error{unsupported}
/// where one is asked for and not there.
std::vector<gpu::Device*> choose_gpus(const PipelineOptions& options, const PipelineSetup& setup,
                                      const PipelineMachine& machine, Context& context);

/// Decoders for them, where --decode nvjpeg asks for that; else none. They have to be of one model, as workers do not
/// know where an image will go. Throws Error{unsupported}.
std::vector<std::unique_ptr<gpu::DeviceJpegDecoder>> open_decoders(const PipelineSetup& setup,
                                                                   const std::vector<gpu::Device*>& gpus,
                                                                   const PipelineMachine& machine);

/// Memory of a GPU for decoded images: 1 MiB a sample, 64 MiB to 1 GiB, at most a quarter of what is free.
std::uint64_t jpeg_memory(const PipelineSetup& setup, const gpu::Device& gpu);

/// The sink for them; the host's where they are none. Throws as GpuSink does.
std::unique_ptr<BatchSink> make_sink(const PipelineOptions& options, const PipelineSetup& setup,
                                     const std::vector<gpu::Device*>& gpus,
                                     const std::vector<std::unique_ptr<gpu::DeviceJpegDecoder>>& decoders,
                                     const PipelineMachine& machine, Context& context);

}  // namespace shardkit::bench
