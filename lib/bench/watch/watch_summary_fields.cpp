#include "bench/watch/watch_summary.hpp"

namespace shardkit {
namespace {

/// A mean as the field that it is.
void mean(FieldVisitor& v, const Field& field, const WeightedMean& mean) {
  std::optional<double> value = mean.value();
  v.field(field, value);
}

/// Shares of the watched time by what was short in it.
struct ShortShares {
  const WatchSummary& summary;

  void describe(FieldVisitor& v) {
    const auto share = [&](std::string_view name, Shortage shortage, std::string_view help) {
      double value = summary.share(shortage);
      v.field({name, Unit::ratio, help}, value);
    };
    share("cpu_limit", Shortage::cpu_limit, "the control group's CPU limit cut in");
    share("memory", Shortage::memory, "tasks waited for memory");
    share("cores", Shortage::cores, "all cores were busy");
    share("gpu_link", Shortage::gpu_link, "a GPU's link carried as much as it can");
    share("storage", Shortage::storage, "tasks waited for storage");
    share("dev_shm", Shortage::dev_shm, "/dev/shm was nearly full");
    share("compute", Shortage::compute, "nothing was short: the GPUs were busy");
    share("nothing", Shortage::nothing, "nothing was seen to be short");
  }
};

void describe_node(WatchSummary& sum, FieldVisitor& v) {
  mean(v, {"cpu_busy", Unit::ratio, "share of the node's processors' time that was used"}, sum.cpu_busy);
  mean(v, {"busy_cores", Unit::none, "the same in cores"}, sum.busy_cores);
  mean(v, {"cpu_pressure", Unit::ratio, "share of the time in which a task waited for a core"}, sum.cpu_pressure);
  mean(v, {"io_pressure", Unit::ratio, "in which a task waited for storage"}, sum.io_pressure);
  mean(v, {"io_full_pressure", Unit::ratio, "in which all tasks did"}, sum.io_full);
  mean(v, {"memory_pressure", Unit::ratio, "in which a task waited for memory"}, sum.memory_pressure);
  mean(v, {"blocked", Unit::ratio, "threads that wait for storage, of these and the cores that work"},
       sum.blocked_share);
  v.field({"memory", Unit::bytes, "memory of the node"}, sum.memory);
  v.field({"least_memory_available", Unit::bytes, "the least that programs could take"}, sum.least_memory_available);
  mean(v, {"swapped_pages", Unit::per_second, "pages swapped in and out"}, sum.swapped_pages);
  v.field({"dev_shm_size", Unit::bytes, "size of /dev/shm"}, sum.dev_shm_size);
  v.field({"least_dev_shm_free", Unit::bytes, "the least room in it"}, sum.least_dev_shm_free);
  v.field({"cpu_limit", Unit::none, "cores that the control groups allow"}, sum.cpu_limit);
  mean(v, {"throttled", Unit::ratio, "share of that limit's periods in which it cut in"}, sum.throttled);
  v.field({"memory_limit", Unit::bytes, "memory that the control groups allow"}, sum.memory_limit);
  v.field({"most_group_memory", Unit::bytes, "the most that the control group had, page cache among it"},
          sum.most_group_memory);
}

void describe_job(WatchSummary& sum, FieldVisitor& v) {
  v.field({"most_processes", Unit::count, "processes of the job, at most"}, sum.most_processes);
  mean(v, {"blocked_threads", Unit::none, "its threads in uninterruptible sleep"}, sum.blocked_threads);
  mean(v, {"cores", Unit::none, "its processor time per time"}, sum.cores);
  mean(v, {"queued_threads", Unit::none, "its threads that were ready to run and waited for a core"},
       sum.queued_threads);
  v.field({"processors", Unit::count, "processors that it may run on"}, sum.processors);
  mean(v, {"saturated_processes", Unit::none, "its processes that kept a whole core busy"}, sum.saturated_processes);
  mean(v, {"asked", Unit::bytes_per_second, "its read calls"}, sum.asked_bytes);
  mean(v, {"from_storage", Unit::bytes_per_second, "fetched from storage for it"}, sum.from_storage_bytes);
  mean(v, {"to_storage", Unit::bytes_per_second, "that it made to be written"}, sum.to_storage_bytes);
}

void describe_data(WatchSummary& sum, FieldVisitor& v) {
  mean(v, {"disk_reads", Unit::per_second, "reads of the disk below PATH"}, sum.disk_reads);
  mean(v, {"disk_read", Unit::bytes_per_second, "bytes that it read"}, sum.disk_read_bytes);
  mean(v, {"disk_read_size", Unit::bytes, "mean bytes of a read"}, sum.disk_read_size);
  mean(v, {"disk_read_wait", Unit::seconds, "mean time of a read"}, sum.disk_read_wait);
  mean(v, {"disk_written", Unit::bytes_per_second, "bytes that it wrote"}, sum.disk_written_bytes);
  mean(v, {"disk_busy", Unit::ratio, "share of the time with a request under way"}, sum.disk_busy);
  mean(v, {"nfs_operations", Unit::per_second, "requests of the NFS mount of PATH"}, sum.nfs_operations);
  mean(v, {"nfs_read", Unit::bytes_per_second, "bytes that came for reads"}, sum.nfs_read_bytes);
  mean(v, {"nfs_retransmitted", Unit::ratio, "share of the requests that were sent again"}, sum.nfs_retransmitted);
  mean(v, {"nfs_round_trip", Unit::seconds, "mean time of a request"}, sum.nfs_round_trip);
  mean(v, {"cached", Unit::ratio, "share of some files of PATH in the page cache"}, sum.cached);
}

void describe_gpus(WatchSummary& sum, FieldVisitor& v) {
  v.field({"most_gpus_in_use", Unit::count, "GPUs that some job held, at most"}, sum.most_gpus_in_use);
  mean(v, {"gpu_busy", Unit::ratio, "share of the time in which these ran kernels"}, sum.gpu_busy);
  mean(v, {"gpu_slowed", Unit::ratio, "share in which heat or lack of power slowed one down"}, sum.gpu_slowed);
  mean(v, {"gpu_link_use", Unit::ratio, "of what the link carries, on the one used most"}, sum.link_use);
}

}  // namespace

void WatchSummary::describe(FieldVisitor& v) {
  v.field({"intervals", Unit::count, "intervals"}, intervals);
  v.field({"seconds", Unit::seconds, "time that they cover"}, seconds);
  ShortShares shares{*this};
  v.field({"short", Unit::ratio, "shares of that time by what was short in it"}, shares);
  describe_node(*this, v);
  describe_job(*this, v);
  describe_data(*this, v);
  describe_gpus(*this, v);
}

}  // namespace shardkit
