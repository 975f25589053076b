#include "bench/torch/loader_data.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/input/shard_blocks.hpp"
#include "bench/timing/timed_run.hpp"
#include "catalog/image_folder.hpp"
#include "catalog/set_folders.hpp"
#include "catalog/unpacked_stream.hpp"
#include "core/folder.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "formats/brace_pattern.hpp"
#include "formats/image_names.hpp"
#include "formats/sample_name.hpp"
#include "formats/tar_scanner.hpp"
#include "io/publish.hpp"
#include "system/probe.hpp"

namespace shardkit::bench {
namespace {

/// Samples of a shard that are looked at: others are expected to have the same fields.
constexpr std::size_t kLookedAt = 200;

bool is_number(std::string_view text) { return is_digits(system::trimmed(text)); }

/// The fields of a shard's samples.
class Fields {
 public:
  explicit Fields(ByteSource& source) : source_(source) {}

  void add(const formats::IndexSample& sample) {
    ++samples_;
    const auto is_image = [](const auto& member) { return formats::is_image_extension(member.extension); };
    const auto image = std::ranges::find_if(sample.members, is_image);
    if (image != sample.members.end()) images_.insert(image->extension);
    with_image_ += image != sample.members.end() ? 1U : 0U;
    const auto label = std::ranges::find(sample.members, "cls", &formats::IndexMember::extension);
    if (label != sample.members.end() && (labels_ > 0 || is_number(content(*label)))) ++labels_;
  }
  std::size_t samples() const { return samples_; }

  void describe(LoaderData& data) const {
    if (samples_ == 0 || with_image_ < samples_) {
      data.why_none = "its samples are not images";
      return;
    }
    data.image_field = fmt::format("{}", fmt::join(images_, ";"));
    data.kind = LoaderKind::webdataset;
    data.has_labels = labels_ == samples_;
  }

 private:
  std::string content(const formats::IndexMember& member) {
    std::array<std::byte, 32> bytes{};
    const auto wanted = std::min<std::uint64_t>(bytes.size(), member.size);
    const std::size_t got = source_.read_at(member.offset, MutableBytes(bytes).first(wanted));
    return std::string(as_text(Bytes(bytes).first(got)));
  }

