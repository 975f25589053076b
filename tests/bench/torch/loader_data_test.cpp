#include "bench/torch/loader_data.hpp"

#include <filesystem>

#include <doctest/doctest.h>

#include "bench/bench_data.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::test;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

LoaderData look_at(const std::string& path, bool crops = true) {
  Context context;
  return look_at_loader_data(find_input({path}, context), crops, context);
}

LoaderBatches four_workers(std::uint64_t gpus = 1) {
  LoaderBatches loader;
  loader.gpus = gpus;
  loader.batch = 32;
  loader.workers = 4;
  loader.sample_bytes = 100e3;
  return loader;
}

/// Files of a folder with these paths.
void write_images(const ShardFolder& folder, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    std::filesystem::create_directories(std::filesystem::path(folder.path() + "/" + path).parent_path());
    folder.write(path, small_jpeg());
  }
}

}  // namespace

TEST_CASE("shards with images and labels become a webdataset, whose dataset makes the batches") {
  const ShardFolder folder;
  folder.write("x-0.tar", image_shard(3, "a"));
  folder.write("x-1.tar", image_shard(3, "b"));
  const LoaderData data = look_at(folder.path());
  REQUIRE(data.kind == LoaderKind::webdataset);
  CHECK(data.image_field == "jpg");
  CHECK(data.has_labels);
  CHECK(loader_line(data, four_workers()) ==
        "loader = DataLoader(dataset.batched(32), batch_size=None, num_workers=4, prefetch_factor=2, pin_memory=True, "
        "persistent_workers=True)");
  const std::string code = loader_code(data, four_workers());
  CHECK(contains(code, "wds.WebDataset(\"" + folder.path() +
                           "/x-{0..1}.tar\", shardshuffle=100)\ndataset = dataset.shuffle(600)"));
  CHECK(contains(code, ".to_tuple(\"jpg\", \"cls\")\ndataset = dataset.map_tuple(augment, int)\n"));
  CHECK(
      code.ends_with("loader = DataLoader(dataset.batched(32), batch_size=None, num_workers=4,\n"
                     "                    prefetch_factor=2, pin_memory=True, persistent_workers=True)\n"));
  CHECK_FALSE(contains(code, "split_by_node"));
  CHECK(contains(loader_code(data, four_workers(2)), "nodesplitter=wds.split_by_node"));
}

TEST_CASE("large samples are shuffled among fewer, so that they fit into the memory of a worker") {
  const ShardFolder folder;
  folder.write("x.tar", image_shard(3, "a"));
  LoaderBatches loader = four_workers();
  loader.sample_bytes = 5e6;
  CHECK(contains(loader_code(look_at(folder.path()), loader), ".shuffle(10)"));
}

TEST_CASE(
    "every field that an image has in the shard is an alternative, and a label that is not a number is left out") {
  const ShardFolder folder;
  TarBuilder tar;
  tar.file("a.jpg", small_jpeg()).file("a.cls", "dog").file("b.png", "no pixels are read").file("b.cls", "cat");
  folder.write("x.tar", tar.end());
  const LoaderData data = look_at(folder.path());
  REQUIRE(data.kind == LoaderKind::webdataset);
  CHECK(contains(loader_code(data, four_workers()),
                 ".decode(\"pil\", only=\"jpg png\").to_tuple(\"jpg;png\")\ndataset = dataset.map_tuple(augment)\n"));
}

TEST_CASE("names that webdataset would expand are listed as they are") {
  const ShardFolder folder;
  folder.write("x{a,b}.tar", image_shard(3, "a"));
  CHECK(contains(loader_code(look_at(folder.path()), four_workers()),
                 "wds.WebDataset([\"" + folder.path() + "/x{a,b}.tar\"]"));
}

