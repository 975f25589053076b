#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/torch/loader_data.hpp"
#include "core/units.hpp"
#include "formats/brace_pattern.hpp"

namespace shardkit::bench {
namespace {

/// A string literal. The text has no line breaks.
std::string python_text(std::string_view text) {
  std::string literal = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') literal += '\\';
    literal += c;
  }
  return literal + '"';
}

/// Where webdataset finds the shards: one pattern of braces if their names allow it, else all names.
std::string shard_names(const std::vector<std::string>& shards) {
  const auto is_special = [](const std::string& path) {
    return path.find_first_of("{}") != std::string::npos || path.find("::") != std::string::npos;
  };
  const bool is_plain = std::ranges::none_of(shards, is_special);
  const std::vector<std::string> patterns = is_plain ? formats::collapse_names(shards) : shards;
  if (is_plain && patterns.size() == 1) return python_text(patterns.front());
  std::vector<std::string> names;
  for (const std::string& shard : shards) names.push_back(python_text(shard));
  return fmt::format("[{}]", fmt::join(names, ", "));
}

/// Samples that each worker keeps to shuffle them, so that large ones do not fill the memory.
std::uint64_t shuffled_samples(double sample_bytes) {
  constexpr double kMemory = 64 << 20;
  constexpr double kMost = 1000;
  const double samples = std::clamp(kMemory / std::max(sample_bytes, 1.0), 10.0, kMost);
  const double unit = std::pow(10, std::floor(std::log10(samples)));
  return static_cast<std::uint64_t>(std::floor(samples / unit) * unit);
}

std::string augmentation(const TorchLoader& settings) {
  const std::string_view tensor = settings.dtype == image::TensorType::u8 ? "T.PILToTensor()" : "T.ToTensor()";
  const std::string_view half = settings.dtype == image::TensorType::f16 ? ", T.ConvertImageDtype(torch.float16)" : "";
  return fmt::format(
      "augment = T.Compose([T.RandomResizedCrop({}), T.RandomHorizontalFlip(),\n"
      "                     {}{}])\n",
      settings.crop, tensor, half);
}

std::string imports(const LoaderData& data, const TorchLoader& settings) {
  std::string text;
  const bool has_sampler = data.kind == LoaderKind::image_folder && settings.gpus > 1;
  if (has_sampler) text += "import os\n";
  if (settings.dtype == image::TensorType::f16) text += "import torch\n";
  if (data.kind == LoaderKind::webdataset) text += "import webdataset as wds\n";
  text += fmt::format("from torch.utils.data import DataLoader{}\n", has_sampler ? ", DistributedSampler" : "");
  return text + (data.kind == LoaderKind::webdataset ? "from torchvision import transforms as T\n"
                                                     : "from torchvision import datasets, transforms as T\n");
}

/// The shards of one process: with several GPUs, those of its rank. By default webdataset decodes every field of a
/// sample, and stops at a label that is not a number.
std::string shard_dataset(const LoaderData& data, const TorchLoader& settings) {
  std::string images = data.image_field;
  std::ranges::replace(images, ';', ' ');
  return fmt::format(
      "dataset = wds.WebDataset({}, shardshuffle=100{})\n"
      "dataset = dataset.shuffle({}).decode(\"pil\"{}).to_tuple({}{})\n"
      "dataset = dataset.map_tuple(augment{})\n",
      shard_names(data.shards), settings.gpus > 1 ? ",\n                         nodesplitter=wds.split_by_node" : "",
      shuffled_samples(settings.sample_bytes), data.has_labels ? "" : ", only=" + python_text(images),
      python_text(data.image_field), data.has_labels ? ", \"cls\"" : "", data.has_labels ? ", int" : "");
}

/// torchrun sets both variables; without it there is one process.
std::string folder_dataset(const LoaderData& data, const TorchLoader& settings) {
  std::string text = fmt::format("dataset = datasets.ImageFolder({}, augment{})\n", python_text(data.folder),
                                 data.has_empty_class ? ", allow_empty=True" : "");
  if (settings.gpus > 1) {
    text +=
        "sampler = DistributedSampler(dataset, int(os.environ.get(\"WORLD_SIZE\", 1)),\n"
        "                             int(os.environ.get(\"RANK\", 0)))\n";
  }
  return text;
}

/// DataLoader accepts the other two only with workers.
std::string worker_arguments(const TorchLoader& settings, std::string_view end) {
  if (settings.workers == 0) return fmt::format("num_workers=0{}", end);
  return fmt::format("num_workers={}, prefetch_factor={}{}, persistent_workers=True", settings.workers,
                     settings.prefetch, end);
}

/// The line on two.
std::string folded(std::string line) {
  const std::size_t at = line.find(" prefetch_factor=");
  const std::size_t bracket = line.find('(');
  if (at != std::string::npos && bracket != std::string::npos)
    line.replace(at, 1, '\n' + std::string(bracket + 1, ' '));
  return line;
}

}  // namespace

std::string loader_line(const LoaderData& data, const TorchLoader& settings) {
  constexpr std::string_view kPinned = ", pin_memory=True";
  switch (data.kind) {
    case LoaderKind::webdataset:
      return fmt::format("loader = DataLoader(dataset.batched({}), batch_size=None, {})", settings.batch,
                         worker_arguments(settings, kPinned));
    case LoaderKind::image_folder:
      return fmt::format("loader = DataLoader(dataset, batch_size={}, {}, {})", settings.batch,
                         settings.gpus > 1 ? "sampler=sampler" : "shuffle=True", worker_arguments(settings, kPinned));
    case LoaderKind::none:
      break;
  }
  return worker_arguments(settings, kPinned);
}

std::string loader_code(const LoaderData& data, const TorchLoader& settings) {
  const std::string line = folded(loader_line(data, settings)) + "\n";
  if (data.kind == LoaderKind::none) return line;
  const bool is_sharded = data.kind == LoaderKind::webdataset;
  return imports(data, settings) + augmentation(settings) +
         (is_sharded ? shard_dataset(data, settings) : folder_dataset(data, settings)) + line;
}

}  // namespace shardkit::bench