  ByteSource& source_;
  std::size_t samples_ = 0;
  std::size_t with_image_ = 0;
  std::size_t labels_ = 0;
  std::set<std::string> images_;
};

/// For the headers of a shard on slow storage.
constexpr double kMostSeconds = 0.5;

/// The start of a compressed shard, unpacked: enough for some samples.
std::vector<std::byte> unpacked_start(const InputSet& input, const InputFile& shard, const Deadline& end) {
  constexpr std::size_t kEnough = 4U << 20U;
  std::vector<std::byte> start;
  ShardBlocks blocks(input, shard);
  catalog::UnpackedStream content([&] { return blocks.next(); }, shard.path);
  Bytes piece;
  do {
    piece = content.next();
    start.insert(start.end(), piece.begin(), piece.end());
  } while (!piece.empty() && start.size() < kEnough && !is_over(end));
  return start;
}

/// Python's tarfile, with which webdataset reads, unpacks no others.
bool webdataset_unpacks(const InputFile& file) {
  constexpr std::array kEndings{".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz"};
  return std::ranges::any_of(kEndings, [&](const char* ending) { return file.path.ends_with(ending); });
}

void look_at_shards(const InputSet& input, Context& context, LoaderData& data) {
  for (const InputFile& file : input.files) data.shards.push_back(file.path);
  std::ranges::sort(data.shards);
  const InputFile& first = *std::ranges::min_element(input.files, {}, &InputFile::path);
  const Deadline end = moment_in(kMostSeconds);
  std::vector<std::byte> start;
  std::unique_ptr<ByteSource> source;
  if (is_compressed(first)) {
    start = unpacked_start(input, first, end);
    source = std::make_unique<MemorySource>(start);
  } else {
    source = open_file(input, first.path);
  }
  formats::TarScanner scanner(*source);
  formats::SampleGrouper grouper;
  formats::TarEntry entry;
  Fields fields(*source);
  const auto is_enough = [&] { return fields.samples() >= kLookedAt || (fields.samples() > 0 && is_over(end)); };
  while (!is_enough() && scanner.next(entry)) {
    context.throw_if_stopped();
    if (const auto sample = grouper.add(entry)) fields.add(*sample);
  }
  const bool is_part = is_compressed(first) && fields.samples() > 0;  // the last sample may be cut off
  if (const auto last = grouper.finish(); last && !is_enough() && !is_part) fields.add(*last);
  fields.describe(data);
}

/// The class of a file in `folder`: the first folder below; empty if it is in none.
std::string_view class_of(std::string_view path, std::string_view folder) {
  if (!path.starts_with(folder)) return {};
  path.remove_prefix(folder.size());
  while (path.starts_with('/')) path.remove_prefix(1);
  const std::size_t end = path.find('/');
  return end == std::string_view::npos ? std::string_view() : path.substr(0, end);
}

/// ImageFolder takes every folder below its root as a class, also a hidden one.
void look_at_folder(const InputSet& input, LoaderData& data) {
  std::error_code error;
  if (input.operands.size() != 1 || !std::filesystem::is_directory(input.operands.front(), error)) {
    data.why_none = "ImageFolder reads one folder";
    return;
  }
  data.folder = input.operands.front();
  std::set<std::string_view> classes;
  for (const InputFile& file : input.files) {
    const std::string_view name = class_of(file.path, data.folder);
    if (name.empty() || !catalog::is_image_name(file_name(file.path))) continue;
    classes.insert(name);
    ++data.images;
  }
  if (classes.empty()) {
    data.why_none = "ImageFolder needs a folder of images for each class";
    return;
  }
  for (const FolderEntry& entry : folder_entries(data.folder, error)) {
    data.has_empty_class = data.has_empty_class || (entry.is_folder() && !classes.contains(entry.name));
  }
  data.kind = LoaderKind::image_folder;
}

/// Of a split, which is one folder with all files in its sets, the set for training; else the input.
InputSet training_set(const InputSet& input) {
  if (input.operands.size() != 1) return input;
  const std::string& folder = input.operands.front();
  InputSet train;
  train.inputs = input.inputs;
  for (const InputFile& file : input.files) {
    const std::string_view set = class_of(file.path, folder);
    if (!catalog::is_set_name(set)) return input;
    if (!catalog::is_train_set(set)) continue;
    train.operands = {io::join_path(folder, set)};
    train.files.push_back(file);
    train.bytes += file.bytes;
  }
  return train.files.empty() || train.files.size() == input.files.size() ? input : train;
}

/// A path that Python source can contain.
bool is_printable(const InputFile& file) {
  return is_utf8(file.path) && std::ranges::none_of(file.path, [](char c) { return c == '\n' || c == '\r'; });
}

bool has_backslash(const InputFile& file) { return file.path.find('\\') != std::string::npos; }

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
  constexpr double kMostBytes = 64 << 20;
  constexpr double kMost = 1000;
  const double samples = std::clamp(kMostBytes / std::max(sample_bytes, 1.0), 10.0, kMost);
  const double unit = std::pow(10, std::floor(std::log10(samples)));
  return static_cast<std::uint64_t>(std::floor(samples / unit) * unit);
}

std::string augmentation(const LoaderBatches& settings) {
  const std::string_view tensor = settings.dtype == image::TensorType::u8 ? "T.PILToTensor()" : "T.ToTensor()";
  const std::string_view half = settings.dtype == image::TensorType::f16 ? ", T.ConvertImageDtype(torch.float16)" : "";
  return fmt::format(
      "augment = T.Compose([T.RandomResizedCrop({}), T.RandomHorizontalFlip(),\n"
      "                     {}{}])\n",
      settings.crop, tensor, half);
}

std::string imports(const LoaderData& data, const LoaderBatches& settings) {
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
std::string shard_dataset(const LoaderData& data, const LoaderBatches& settings) {
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
std::string folder_dataset(const LoaderData& data, const LoaderBatches& settings) {
  std::string text = fmt::format("dataset = datasets.ImageFolder({}, augment{})\n", python_text(data.folder),
                                 data.has_empty_class ? ", allow_empty=True" : "");
  if (settings.gpus > 1) {
    text +=
        "sampler = DistributedSampler(dataset, int(os.environ.get(\"WORLD_SIZE\", 1)),\n"
        "                             int(os.environ.get(\"RANK\", 0)))\n";
  }
  return text;
}

/// DataLoader accepts two of them only with workers. `fold` is the space after the first.
std::string worker_arguments(const LoaderBatches& settings, std::string_view fold) {
  if (settings.workers == 0) return fmt::format("num_workers=0,{}pin_memory=True", fold);
  return fmt::format("num_workers={},{}prefetch_factor={}, pin_memory=True, persistent_workers=True", *settings.workers,
                     fold, settings.prefetch);
}

/// The line that makes the loader, on two lines if `fold` is the line end between them.
std::string folded_line(const LoaderData& data, const LoaderBatches& settings, std::string_view fold) {
  const std::string workers = worker_arguments(settings, fold);
  switch (data.kind) {
    case LoaderKind::webdataset:
      return fmt::format("loader = DataLoader(dataset.batched({}), batch_size=None, {})", settings.batch, workers);
    case LoaderKind::image_folder:
      return fmt::format("loader = DataLoader(dataset, batch_size={}, {}, {})", settings.batch,
                         settings.gpus > 1 ? "sampler=sampler" : "shuffle=True", workers);
    case LoaderKind::none:
      break;
  }
  return workers;
}

}  // namespace

LoaderData look_at_loader_data(const InputSet& all, bool crops, Context& context) {
  const InputSet input = training_set(all);
  LoaderData data;
  data.operands = input.operands;
  if (has_objects(input.files)) {
    data.why_none = "it is in a store: stage it first";
  } else if (!crops) {
    data.why_none = "whole images of different sizes do not make batches";
  } else if (!std::ranges::all_of(input.files, is_printable)) {
    data.why_none = "a path is not UTF-8 or contains a line break";
  } else if (has_only_shards(input.files) && std::ranges::any_of(input.files, has_backslash)) {
    data.why_none = "webdataset does not open names with a backslash";
  } else if (std::ranges::any_of(
                 input.files, [](const InputFile& file) { return is_compressed(file) && !webdataset_unpacks(file); })) {
    data.why_none = "webdataset unpacks only gzip, bzip2 and xz";
  } else if (has_only_shards(input.files)) {
    look_at_shards(input, context, data);
  } else if (std::ranges::none_of(input.files, &InputFile::is_shard)) {
    look_at_folder(input, data);
  } else {
    data.why_none = "it consists of shards and other files";
  }
  return data;
}

std::string loader_line(const LoaderData& data, const LoaderBatches& settings) {
  return folded_line(data, settings, " ");
}

std::string loader_code(const LoaderData& data, const LoaderBatches& settings) {
  if (data.kind == LoaderKind::none) return loader_line(data, settings) + "\n";
  constexpr std::string_view kAfterBracket = "\n                    ";  // of "loader = DataLoader("
  const std::string line = folded_line(data, settings, kAfterBracket) + "\n";
  const bool is_sharded = data.kind == LoaderKind::webdataset;
  return imports(data, settings) + augmentation(settings) +
         (is_sharded ? shard_dataset(data, settings) : folder_dataset(data, settings)) + line;
}

}  // namespace shardkit::bench
