#include "bench/pipeline/pipeline.hpp"

namespace shardkit {

void StageRow::describe(FieldVisitor& v) {
  v.field({"name", Unit::none, "stage"}, name);
  v.field({"threads", Unit::count, "threads; decode and augment share theirs"}, threads);
  v.field({"busy", Unit::ratio, "share of their time at work on this stage"}, busy_ratio);
  v.field({"starved", Unit::ratio, "share of it spent before the stage: waiting for what comes in"}, starved_ratio);
  v.field({"blocked", Unit::ratio, "share of it spent behind the stage: waiting for room"}, blocked_ratio);
  v.field({"cpu_seconds_per_sample", Unit::seconds, "processor time of the stage, over samples"},
          cpu_seconds_per_sample);
}

void EpochRow::describe(FieldVisitor& v) {
  v.field({"epoch", Unit::none, "from 1"}, epoch);
  v.field({"residency_before_ratio", Unit::ratio, "share of the data in the page cache before; none: not known"},
          residency_before_ratio);
  v.field({"steps", Unit::count, "steps"}, steps);
  v.field({"samples", Unit::count, "samples that steps took"}, samples);
  v.field({"samples_per_second", Unit::per_second, "after the epoch's first batch"}, samples_per_second);
  v.field({"first_batch_seconds", Unit::seconds, "from the epoch's start to its first batch"}, first_batch_seconds);
  v.field({"stall_ratio", Unit::ratio, "share of the time after its first step that steps waited"}, stall_ratio);
  v.field({"boundary_stall_seconds", Unit::seconds, "from the end of the last epoch's last step to this one's first"},
          boundary_stall_seconds);
}

void PrefetchRow::describe(FieldVisitor& v) {
  v.field({"prefetch", Unit::none, "batches per GPU made ahead"}, prefetch);
  v.field({"samples_per_second", Unit::per_second, "samples that steps took"}, samples_per_second);
  v.field({"batch_latency", Unit::seconds, "time that steps waited for their batches"}, batch_latency);
  v.field({"stall_ratio", Unit::ratio, "share of the time that steps waited"}, stall_ratio);
  v.field({"au_ratio", Unit::ratio, "accelerator utilisation"}, au_ratio);
  v.field({"limiting_stage", Unit::none, "what sets the pace"}, limiting_stage);
}

void ToolOverhead::describe(FieldVisitor& v) {
  v.field({"samples_per_second", Unit::per_second, "with nothing to read, decode or compute"}, samples_per_second);
  v.field({"cpu_seconds_per_sample", Unit::seconds, "processor time of passing a sample on"}, cpu_seconds_per_sample);
  v.field({"cpu_seconds_per_batch", Unit::seconds, "processor time of handing over a batch and taking it"},
          cpu_seconds_per_batch);
  v.field({"share_ratio", Unit::ratio, "that, over the processor time of a sample as measured"}, share_ratio);
  v.field({"step_late_mean", Unit::seconds, "how late the tool noticed the end of a step; it does not add up"},
          step_late_mean);
  v.field({"step_late_max", Unit::seconds, "the latest of all"}, step_late_max);
}

void CheckpointInterference::describe(FieldVisitor& v) {
  v.field({"every", Unit::none, "steps from one to the next"}, every);
  v.field({"bytes", Unit::bytes, "size"}, bytes);
  v.field({"written", Unit::count, "checkpoints"}, written);
  v.field({"mean_seconds", Unit::seconds, "writing and fdatasync, all the while training waits"}, mean_seconds);
  v.field({"max_seconds", Unit::seconds, "the longest"}, max_seconds);
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes over that time"}, bytes_per_second);
  v.field({"share_ratio", Unit::ratio, "of the running time"}, share_ratio);
  v.field({"samples_per_second_with", Unit::per_second, "samples that steps took with checkpoints"},
          samples_per_second_with);
  v.field({"samples_per_second_without", Unit::per_second, "the same without, in a run before"},
          samples_per_second_without);
  v.field({"lost_ratio", Unit::ratio,
           "of the samples per second; absent of fewer than 5 checkpoints, and where it was not slower with them"},
          lost_ratio);
}

void CopyReport::describe(FieldVisitor& v) {
  v.field({"devices", Unit::none, "GPUs that batches were copied to"}, devices);
  v.field({"pinned", Unit::none, "from pinned memory"}, pinned);
  v.field({"copies", Unit::count, "one for each batch"}, copies);
  v.field({"bytes", Unit::bytes, "in all of them"}, bytes);
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes over the time that copies took"}, bytes_per_second);
}

void JpegReport::describe(FieldVisitor& v) {
  v.field({"decoder", Unit::none, "library"}, decoder);
  v.field({"hardware", Unit::count, "samples decoded by the GPU's decoders in silicon"}, hardware);
  v.field({"hybrid", Unit::count, "samples decoded by CPU and GPU together"}, hybrid);
  v.field({"gpu_hybrid", Unit::count, "samples decoded by the GPU's multiprocessors"}, gpu_hybrid);
  v.field({"cpu", Unit::count, "samples of images that no engine takes, decoded by workers"}, cpu);
  v.field({"returned", Unit::count, "samples that an engine took and failed at, decoded on the CPU after that"},
          returned);
  v.field({"gpu_ratio", Unit::ratio, "share of the samples that a GPU decoded"}, gpu_ratio);
  v.field({"busy", Unit::ratio, "share of its time that the thread which hands over spent decoding"}, busy_ratio);
}

void PipelineRung::describe(FieldVisitor& v) {
  v.field({"rung", Unit::none, "what it adds to the one before"}, rung);
  v.field({"missing", Unit::none, "why it was not measured; none where it was"}, missing);
  v.field({"pinned", Unit::none, "host memory is"}, pinned);
  v.field({"prefetch", Unit::none, "batches per GPU made ahead"}, prefetch);
  v.field({"decode", Unit::none, "how images became pixels"}, decode);
  v.field({"normalize", Unit::none, "where samples were flipped and normalised"}, normalize);
  v.field({"samples_per_second", Unit::per_second, "samples that steps took"}, samples_per_second);
  v.field({"factor", Unit::none, "that, over the last measured rung's before"}, factor);
  v.field({"stall_ratio", Unit::ratio, "share of the time that steps waited"}, stall_ratio);
  v.field({"au_ratio", Unit::ratio, "accelerator utilisation"}, au_ratio);
  v.field({"process_cpu_seconds_per_sample", Unit::seconds, "processor time of the whole process"},
          process_cpu_seconds_per_sample);
  v.field({"limiting_stage", Unit::none, "what sets the pace"}, limiting_stage);
}

void TraceReport::describe(FieldVisitor& v) {
  v.field({"file", Unit::none, "the trace"}, file);
  v.field({"events", Unit::count, "in it"}, events);
  v.field({"dropped", Unit::count, "older ones that had to make room"}, dropped);
}

void PipelineResult::describe(FieldVisitor& v) {
  v.field({"limiting_stage", Unit::none, "the stage that sets the pace"}, limiting_stage);
  v.field({"reason", Unit::none, "why, in one line"}, reason);
  v.field({"advice", Unit::none, "settings that would help"}, advice);
  v.field({"source", Unit::none, "what was read: shards, files or null"}, source);
  v.field({"files", Unit::count, "shards or image files"}, files);
  v.field({"decode", Unit::none, "how images became pixels"}, decode);
  v.field({"sink", Unit::none, "where batches were handed over to; host: nothing is copied"}, sink);
  v.field({"normalize", Unit::none, "where samples were flipped and normalised"}, normalize);
  v.field({"gpus", Unit::none, "GPUs that stepped together"}, gpus);
  v.field({"batch", Unit::none, "samples per GPU and step"}, batch);
  v.field({"step", Unit::none, "what computing was"}, step);
  v.field({"step_seconds", Unit::seconds, "that a step was to compute"}, step_seconds);
  v.field({"prefetch", Unit::none, "batches per GPU made ahead; the last value of --prefetch"}, prefetch);
  v.field({"readers", Unit::count, "threads that read"}, readers);
  v.field({"workers", Unit::count, "threads that decode and augment"}, workers);
  v.field({"crop", Unit::none, "side of the crop in pixels"}, crop);
  v.field({"dtype", Unit::none, "type of the batch's values"}, dtype);
  v.field({"layout", Unit::none, "planes or pixels first"}, layout);
  v.field({"batch_memory", Unit::bytes, "memory that holds batches"}, batch_memory);
  v.field({"steps", Unit::count, "in all epochs"}, steps);
  v.field({"samples", Unit::count, "that steps took, in all epochs"}, samples);
  v.field({"samples_dropped", Unit::count, "left out at the ends of epochs, with --drop-last"}, samples_dropped);
  v.field({"required_samples_per_second", Unit::per_second, "what the job takes when it never waits"},
          required_samples_per_second);
  v.field({"samples_per_second", Unit::per_second, "samples that steps took, after the first batch"},
          samples_per_second);
  v.field({"bytes_per_second", Unit::bytes_per_second, "compressed bytes of as many"}, bytes_per_second);
  v.field({"mean_sample", Unit::bytes, "mean size of a compressed image"}, mean_sample);
  v.field({"batch_latency", Unit::seconds, "time that a step waited for its batches, the first step left out"},
          batch_latency);
  v.field({"first_batch_seconds", Unit::seconds, "that the first step waited"}, first_batch_seconds);
  v.field({"stall_ratio", Unit::ratio, "share of the running time that steps waited, the first step left out"},
          stall_ratio);
  v.field({"au_ratio", Unit::ratio, "computing over running time, the first step left out; none without --step-time"},
          au_ratio);
  v.field({"stages", Unit::none, "what each stage's threads did"}, stages);
  v.field({"cpu_seconds_per_sample", Unit::seconds, "of all stages' threads together"}, cpu_seconds_per_sample);
  v.field({"process_cpu_seconds_per_sample", Unit::seconds, "of the whole process, threads of drivers among them"},
          process_cpu_seconds_per_sample);
  v.field({"epochs", Unit::none, "cold against warm"}, epochs);
  v.field({"prefetches", Unit::none, "a row for each value of --prefetch"}, prefetches);
  v.field({"ladder", Unit::none, "a row for each rung; none without --ladder"}, ladder);
  v.field({"cache", Unit::none, "the page cache, before the first epoch and after the last"}, cache);
  v.field({"copies", Unit::none, "to GPUs, in all epochs; none where batches stayed in host memory"}, copies);
  v.field({"jpegs", Unit::none, "who decoded; none without --decode nvjpeg"}, jpegs);
  v.field({"failures", Unit::none, "images that went wrong, by kind; they are in no batch"}, failures);
  v.field({"images_tried", Unit::count, "images that came to be decoded, once for each epoch"}, images_tried);
  v.field({"overhead", Unit::none, "the tool's own, measured before"}, overhead);
  v.field({"checkpoint", Unit::none, "what checkpoints cost; none without --checkpoint-every"}, checkpoint);
  v.field({"trace", Unit::none, "none without --trace"}, trace);
}

}  // namespace shardkit
