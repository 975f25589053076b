#include "bench/watch/watch_row.hpp"

namespace shardkit {

void PressureShares::describe(FieldVisitor& v) {
  v.field({"cpu", Unit::ratio, "share of the time in which at least one task waited for a core"}, cpu);
  v.field({"io", Unit::ratio, "in which at least one waited for storage"}, io);
  v.field({"io_full", Unit::ratio, "in which all that had something to do waited for storage"}, io_full);
  v.field({"memory", Unit::ratio, "in which at least one waited for memory"}, memory);
  v.field({"memory_full", Unit::ratio, "in which all did"}, memory_full);
}

void NodeRow::describe(FieldVisitor& v) {
  v.field({"cpu_busy", Unit::ratio, "share of the processors' time that was used"}, cpu_busy);
  v.field({"busy_cores", Unit::none, "the same in cores"}, busy_cores);
  v.field({"stolen", Unit::ratio, "share that the hypervisor gave to others"}, stolen);
  v.field({"blocked_tasks", Unit::none, "tasks that wait for storage, at the end"}, blocked_tasks);
  v.field({"pressure", Unit::ratio, "waiting on the whole node (PSI)"}, pressure);
  v.field({"memory", Unit::bytes, "memory of the node"}, memory);
  v.field({"memory_available", Unit::bytes, "what programs may take without swapping, at the end"}, memory_available);
  v.field({"page_cache", Unit::bytes, "contents of files in memory, at the end"}, page_cache);
  v.field({"page_cache_growth", Unit::bytes_per_second, "negative where it shrinks"}, page_cache_growth);
  v.field({"major_faults", Unit::per_second, "page faults that needed storage"}, major_faults);
  v.field({"swapped_pages", Unit::per_second, "pages swapped in and out"}, swapped_pages);
  v.field({"dev_shm_size", Unit::bytes, "size of /dev/shm"}, dev_shm_size);
  v.field({"dev_shm_free", Unit::bytes, "room left in it, at the end"}, dev_shm_free);
}

void GroupRow::describe(FieldVisitor& v) {
  v.field({"cpu_limit", Unit::none, "cores that the control groups allow"}, cpu_limit);
  v.field({"throttled", Unit::ratio, "share of the limit's periods in which it cut in"}, throttled);
  v.field({"cores", Unit::none, "processor time per time"}, cores);
  v.field({"pressure", Unit::ratio, "waiting in the control group (PSI)"}, pressure);
  v.field({"memory", Unit::bytes, "memory in use, page cache among it, at the end"}, memory);
  v.field({"memory_limit", Unit::bytes, "memory that the control groups allow"}, memory_limit);
}

void JobRow::describe(FieldVisitor& v) {
  v.field({"processes", Unit::count, "processes, at the end"}, processes);
  v.field({"threads", Unit::count, "threads, at the end"}, threads);
  v.field({"blocked_threads", Unit::count, "threads in uninterruptible sleep, at the end"}, blocked_threads);
  v.field({"cores", Unit::none, "processor time per time"}, cores);
  v.field({"queued_threads", Unit::none, "threads that were ready to run and waited for a core, on average"},
          queued_threads);
  v.field({"saturated_processes", Unit::count, "processes that kept a whole core busy, or more"}, saturated_processes);
  v.field({"processors", Unit::count, "processors that it may run on"}, processors);
  v.field({"major_faults", Unit::per_second, "page faults that needed storage"}, major_faults);
  v.field({"asked", Unit::bytes_per_second, "by read calls, from storage, page cache, pipes and sockets"}, asked_bytes);
  v.field({"from_storage", Unit::bytes_per_second, "fetched from storage for it"}, from_storage_bytes);
  v.field({"to_storage", Unit::bytes_per_second, "that it made to be written"}, to_storage_bytes);
}

void DiskRow::describe(FieldVisitor& v) {
  v.field({"name", Unit::none, "block device"}, name);
  v.field({"reads", Unit::per_second, "reads"}, reads);
  v.field({"read", Unit::bytes_per_second, "bytes read"}, read_bytes);
  v.field({"read_size", Unit::bytes, "mean bytes of a read"}, read_size);
  v.field({"read_wait", Unit::seconds, "mean time of a read from request to answer"}, read_wait);
  v.field({"writes", Unit::per_second, "writes"}, writes);
  v.field({"written", Unit::bytes_per_second, "bytes written"}, written_bytes);
  v.field({"write_wait", Unit::seconds, "mean time of a write"}, write_wait);
  v.field({"busy", Unit::ratio, "share of the time with a request under way; no saturation on NVMe"}, busy);
  v.field({"queue", Unit::none, "mean requests under way"}, queue);
}

void NfsRow::describe(FieldVisitor& v) {
  v.field({"operations", Unit::per_second, "requests of all kinds"}, operations);
  v.field({"read", Unit::bytes_per_second, "bytes that came for reads"}, read_bytes);
  v.field({"retransmissions", Unit::per_second, "requests that were sent again"}, retransmissions);
  v.field({"retransmitted", Unit::ratio, "the same as a share of the requests"}, retransmitted);
  v.field({"round_trip", Unit::seconds, "mean time from request to answer"}, round_trip);
  v.field({"read_round_trip", Unit::seconds, "the same of reads alone"}, read_round_trip);
}

void GpuRow::describe(FieldVisitor& v) {
  state.describe(v);
  v.field({"pcie_intake", Unit::bytes_per_second, "what came over its link in the last 20 ms; of GPUs in use"}, intake);
}

void WatchRow::describe(FieldVisitor& v) {
  v.field({"time", Unit::none, "end of the interval, UTC"}, time);
  v.field({"seconds", Unit::seconds, "length of the interval"}, seconds);
  v.field({"short_of", Unit::none, "what was short; compute: nothing, the GPUs were busy"}, short_of);
  v.field({"node", Unit::none, "the whole node"}, node);
  v.field({"group", Unit::none, "control group of the process, or this program's own"}, group);
  v.field({"job", Unit::none, "the process and all below it"}, job);
  v.field({"disk", Unit::none, "block device below PATH, all its users together"}, disk);
  v.field({"nfs", Unit::none, "NFS mount of PATH, as its client counts"}, nfs);
  v.field({"cached", Unit::ratio, "share of some files of PATH in the page cache, at the end"}, cached);
  v.field({"gpus", Unit::none, "GPUs as their driver tells, at the end"}, gpus);
}

}  // namespace shardkit
