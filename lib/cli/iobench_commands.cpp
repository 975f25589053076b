#include "bench/checkpoint/checkpoint.hpp"
#include "bench/compare/compare.hpp"
#include "bench/decode/decode.hpp"
#include "bench/env/env.hpp"
#include "bench/model/model.hpp"
#include "bench/pipeline/pipeline.hpp"
#include "bench/read/read.hpp"
#include "bench/run/run.hpp"
#include "bench/sweep/sweep.hpp"
#include "bench/transfer/transfer.hpp"
#include "bench/watch/watch.hpp"
#include "cli/app.hpp"
#include "cli/command.hpp"
#include "cli/reports/checkpoint_report.hpp"
#include "cli/reports/compare_report.hpp"
#include "cli/reports/decode_report.hpp"
#include "cli/reports/env_report.hpp"
#include "cli/reports/model_report.hpp"
#include "cli/reports/pipeline_report.hpp"
#include "cli/reports/read_report.hpp"
#include "cli/reports/run_report.hpp"
#include "cli/reports/sweep_report.hpp"
#include "cli/reports/transfer_report.hpp"
#include "cli/reports/watch_lines.hpp"
#include "cli/reports/watch_report.hpp"

namespace shardkit {
namespace {

Command run_command() {
  return make_command<RunOptions, RunResult>(
      {.name = "run",
       .summary = "measure what this node can feed its GPUs, and say which stage is short",
       .description =
           "Looks at the machine, reads the data (cold where that can be had), decodes and augments its images, then "
           "does all of it at once, and holds what comes of it against a job: a preset, or --gpus, --batch and "
           "--step-time. Where there is a GPU, copies of the job's batches to it are a stage too. The verdict comes "
           "first: the stage that limits, by how much, and what would close the gap. A "
           "missed requirement ends with exit code 3.\n\n"
           "Without a job it says how many GPUs of each published workload the node feeds. Nothing is written.",
       .examples = {{"iobench run shards/train", "how many GPUs does this node feed?"},
                    {"iobench run shards/train --preset resnet50-h100 --gpus 8", "is it enough for these eight?"},
                    {"iobench run shards/train --gpus 8 --batch 256 --step-time 200ms --json run.json",
                     "your own job, with the result as JSON"}},
       .prometheus = true},
      run, render_run);
}

Command env_command() {
  return make_command<EnvOptions, EnvResult>(
      {.name = "env",
       .summary = "look at this machine and at what the data lies on, and point at what would slow training down",
       .description =
           "Processors and their clock, limits of control groups, memory, NUMA nodes, /dev/shm, network cards, RDMA, "
           "GPUs and their PCIe links; with a PATH also the file system, its mount and the block device below it, "
           "NFS, Lustre and FUSE clients. Findings come first: what was measured, what is normal for this class, what "
           "to do. With --workers and a batch size the room in /dev/shm is held against what that loader needs.\n\n"
           "Nothing is measured and nothing is written. Of GPUs their driver is asked (NVML), where there is one. What "
           "cannot be seen (as an ordinary user, in a container) is left out. Findings are advice and end with exit "
           "code 0, with --strict errors and "
           "warnings end with 3.",
       .examples = {{"iobench env /data/train", "is this node set up well for that data?"},
                    {"iobench env /data/train --gpus 8 --workers 12 --batch 256", "does this loader fit?"},
                    {"iobench env /data --strict --json env.json", "a gate for new nodes"}}},
      env, render_env);
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
       .summary = "measure how many JPEGs a second the cores, or a GPU, decode",
       .description =
           "Loads images from shards or folders into memory, then decodes them over and over: whole, or only the "
           "random "
           "resized crop that training takes (--crop 224), which is faster because the rest is skipped. Damaged files "
           "and other formats under a JPEG's name are counted by kind and take part in the rate as the work they "
           "are.\n\nWith --augment imagenet, flipping, normalising and writing into a batch tensor is timed as a stage "
           "of "
           "its own. Also says how many cores one GPU of each published workload needs for either.\n\n"
           "--backend nvjpeg decodes whole images in batches on a GPU: by its decoders in silicon where it has them, "
           "else "
           "by its hybrid engines. What it does not take is decoded by --threads of the CPU meanwhile, and the share "
           "of "
           "each way is told. Pixels are compared with libjpeg-turbo's first; wrong ones end the command before a rate "
           "is "
           "told. Without a GPU, its driver or nvJPEG: exit code 4, and one line that says which.",
       .examples = {{"iobench decode shards/train", "whole images on all cores that may be used"},
                    {"iobench decode shards/train --crop 224 --scaling", "crops on 1, 2, 4, ... threads"},
                    {"iobench decode shards/train --augment imagenet --dtype f16", "and what normalising them costs"},
                    {"iobench decode shards/train --backend nvjpeg --batch 256", "on a GPU, beside the cores"}}},
      decode, render_decode);
}

