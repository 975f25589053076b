#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/input/input_files.hpp"
#include "core/context.hpp"
#include "image/tensor_type.hpp"

/// The data as PyTorch programs name it.
namespace shardkit::bench {

enum class LoaderKind {
  none,  ///< there is no code for this data
  webdataset,
  image_folder,
};

struct LoaderData {
  LoaderKind kind = LoaderKind::none;
  std::string why_none;               ///< why there is no code, as the end of a sentence
  std::vector<std::string> operands;  ///< what the data is called in commands: of a split, its set for training
  std::vector<std::string> shards;    ///< local paths, in the order of the input
  std::string image_field;            ///< "jpg", or alternatives: "jpg;png"
  bool has_labels = false;            ///< each sample that was looked at has a .cls with a number
  std::string folder;                 ///< with a folder for each class
  bool has_empty_class = false;
  std::uint64_t images = 0;  ///< in `folder`
};

/// Looks at the names of files, or of the members of one shard: reads only tar headers, and the first label. Shards of
/// a store and whole images (`crops` is false) have no code. Of a folder with sets, such as train/ and val/, the code
/// is for training.
LoaderData look_at_loader_data(const InputSet& all, bool crops, Context& context);

/// The loader's batches, and who makes them.
struct LoaderBatches {
  std::optional<std::uint64_t> workers{};  ///< per GPU, 0: the training process loads by itself; empty: the best number
  std::uint64_t gpus = 1;
  std::uint64_t batch = 256;
  std::uint64_t prefetch = 2;
  std::uint64_t crop = 224;
  image::TensorType dtype = image::TensorType::f32;
  double sample_bytes = 0;   ///< as stored, but unpacked
  double decoded_bytes = 0;  ///< of a sample in memory
  double step_seconds = 0;   ///< that the training process does not load if it has no workers; 0: unknown
};

/// Python that makes the loader, with a number of workers, and can be pasted as it is; its last line is loader_line().
/// Only that line without code for the data.
std::string loader_code(const LoaderData& data, const LoaderBatches& settings);

/// "loader = DataLoader(...)"; "num_workers=..., prefetch_factor=..." for data without code.
std::string loader_line(const LoaderData& data, const LoaderBatches& settings);

}  // namespace shardkit::bench
