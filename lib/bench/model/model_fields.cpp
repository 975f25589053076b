#include "bench/model/model.hpp"

namespace shardkit {

void ModelOptions::describe(FieldVisitor& v) {
  v.field({"list-presets", Unit::none, "list the presets and what each asks of its input"}, list_presets);
  v.field({"preset", Unit::none, "a published workload, such as resnet50-h100", Role::option, "NAME"}, preset);
  v.field({"gpus", Unit::count, "GPUs that train together; 1"}, gpus);
  v.field({"batch", Unit::count, "samples per GPU and step"}, batch);
  v.field({"step-time", Unit::seconds, "time a GPU computes on one batch"}, step_time);
  v.field({"sample-bytes", Unit::bytes, "mean size of a stored sample"}, sample_bytes);
  v.field({"min-au", Unit::ratio, "share of the GPUs' time that must be used; the preset's, else 1"}, min_au);
  v.field({"workers", Unit::count, "loader processes per GPU"}, workers);
  v.field({"prefetch", Unit::count, "batches that each worker keeps ready"}, prefetch);
  v.field({"crop", Unit::count, "side of the decoded crop in pixels"}, crop);
  v.field({"dtype", Unit::none, "type of the decoded values"}, dtype);
  v.field({"decode-per-core", Unit::per_second, "samples that one core decodes per second, for the cores needed"},
          decode_per_core);
  v.field({"from", Unit::none,
           "take the supply from a result of read, decode, pipeline or run (--json), or from one of checkpoint what "
           "checkpoints take",
           Role::option, "FILE"},
          from);
  v.field({"read-rate", Unit::bytes_per_second, "what storage gives"}, read_rate);
  v.field({"decode-rate", Unit::per_second, "samples per second that the node decodes"}, decode_rate);
  v.field({"dataset-bytes", Unit::bytes, "size of the data set, for staging and epochs"}, dataset_bytes);
  v.field({"stage-rate", Unit::bytes_per_second, "rate at which it is staged"}, stage_rate);
  v.field({"checkpoint-bytes", Unit::bytes, "size of a checkpoint"}, checkpoint_bytes);
  v.field({"checkpoint-rate", Unit::bytes_per_second, "rate at which it is written"}, checkpoint_rate);
  v.field({"checkpoint-every", Unit::count, "steps from one checkpoint to the next"}, checkpoint_every);
  v.field({"checkpoint-copy-time", Unit::seconds, "time that an asynchronous checkpoint still blocks"},
          checkpoint_copy_time);
  v.field({"gpu-hour-cost", Unit::none, "price of a GPU hour, for the cost of idle GPUs", Role::option, "PRICE"},
          gpu_hour_cost);
  v.field({"egress-cost", Unit::none, "price of reading 10^9 bytes, for the cost of streaming", Role::option, "PRICE"},
          egress_cost);
}

void CheckpointCost::describe(FieldVisitor& v) {
  v.field({"write_seconds", Unit::seconds, "time to write one"}, write_seconds);
  v.field({"synchronous_share_ratio", Unit::ratio, "share of the running time when training waits for it"},
          synchronous_share_ratio);
  v.field({"asynchronous_share_ratio", Unit::ratio,
           "share of the running time when only the copy blocks; none where its time is not known"},
          asynchronous_share_ratio);
  v.field({"fits_interval", Unit::none, "an asynchronous one is written before the next starts"}, fits_interval);
}

void Required::describe(FieldVisitor& v) {
  v.field({"samples_per_second", Unit::per_second, "samples that all GPUs take"}, samples_per_second);
  v.field({"bytes_per_second", Unit::bytes_per_second, "N * B * S / t"}, bytes_per_second);
  v.field({"files_per_second", Unit::per_second, "files to open and read when each sample is a file"},
          files_per_second);
  v.field({"decode_cores", Unit::none, "cores that decoding keeps busy"}, decode_cores);
  v.field({"h2d_bytes_per_second", Unit::bytes_per_second, "decoded bytes from host to GPUs"}, h2d_bytes_per_second);
  v.field({"prefetch_memory", Unit::bytes, "memory of the batches that the workers of all GPUs keep ready"},
          prefetch_memory);
  v.field({"dev_shm", Unit::bytes, "what /dev/shm has to hold for that, at least"}, dev_shm);
  v.field({"staging_seconds", Unit::seconds, "time to stage the data set"}, staging_seconds);
  v.field({"epoch_seconds", Unit::seconds, "time of one pass over the data set at full speed"}, epoch_seconds);
  v.field({"checkpoint", Unit::none, "what checkpoints cost"}, checkpoint);
}

void PresetRow::describe(FieldVisitor& v) {
  v.field({"name", Unit::none, "<workload>-<accelerator>[-amp]"}, name);
  v.field({"sample_bytes", Unit::bytes, "mean size of a stored sample"}, sample_bytes);
  v.field({"batch", Unit::count, "samples per GPU and step"}, batch);
  v.field({"step_seconds", Unit::seconds, "time a GPU computes on one batch"}, step_seconds);
  v.field({"min_au_ratio", Unit::ratio, "utilisation that counts as fed"}, min_au_ratio);
  v.field({"samples_per_second", Unit::per_second, "samples that one GPU takes"}, samples_per_second);
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes that one GPU takes"}, bytes_per_second);
  v.field({"gpus_fed", Unit::count, "GPUs that the supply feeds"}, gpus_fed);
  v.field({"edition", Unit::none, "where the workload was published"}, edition);
}

void ModelResult::describe(FieldVisitor& v) {
  v.field({"text", Unit::none, "what comes of it, in a line"}, text);
  v.field({"preset", Unit::none, "preset that the job came from"}, preset);
  v.field({"edition", Unit::none, "where that was published"}, edition);
  v.field({"required", Unit::none, "what the job asks for"}, required);
  v.field({"supply", Unit::none, "what the node gives"}, supply);
  v.field({"limiting_stage", Unit::none,
           "the stage that sets the pace; compute when input is fast enough; none while that is undecided"},
          limiting_stage);
  v.field({"headroom_ratio", Unit::ratio, "supply over demand; below 1 the input is short"}, headroom_ratio);
  v.field({"predicted_au_ratio", Unit::ratio,
           "utilisation of the GPUs when input overlaps compute fully; at most that where a stage was not measured"},
          predicted_au_ratio);
  v.field({"predicted_au_serial_ratio", Unit::ratio, "utilisation when each step waits for its batch"},
          predicted_au_serial_ratio);
  v.field({"gpus_fed", Unit::count, "GPUs that the supply feeds"}, gpus_fed);
  v.field({"requirement", Unit::none,
           "met or missed by the supply that was given; undecided where stages were not measured"},
          requirement);
  v.field({"not_measured", Unit::none, "stages of the job that the supply says nothing of"}, not_measured);
  v.field({"idle_cost_per_hour", Unit::none, "what the idle share of the GPUs costs"}, idle_cost_per_hour);
  v.field({"egress_cost_per_hour", Unit::none, "what streaming the data costs"}, egress_cost_per_hour);
  v.field({"presets", Unit::none, "published workloads"}, presets);
}

}  // namespace shardkit
