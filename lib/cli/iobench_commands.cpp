#include "bench/decode/decode.hpp"
#include "bench/model/model.hpp"
#include "bench/read/read.hpp"
#include "bench/run/run.hpp"
#include "cli/command.hpp"
#include "cli/programs.hpp"
#include "cli/read_report.hpp"
#include "cli/run_report.hpp"

namespace shardkit {
namespace {

Command run_command() {
  return make_command<RunOptions, RunResult>(
      {.name = "run",
       .summary = "measure what this node can feed its GPUs, and say which stage is short",
       .description =
           "Looks at the machine, reads the data (cold where that can be had), decodes its images, and holds what "
           "comes of "
           "it against a job: a preset, or --gpus, --batch and --step-time. The verdict comes first: the stage that "
           "limits, by how much, and what would close the gap. A missed requirement ends with exit code 3.\n\n"
           "Without a job it says how many GPUs of each published workload the node feeds. Nothing is written.",
       .examples = {{"iobench run shards/train", "how many GPUs does this node feed?"},
                    {"iobench run shards/train --preset resnet50-h100 --gpus 8", "is it enough for these eight?"},
                    {"iobench run shards/train --gpus 8 --batch 256 --step-time 200ms --json run.json",
                     "your own job, with the result as JSON"}},
       .prometheus = true},
      run, render_run);
}

Command read_command() {
  return make_command<ReadOptions, ReadResult>(
      {.name = "read",
       .summary = "measure how fast shards or files come from storage, the page cache or an object store",
       .description =
           "Reads every PATH once, whole files in blocks or single samples in random order, and says how many bytes "
           "and samples a second that gave, how long reads took, and how much of the data was in the page cache "
           "before and after. --min-time reads on, --repeat measures again. --job stands for a fio job of that name. "
           "--mode imagefolder times list, open, stat, read and close apart and says what an epoch costs.\n\nNothing "
           "is written. What cannot be had (a cold cache on tmpfs, O_DIRECT where it "
           "is only pretended, an engine) fails and is not replaced by something else.\n\n"
           "What lies behind s3:// and http(s):// is asked for in blocks, by 1, 2, 4, ... connections until more bring "
           "nothing: the time to the first byte, the rate of each connection and of all, and the knee of that curve. "
           "With --required-rate or a job the verdict is to stream when the store gives 1.2 times what is required, "
           "else to stage first (exit code 3), and after how many epochs that has paid: requirement / (requirement - "
           "rate). Secrets come from the environment or a profile.",
       .examples = {{"iobench read shards/train", "whatever the cache holds, with the share it held"},
                    {"iobench read shards/train --cache cold --threads 8", "from the disk"},
                    {"iobench read shards/train --mode random --direct --samples 5000",
                     "single samples past the page cache"},
                    {"iobench read volume.bin --job rand-read", "as fio's random 256 KiB, depth 32, direct"},
                    {"iobench read photos --mode imagefolder --threads 32", "what opening millions of files costs"},
                    {"iobench read tokens.bin --sample-bytes 8192 --mode random --engine mmap",
                     "samples of a token file out of a mapping"},
                    {"iobench read s3://bucket/train --preset resnet50-h100 --gpus 8",
                     "can these eight stream from the bucket, or is it to be staged?"},
                    {"iobench read 'https://host/x-{000..146}.tar' --threads 128 --required-rate 1.3GB/s",
                     "the same for files of a web server and a rate"}},
       .prometheus = true},
      read, render_read);
}

Command decode_command() {
  return make_command<DecodeBenchOptions, DecodeResult>(
      {.name = "decode",
       .summary = "measure how many JPEGs a second the cores decode",
       .description =
           "Loads images from shards or folders into memory, then decodes them over and over: whole, or only the "
           "random "
           "resized crop that training takes (--crop 224), which is faster because the rest is skipped. Damaged files "
           "and other formats under a JPEG's name are counted by kind and take part in the rate as the work they "
           "are.\n\nAlso says how many cores one GPU of each published workload needs.",
       .examples = {{"iobench decode shards/train", "whole images on all cores that may be used"},
                    {"iobench decode shards/train --crop 224 --scaling", "crops on 1, 2, 4, ... threads"}}},
      decode);
}

Command model_command() {
  return make_command<ModelOptions, ModelResult>(
      {.name = "model",
       .summary = "work out what a training job needs of its input, or how many GPUs a node can feed",
       .description =
           "Arithmetic only. From a job (--preset, or --gpus, --batch, --step-time and --sample-bytes) follow samples "
           "and bytes per second, decode cores, transfer rate and memory. With a supply beside it, measured (--from) "
           "or given, the stage that limits, and the GPUs' utilisation with full overlap and with none. A supply alone "
           "is held against every preset. docs/model.md has the formulas.",
       .examples = {{"iobench model --list-presets", "published workloads and what one GPU of each takes"},
                    {"iobench model --gpus 8 --batch 256 --step-time 0.2 --sample-bytes 130kB", "1.33 GB/s"},
                    {"iobench model --preset resnet50-h100 --gpus 8 --from run.json",
                     "is what was measured enough for that job? Exit code 3 when it is not"}}},
      model);
}

}  // namespace

App iobench_app() {
  return {.name = "iobench",
          .summary = "measure what a node can feed its GPUs, and hold it against what training needs",
          .commands = {run_command(), read_command(), decode_command(), model_command()}};
}

}  // namespace shardkit