TEST_CASE("a folder of classes becomes an ImageFolder, and each rank takes its share") {
  const ShardFolder folder;
  write_images(folder, {"cat/1.jpg", "cat/2.jpg", "dog/deep/3.PNG"});
  LoaderData data = look_at(folder.path());
  REQUIRE(data.kind == LoaderKind::image_folder);
  CHECK(data.images == 3);
  CHECK(loader_line(data, four_workers()) ==
        "loader = DataLoader(dataset, batch_size=32, shuffle=True, num_workers=4, prefetch_factor=2, pin_memory=True, "
        "persistent_workers=True)");
  CHECK(contains(loader_code(data, four_workers()), "datasets.ImageFolder(\"" + folder.path() + "\", augment)\n"));
  CHECK(contains(loader_line(data, four_workers(2)), "sampler=sampler"));
  CHECK(contains(loader_code(data, four_workers(2)), "import os\n"));
  std::filesystem::create_directory(folder.path() + "/.hidden");
  data = look_at(folder.path());
  CHECK(contains(loader_code(data, four_workers()), "augment, allow_empty=True)\n"));
}

TEST_CASE("a loader without workers has no arguments that need them") {
  const ShardFolder folder;
  write_images(folder, {"cat/1.jpg"});
  LoaderBatches loader = four_workers();
  loader.workers = 0;
  CHECK(loader_line(look_at(folder.path()), loader) ==
        "loader = DataLoader(dataset, batch_size=32, shuffle=True, num_workers=0, pin_memory=True)");
}

TEST_CASE("the code makes the type of values that was asked for") {
  const ShardFolder folder;
  write_images(folder, {"cat/1.jpg"});
  LoaderBatches loader = four_workers();
  CHECK(contains(loader_code(look_at(folder.path()), loader), "T.ToTensor()])"));
  loader.dtype = image::TensorType::u8;
  CHECK(contains(loader_code(look_at(folder.path()), loader), "T.PILToTensor()])"));
  loader.dtype = image::TensorType::f16;
  CHECK(loader_code(look_at(folder.path()), loader).starts_with("import torch\n"));
}

TEST_CASE("data that PyTorch would refuse has settings, and the reason why there is no code") {
  const ShardFolder folder;
  write_images(folder, {"1.jpg", "2.jpg"});
  const LoaderData flat = look_at(folder.path());
  CHECK(flat.kind == LoaderKind::none);
  CHECK(flat.why_none == "ImageFolder needs a folder of images for each class");
  CHECK(loader_code(flat, four_workers()) ==
        "num_workers=4, prefetch_factor=2, pin_memory=True, persistent_workers=True\n");
  const ShardFolder texts;
  texts.write("x.tar", TarBuilder().file("a.txt", "a").file("a.cls", "1").end());
  CHECK(look_at(texts.path()).why_none == "its samples are not images");
  const ShardFolder shards;
  shards.write("x.tar", image_shard(3, "a"));
  CHECK(look_at(shards.path(), false).why_none == "whole images of different sizes do not make batches");
  const ShardFolder odd;
  odd.write("a\\b.tar", image_shard(3, "a"));
  CHECK(look_at(odd.path()).why_none == "webdataset does not open names with a backslash");
}

TEST_CASE("of a split, the loader and the command for more shards are for training") {
  const ShardFolder folder;
  for (const char* set : {"train", "val"}) std::filesystem::create_directories(folder.path() + "/" + set);
  folder.write("train/x-0.tar", image_shard(3, "a"));
  folder.write("val/x-0.tar", image_shard(3, "b"));
  LoaderData data = look_at(folder.path());
  CHECK(data.shards == std::vector<std::string>{folder.path() + "/train/x-0.tar"});
  CHECK(data.operands == std::vector<std::string>{folder.path() + "/train"});
  data = look_at(folder.path() + "/val");
  CHECK(data.operands == std::vector<std::string>{folder.path() + "/val"});
}

TEST_CASE("of a split of classes, ImageFolder reads the folder for training") {
  const ShardFolder folder;
  write_images(folder, {"train/cat/1.jpg", "train/dog/1.jpg", "val/cat/2.jpg"});
  const LoaderData data = look_at(folder.path());
  CHECK(data.folder == folder.path() + "/train");
  CHECK(data.images == 2);
}

TEST_CASE("a folder with other folders beside train is no split") {
  const ShardFolder folder;
  write_images(folder, {"train/1.jpg", "bus/1.jpg"});
  CHECK(look_at(folder.path()).folder == folder.path());
}
