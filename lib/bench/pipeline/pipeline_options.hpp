#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/pipeline/loader/loader_settings.hpp"
#include "bench/pipeline/steps/step_loop.hpp"
#include "bench/read/cache_state.hpp"
#include "core/fields.hpp"
#include "image/tensor_type.hpp"

/// What `iobench pipeline` can be asked for.
namespace shardkit {

enum class SourceKind {
  data,
  null,  ///< no images at all: what is left is the tool's own work
};
template <>
struct EnumNames<SourceKind> {
  static constexpr std::array<std::string_view, 2> names{"data", "null"};
};

/// Where batches go.
enum class SinkKind {
  automatic,  ///< to GPUs, where one can be used
  host,       ///< nowhere: nothing is copied
  gpu
};
template <>
struct EnumNames<SinkKind> {
  static constexpr std::array<std::string_view, 3> names{"auto", "host", "gpu"};
};

/// Whether host memory that GPUs copy from is pinned; automatic: it is, where there is a GPU.
enum class PinnedChoice { automatic, on, off };
template <>
struct EnumNames<PinnedChoice> {
  static constexpr std::array<std::string_view, 3> names{"auto", "on", "off"};
};

/// Where samples are flipped, normalised and laid out; automatic: where they were decoded.
enum class NormalizeKind { automatic, cpu, gpu };
template <>
struct EnumNames<NormalizeKind> {
  static constexpr std::array<std::string_view, 3> names{"auto", "cpu", "gpu"};
};

struct PipelineOptions {
  std::vector<std::string> paths;
  std::optional<std::string> preset;
  std::optional<std::uint64_t> gpus;
  std::optional<std::uint64_t> batch;
  std::optional<double> step_time;
  std::uint64_t epochs = 1;
  std::string prefetch = "2";
  std::optional<std::uint64_t> workers;
  std::optional<std::uint64_t> readers;
  std::uint64_t shuffle_buffer = 0;
  CacheRequest cache = CacheRequest::any;
  SourceKind source = SourceKind::data;
  DecodeKind decode = DecodeKind::cpu;
  std::uint64_t crop = 224;
  TensorType dtype = TensorType::f32;
  TensorLayout layout = TensorLayout::nchw;
  NormalizeKind normalize = NormalizeKind::automatic;
  SinkKind sink = SinkKind::automatic;
  std::string device;  ///< numbers of GPUs with commas; empty: the first ones
  PinnedChoice pinned = PinnedChoice::automatic;
  StepKind step = StepKind::emulated;
  bool ladder = false;
  bool drop_last = false;
  std::optional<std::uint64_t> samples;
  std::optional<double> budget;
  std::optional<std::uint64_t> checkpoint_every;
  std::optional<std::uint64_t> checkpoint_bytes;
  std::string checkpoint_dir = ".";
  std::optional<std::string> trace;
  std::uint64_t seed = 0;

  void describe(FieldVisitor& v);
};

}  // namespace shardkit