Command checkpoint_command() {
  return make_command<CheckpointOptions, CheckpointResult>(
      {.name = "checkpoint",
       .summary = "measure how long training waits for a checkpoint, and when it is safe",
       .description =
           "Writes checkpoints into a folder of its own below DIR, one file a rank and all at once, and times them "
           "until "
           "data, names and folder would survive a power cut. sync is what a plain save costs: training waits for all "
           "of it. background is a copy in memory, for which alone training waits, and a write behind it. A checkpoint "
           "takes as long as its slowest rank. The folder is removed again.\n\n"
           "With --step-time and --every also the share of training that goes into checkpoints; exit code 3 when a "
           "background write or a drain is not done before the next one begins.",
       .examples = {{"iobench checkpoint /nvme", "1 GiB, both modes, three times each"},
                    {"iobench checkpoint /lustre/ckpt --model llama3-70b --scale 0.01 --read-back",
                     "a hundredth of what the 8 ranks of a node write, and every byte compared"},
                    {"iobench checkpoint /nvme --bytes 20GiB --writers 8 --drain-to /nfs --step-time 2s --every 500",
                     "fast disk first, then to slower storage: does that keep up?"},
                    {"iobench checkpoint /nvme --job seq-write", "as fio's sequential write"}},
       .prometheus = true},
      checkpoint, render_checkpoint);
}

Command pipeline_command() {
  return make_command<PipelineOptions, PipelineResult>(
      {.name = "pipeline",
       .summary = "run reading, decoding and batching together beside an emulated step, and say what sets the pace",
       .description =
           "Reads shards or image files, decodes random crops, flips and normalises them, fills batches and hands them "
           "to steps that take as long as --step-time says: what a training job does to its input, without the "
           "training. Tells samples per second, how long steps waited, the accelerators' utilisation by MLPerf "
           "Storage's rule, and for each stage how much of its threads' time it was busy, starved and blocked.\n\n"
           "Where a GPU can be used, batches are copied to it beside the steps, normalised or decoded there if asked "
           "for; "
           "each GPU is checked first. --ladder measures from a naive loader to one in which everything overlaps.\n\n"
           "The tool's own cost is measured first and shown. Images that cannot be decoded are counted and left out. "
           "docs/pipeline.md says what each number means.",
       .examples =
           {{"iobench pipeline shards/train --batch 256 --step-time 200ms", "does one GPU ever wait?"},
            {"iobench pipeline shards/train --preset resnet50-h100 --gpus 8 --prefetch 0,1,2,4",
             "eight GPUs, and how many batches ahead they need"},
            {"iobench pipeline photos --cache cold --epochs 3 --trace trace.json",
             "the first epoch from the disk, two from memory, and what every thread did"},
            {"iobench pipeline shards/train --batch 256 --step spin --step-time 100ms --ladder",
             "what pinned memory, the GPU's kernels and nvJPEG bring, rung by rung"},
            {"iobench pipeline shards/train --checkpoint-every 100 --checkpoint-bytes 1GB --checkpoint-dir /ckpt",
             "what checkpoints cost"}},
       .prometheus = true},
      pipeline, render_pipeline);
}

Command sweep_command() {
  return make_command<SweepOptions, SweepResult>(
      {.name = "sweep",
       .summary = "find the workers, prefetch, threads, block and depth that suit this node",
       .description =
           "Tries one setting after the other, each from small to large until two values in a row bring less than 5 %, "
           "and "
           "settles for the smallest that gives 95 % of the best: threads that read, bytes per read, reads under way "
           "with "
           "io_uring; then workers that decode, and batches made ahead of a step that takes as long as a batch does. "
           "Every point starts from the same state of the page cache.",
       .examples = {{"iobench sweep shards/train", "about three minutes, from the disk"},
                    {"iobench sweep shards/train --what read --direct --budget 1m", "storage alone"},
                    {"iobench sweep shards/train --what load --cache warm --batch 256 --step-time 200ms",
                     "the loader of a job"}}},
      sweep, render_sweep);
}

