#include "bench/run/run.hpp"

namespace shardkit {

void RunOptions::describe(FieldVisitor& v) {
  v.field({"PATH", Unit::none, "shards, files, or folders of either", Role::positional}, paths);
  v.field({"preset", Unit::none, "a published workload to feed, such as resnet50-h100", Role::option, "NAME"}, preset);
  v.field({"gpus", Unit::count, "GPUs that train together on this node"}, gpus);
  v.field({"batch", Unit::count, "samples per GPU and step"}, batch);
  v.field({"step-time", Unit::seconds, "time a GPU computes on one batch"}, step_time);
  v.field({"min-au", Unit::ratio, "share of the GPUs' time that must be used; the preset's, else 1"}, min_au);
  v.field({"threads", Unit::count, "decoding threads; as many as the process may keep cores busy"}, threads);
  v.field({"workers", Unit::count, "loader processes per GPU; as many as it takes and the cores allow"}, workers);
  v.field({"prefetch", Unit::count, "batches that each worker keeps ready"}, prefetch);
  v.field({"crop", Unit::count, "decode a random resized crop of this side; 0: whole images"}, crop);
  v.field({"dtype", Unit::none, "type of the decoded values, for the memory of batches"}, dtype);
  v.field(
      {"cache", Unit::none,
       "state of the page cache to read from; direct: past it (O_DIRECT); auto: cold where it can be had, else direct, "
       "else warm, else any"},
      cache);
  v.field({"budget", Unit::seconds, "time for all measurements of a turn together, about"}, budget);
  v.field({"repeat", Unit::count, "measure so many times: for intervals, and for compare, which wants ten"}, repeat);
}

void LadderRow::describe(FieldVisitor& v) {
  v.field({"stage", Unit::none, "what the samples pass through"}, stage);
  v.field({"required_per_second", Unit::per_second, "samples that the job takes"}, required_per_second);
  v.field(
      {"measured_per_second", Unit::per_second, "samples that the stage gives; with --repeat the median of all turns"},
      measured_per_second);
  v.field({"interval", Unit::none,
           "95 % interval of that: over slices of 0.1 s of the stage alone, none of less than 1 s or where it does not "
           "hold "
           "the rate; with --repeat over turns, of fewer than 6 their range"},
          interval);
  v.field({"headroom_ratio", Unit::ratio, "measured over required"}, headroom_ratio);
  v.field({"note", Unit::none, "how that came about"}, note);
}

void RunRequirement::describe(FieldVisitor& v) {
  v.field({"preset", Unit::none, "preset that the job came from"}, preset);
  v.field({"gpus", Unit::count, "GPUs"}, gpus);
  v.field({"min_au_ratio", Unit::ratio, "utilisation that counts as fed"}, min_au_ratio);
  v.field({"samples_per_second", Unit::per_second, "samples that all GPUs take"}, samples_per_second);
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes of the data at hand for that"}, bytes_per_second);
  v.field({"h2d_bytes_per_second", Unit::bytes_per_second, "decoded bytes from host to GPUs"}, h2d_bytes_per_second);
}

void PredictedSupply::describe(FieldVisitor& v) {
  v.field({"samples_per_second", Unit::per_second, "what the stages give together"}, samples_per_second);
  v.field({"bytes_per_second", Unit::bytes_per_second, "stored bytes for that"}, bytes_per_second);
  v.field({"of_measured_ratio", Unit::ratio, "what the host's stages predict over what the pipeline measured"},
          of_measured_ratio);
  v.field({"au_ratio", Unit::ratio, "utilisation of the GPUs when input overlaps compute fully"}, au_ratio);
  v.field({"au_serial_ratio", Unit::ratio, "utilisation when each step waits for its batch"}, au_serial_ratio);
  v.field({"gpus_fed", Unit::count, "GPUs that this feeds"}, gpus_fed);
}

void DataLoaderAdvice::describe(FieldVisitor& v) {
  v.field({"line", Unit::none, "for PyTorch"}, line);
  v.field({"workers", Unit::count, "loader processes per GPU"}, workers);
  v.field({"dev_shm_needed", Unit::bytes, "what it keeps in /dev/shm, at least"}, dev_shm_needed);
  v.field({"dev_shm_fits", Unit::none, "whether there is room for that now"}, dev_shm_fits);
}

void Verdict::describe(FieldVisitor& v) {
  v.field({"ok", Unit::none, "false when a requirement was given and missed"}, ok);
  v.field({"limiting_stage", Unit::none, "the stage that sets the pace"}, limiting_stage);
  v.field({"text", Unit::none, "the verdict in a line"}, text);
  v.field({"remedy", Unit::none, "what would close the gap"}, remedy);
}

void RunResult::describe(FieldVisitor& v) {
  v.field({"verdict", Unit::none, "what comes of it all"}, conclusion.verdict);
  v.field({"requirement", Unit::none, "what the job asks for"}, conclusion.requirement);
  v.field({"predicted", Unit::none, "what the stages give together; predicted, not measured"}, conclusion.predicted);
  v.field({"ladder", Unit::none, "stage by stage: required, measured, headroom"}, conclusion.ladder);
  v.field({"loader", Unit::none, "how to set up a PyTorch DataLoader"}, conclusion.loader);
  v.field({"presets", Unit::none, "without a requirement: published workloads and how many of their GPUs this feeds"},
          conclusion.presets);
  v.field({"repeated", Unit::none, "with --repeat: each metric over all turns"}, repeated);
  v.field(
      {"shown_turns", Unit::none, "with --repeat: the turns, those with the median rate, that the stages below are of"},
      shown_turns);
  v.field({"repetitions", Unit::none, "with --repeat: what each turn measured"}, repetitions);
  v.field({"environment", Unit::none, "what the run had to work with"}, environment);
  v.field({"read", Unit::none, "reading, measured"}, read);
  v.field({"decode", Unit::none, "decoding, measured"}, decode);
  v.field({"pipeline", Unit::none, "all stages at once, batches taken as fast as they come, measured"}, pipeline);
  v.field({"file_costs", Unit::none, "of image files: what each call takes, and what sharding would bring"},
          file_costs);
  v.field({"transfer", Unit::none, "batches on their way to the GPUs, measured where there are any"}, transfer);
  v.field({"command", Unit::none, "line that repeats this run"}, command);
}

}  // namespace shardkit
