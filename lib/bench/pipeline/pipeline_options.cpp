#include "bench/pipeline/pipeline_options.hpp"

namespace shardkit {

void PipelineOptions::describe(FieldVisitor& v) {
  v.field({"PATH", Unit::none, "shards, image files, or folders of either; none with --source null",
           Role::optional_positional},
          paths);
  v.field({"preset", Unit::none, "published workload that says batch and step time (iobench model --list-presets)",
           Role::option, "NAME"},
          preset);
  v.field({"gpus", Unit::count, "GPUs that step together; as many as --device names, else 1"}, gpus);
  v.field({"batch", Unit::count, "samples per GPU and step; the preset's, else 256"}, batch);
  v.field({"step-time", Unit::seconds, "time a GPU computes on one batch; the preset's, else none"}, step_time);
  v.field({"epochs", Unit::count, "passes over the data; the first has the cache state asked for"}, epochs);
  v.field({"prefetch", Unit::none, "batches per GPU made ahead of the step; several values are measured in turn",
           Role::option, "N[,N...]"},
          prefetch);
  v.field({"workers", Unit::count, "threads that decode and augment; as many as the process may keep cores busy"},
          workers);
  v.field({"readers", Unit::count, "threads that read; at most 4 for shards, 16 for files"}, readers);
  v.field({"shuffle-buffer", Unit::count, "samples of shards among which the next is drawn; 0: in the shards' order"},
          shuffle_buffer);
  v.field({"cache", Unit::none, "state of the page cache before the first epoch"}, cache);
  v.field({"source", Unit::none, "null: nothing is read"}, source);
  v.field({"decode", Unit::none, "nvjpeg: on the GPU what that takes; null: nothing is, to time reading alone"},
          decode);
  v.field({"crop", Unit::count, "side of the random resized crop", Role::option, "PIXELS"}, crop);
  v.field({"dtype", Unit::none, "type of the batch's values"}, dtype);
  v.field({"layout", Unit::none, "planes first (nchw) or pixels first (nhwc)"}, layout);
  v.field({"normalize", Unit::none, "where samples are flipped and normalised; gpu: one byte a level crosses the bus"},
          normalize);
  v.field({"sink", Unit::none, "where batches go; auto: to GPUs where one can be used, else they stay in host memory"},
          sink);
  v.field({"device", Unit::none, "GPUs that take them, by number; the first ones without it", Role::option, "N[,N...]"},
          device);
  v.field({"pinned", Unit::none, "whether GPUs copy from pinned memory; auto: they do"}, pinned);
  v.field({"step", Unit::none, "what computing is; spin: a kernel on each GPU"}, step);
  v.field({"ladder", Unit::none, "measure from a naive loader to one in which all overlaps, rung by rung"}, ladder);
  v.field({"drop-last", Unit::none, "leave out what is left of an epoch when it does not fill a batch of every GPU"},
          drop_last);
  v.field({"samples", Unit::count, "samples of an epoch at most; all without it"}, samples);
  v.field({"budget", Unit::seconds, "read no new samples after this time; for each value of --prefetch"}, budget);
  v.field({"checkpoint-every", Unit::count, "write a checkpoint after every so many steps"}, checkpoint_every);
  v.field({"checkpoint-bytes", Unit::bytes, "its size"}, checkpoint_bytes);
  v.field({"checkpoint-dir", Unit::none, "existing folder for it; it is removed at once", Role::option, "DIR"},
          checkpoint_dir);
  v.field({"trace", Unit::none, "write a Chrome trace, which ui.perfetto.dev opens", Role::option, "FILE"}, trace);
  v.field({"seed", Unit::none, "order, crops and flips"}, seed);
}

}  // namespace shardkit