Command transfer_command() {
  return make_command<TransferOptions, TransferResult>(
      {.name = "transfer",
       .summary = "measure how fast bytes go from host memory to a GPU and back",
       .description =
           "Copies pageable, pinned, write-combined and registered memory to a GPU, back, and both at once, in sizes "
           "from 4 KiB to 1 GiB, and holds the rates against what the PCIe link carries. Memory is taken from the "
           "GPU's own NUMA node where that is known. What allocating pinned memory and registering costs is measured "
           "apart. Every byte of the last copies is checked; a wrong one ends the command.\n\n"
           "With --gds a file is brought to the GPU: by cuFile, whose mode is named, and by reading it into pinned "
           "memory and copying meanwhile. Without a GPU, its driver or CUDA in this build: exit code 4, and one line "
           "that says which.",
       .examples = {{"iobench transfer", "everything, on GPU 0"},
                    {"iobench transfer --device all --kinds pinned --bytes 64MiB,1GiB --numa both",
                     "each GPU from its own and from the farthest NUMA node"},
                    {"iobench transfer --batch 256 --shape 3x224x224 --dtype f16 --streams 1,2,4",
                     "batches of a training job, on several streams"},
                    {"iobench transfer --gds /nvme/shard-000000.tar", "cuFile against pread and pinned copies"}}},
      transfer, render_transfer);
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
      model, render_model);
}

Command watch_command() {
  return make_command<WatchOptions, WatchResult>(
      {.name = "watch",
       .summary = "watch a job that runs, or the whole node, and say what it is short of",
       .description =
           "A line for each interval: cores, the CPU limit's throttling, waiting for cores, storage and memory (PSI), "
           "the disk or NFS mount of PATH, /dev/shm, the page cache, and GPUs as their driver tells (NVML). With --pid "
           "a process and all below it, and its control group; without it the whole node. It goes on until Ctrl-C, "
           "SIGTERM, --duration, --count or the end of the process, and then says what was short, in how much of the "
           "time, by which figures, and what to do.\n\n"
           "Nothing is measured, nothing is written, and of the data nothing is read: counters alone are. What the "
           "machine does not tell this user is left out. A stop is the usual end: exit code 0. --prometheus writes "
           "the summary at the end. docs/watch.md has the columns and the rules.",
       .examples = {{"iobench watch /data/train --pid 4711", "what is this job short of?"},
                    {"iobench watch /data/train --duration 60s --lines none",
                     "a minute of the whole node, the verdict "
                     "alone"},
                    {"iobench watch --pid 4711 --lines json >> job.jsonl", "an object for each interval"},
                    {"iobench watch /data --duration 50s --prometheus /var/lib/node_exporter/watch.prom",
                     "gauges of the last minute, from a timer"}},
       .prometheus = true,
       .live = true},
      watch_to_output, render_watch);
}

Command compare_command() {
  return make_command<CompareOptions, CompareResult>(
      {.name = "compare",
       .summary = "say whether results became worse than those of before, or miss what a fleet requires",
       .description =
           "Holds repetitions of NEW against repetitions of BASE: first what differs between how they were measured, "
           "then each metric with its change, the interval of that change and a verdict: pass, regressed, improved, "
           "inconclusive or incomparable. Regressed means that ranks alone show a change (Mann and Whitney's U test, 9 "
           "or more values a side) and that the whole interval lies beyond the threshold; noise makes at most 1 of 100 "
           "calls say so, however many metrics there are. docs/comparing.md has the rule and its figures.\n\n"
           "Regressed, incomparable and a missed gate end with exit code 3, inconclusive with 0 unless "
           "--fail-on-inconclusive is given. Ten repetitions come from `iobench run --repeat 10`, or from ten "
           "results in a folder.",
       .examples = {{"iobench compare before.json after.json", "two results of iobench run --repeat 10"},
                    {"iobench compare base/ new/ --threshold 3%,read.latency_seconds.p99=20%",
                     "two folders with a result of each repetition"},
                    {"iobench compare node.json --save-baseline fleet.json --class h100-nvme",
                     "keep what a good node of this class gives"},
                    {"iobench compare fleet.json node17.json --class h100-nvme --junit compare.xml",
                     "hold another node against that"},
                    {"iobench compare node17.json --gate samples/ci/gate.json", "is it what the fleet requires?"}},
       .findings = true},
      compare, render_compare);
}

}  // namespace

App iobench_app() {
  return {.name = "iobench",
          .summary = "measure what a node can feed its GPUs, and hold it against what training needs",
          .commands = {run_command(), env_command(), read_command(), decode_command(), transfer_command(),
                       pipeline_command(), checkpoint_command(), sweep_command(), model_command(), watch_command(),
                       compare_command()}};
}

}  // namespace shardkit
