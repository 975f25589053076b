#include <algorithm>

#include "bench/env/env.hpp"
#include "bench/env/env_machines.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::test;

namespace {

constexpr const char* kDrive = "/sys/devices/pci0000:c0/0000:c0:01.0/0000:c1:00.0";

}  // namespace

TEST_CASE("a node that is set up well has nothing to point at") {
  CHECK(codes(look(machine("two-sockets"))) == Codes{});
}

TEST_CASE("every finding says what was measured, what is normal and what to do") {
  for (const char* name : {"nfs", "lustre", "juicefs", "hdd", "gpu-links", "pod", "docker-v1", "arm64"}) {
    const std::string path = std::string(name) == "lustre"    ? "/scratch"
                             : std::string(name) == "juicefs" ? "/jfs"
                                                              : "/data";
    for (const MachineFinding& finding : look(machine(name), path).findings) {
      CAPTURE(finding.code);
      CHECK_FALSE(finding.measured.empty());
      CHECK_FALSE(finding.normal.empty());
      CHECK_FALSE(finding.advice.empty());
      CHECK_FALSE(finding.text.empty());
    }
  }
}

TEST_CASE("a pod with 7.65 of 96 processors, 64 MiB of /dev/shm and data in its image") {
  const Environment pod = look(machine("pod"));
  CHECK(pod.usable_threads == 7);
  CHECK(codes(pod) == Codes{"cpu_limit", "cpu_throttled", "dev_shm_small", "data_in_container_layer",
                            "io_uring_refused", "memory_high"});
  CHECK(find(pod, "cpu_limit")->measured == "96 processors visible, 7.65 allowed");
  CHECK(find(pod, "cpu_throttled")->measured == "3,400 of 20,000 periods (17.0 %)");
}

TEST_CASE("the same limit on cgroup v1, hardly throttled, with data on a volume") {
  CHECK(codes(look(machine("docker-v1"))) == Codes{"cpu_limit"});
}

TEST_CASE("a limit as high as what is visible is none") {
  CHECK_FALSE(has(look(machine("pod", "/sys/fs/cgroup/cpu.max: 9600000 100000\n")), "cpu_limit"));
}

TEST_CASE("fewer processors by affinity are a hint, for a scheduler may have done it") {
  const std::string status = "/proc/self/status:\n  CapEff:\t000001ffffffffff\n  Cpus_allowed_list:\t0-47\n";
  const Environment bound = look(machine("two-sockets", status), "");
  CHECK(severity(bound, "cpu_affinity") == kHint);
  CHECK(bound.usable_threads == 48);
}

TEST_CASE("more loader processes than cores are a hint, for on slow storage they help") {
  const LoaderJob job{8, 12, 2, 256, 150528};
  CHECK(severity(look(machine("pod"), "", job), "workers_above_cores") == kHint);
  CHECK_FALSE(has(look(machine("two-sockets"), "", job), "workers_above_cores"));
}

TEST_CASE("/dev/shm is held against the loader when one is described") {
  const LoaderJob job{8, 8, 2, 256, 602112};  // 8 * 8 * 2 * 256 * 3*224*224*4 = 19.7 GB
  const Environment pod = look(machine("pod"), "", job);
  CHECK(severity(pod, "dev_shm_too_small") == kError);
  CHECK(codes(pod).front() == "dev_shm_too_small");
  CHECK_FALSE(has(pod, "dev_shm_small"));
  CHECK(find(pod, "dev_shm_too_small")->normal == "18.4 GiB or more");
  CHECK(find(pod, "dev_shm_too_small")->advice.starts_with("docker run --shm-size=19g or"));
  CHECK_FALSE(has(look(machine("two-sockets"), "", job), "dev_shm_too_small"));
  CHECK_FALSE(has(look(machine("pod"), "", LoaderJob{1, 1, 1, 1, 602112}), "dev_shm_too_small"));
}

TEST_CASE("/dev/shm of another size than Docker's default is nobody's mistake") {
  const std::string larger = "answer statfs /dev/shm: magic=1021994 total=134217728 free=134217728\n";
  CHECK_FALSE(has(look(machine("pod", larger), ""), "dev_shm_small"));
  CHECK_FALSE(has(look(RecordedTree(), ""), "dev_shm_small"));  // unknown is not small
}

TEST_CASE("powersave is a brake with governors, and the normal name with drivers that choose themselves") {
  CHECK(severity(look(machine("hdd")), "governor_powersave") == kWarning);
  CHECK_FALSE(has(look(machine("two-sockets")), "governor_powersave"));
  CHECK_FALSE(has(look(machine("arm64")), "governor_powersave"));
  const std::string power = "/sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference: ";
  CHECK(severity(look(machine("two-sockets", power + "power\n")), "energy_preference") == kWarning);
  CHECK(severity(look(machine("two-sockets", power + "balance_power\n")), "energy_preference") == kHint);
}

TEST_CASE("limits of the process: descriptors and locked memory") {
  const std::string limits =
      "/proc/self/limits:\n  Max open files  1024  1024  files\n  Max locked memory  65536  65536  bytes\n";
  const std::string user =
      "/proc/self/status:\n  Uid:\t1000\t1000\n  CapEff:\t0000000000000000\n  Cpus_allowed_list:\t0-191\n";
  CHECK(severity(look(machine("two-sockets", limits)), "descriptors_low") == kWarning);
  CHECK_FALSE(has(look(machine("two-sockets", limits)), "locked_memory_low"));  // the superuser is not bound
  CHECK(severity(look(machine("two-sockets", limits + user)), "locked_memory_low") == kWarning);  // RDMA needs it
  CHECK(severity(look(machine("nfs", limits + user)), "locked_memory_low") == kHint);
  CHECK_FALSE(has(look(machine("pod")), "locked_memory_low"));
}

TEST_CASE("swap that is in use while memory is short") {
  const std::string swap =
      "/proc/meminfo:\n  MemTotal: 100000000 kB\n  SwapTotal: 8000000 kB\n  SwapFree: 1000000 kB\n";
  CHECK(has(look(machine("nfs", swap + "  MemAvailable: 5000000 kB\n")), "swapping"));
  CHECK_FALSE(has(look(machine("nfs", swap + "  MemAvailable: 80000000 kB\n")), "swapping"));  // left from long ago
}

TEST_CASE("settings of memory that cost: idle huge pages, defragmentation, zone reclaim") {
  const std::string huge =
      "/proc/meminfo:\n  MemTotal: 100000000 kB\n  MemAvailable: 10000000 kB\n  HugePages_Total: 10000\n  "
      "Hugepagesize: 2048 kB\n";
  CHECK(has(look(machine("nfs", huge + "  HugePages_Free: 10000\n")), "huge_pages_idle"));
  CHECK_FALSE(has(look(machine("nfs", huge + "  HugePages_Free: 2000\n")), "huge_pages_idle"));
  const std::string pages = "/sys/kernel/mm/transparent_hugepage/";
  CHECK(has(look(machine("two-sockets", pages + "enabled: [always] never\n" + pages + "defrag: [always] never\n")),
            "huge_page_defrag"));
  CHECK_FALSE(has(look(machine("two-sockets", pages + "enabled: [always] never\n")), "huge_page_defrag"));
  CHECK(has(look(machine("two-sockets", "/proc/sys/vm/zone_reclaim_mode: 1\n")), "zone_reclaim"));
}

TEST_CASE("GPU links: lost lanes are a warning, a slow link of an idle GPU a hint that says so") {
  const Environment links = look(machine("gpu-links"), "");
  CHECK(codes(links) == Codes{"gpu_pcie_width", "gpu_pcie_speed"});
  CHECK(find(links, "gpu_pcie_width")->measured == "x8");
  CHECK(find(links, "gpu_pcie_width")->normal == "x16");
  CHECK(find(links, "gpu_pcie_speed")->text.find("idle GPU does this to save power") != std::string::npos);
}

TEST_CASE("a card in a slot that offers less is a hint about the slot, not about the link") {
  const std::string port = "/sys/devices/pci0000:40/0000:40:01.1/max_link_width: 8\n";
  const Environment links = look(machine("gpu-links", port), "");
  CHECK(codes(links) == Codes{"gpu_slot", "gpu_pcie_speed"});
}

TEST_CASE("an NVMe link below what drive and slot can do is a warning: drives do not rest at a lower speed") {
  const Environment slow = look(machine("two-sockets", std::string(kDrive) + "/current_link_speed: 8.0 GT/s PCIe\n"));
  CHECK(codes(slow) == Codes{"nvme_pcie_speed"});
  CHECK(slow.findings[0].severity == kWarning);
  const Environment narrow = look(machine("two-sockets", std::string(kDrive) + "/current_link_width: 2\n"));
  CHECK(codes(narrow) == Codes{"nvme_pcie_width"});
}

TEST_CASE("each member of an array is looked at: one narrow link slows all of it") {
  const Environment stripe = look(machine("raid-nvme"));
  CHECK(codes(stripe) == Codes{"nvme_pcie_width"});
  CHECK(stripe.findings[0].text.starts_with("nvme1n1 at 0000:02:00.0 runs on 2 of 4 PCIe lanes"));
}

TEST_CASE("a network card that is faster than its slot") {
  const std::string card = "/sys/devices/pci0000:15/0000:15:02.0/0000:1a:00.0/current_link_speed: 16.0 GT/s PCIe\n";
  CHECK(codes(look(machine("two-sockets", card))) == Codes{"network_pcie"});
}

TEST_CASE("NUMA: devices of a node where this process may not run, and a drive away from all GPUs") {
  const std::string bound = "/proc/self/status:\n  CapEff:\t000001ffffffffff\n  Cpus_allowed_list:\t0-47,96-143\n";
  const Environment one = look(machine("two-sockets", bound));
  const auto remote = codes(one);
  CHECK(std::count(remote.begin(), remote.end(), "numa_remote") == 2);  // a GPU and the drive
  RecordedTree tree = machine("two-sockets");
  tree.without("/sys/bus/pci/devices/0000:9a:00.0").without("/dev/nvidia1");
  CHECK(codes(look(tree)) == Codes{"numa_split"});
}

TEST_CASE("GPUs that the bus has and this process does not see") {
  RecordedTree tree = machine("two-sockets");
  tree.without("/dev/nvidia1");
  CHECK(codes(look(tree)) == Codes{"gpus_not_visible"});
  CHECK(look(tree).findings[0].measured == "1 of 2");
}

TEST_CASE("in a restricted container without /sys, or without anything, the report says that little can be seen") {
  RecordedTree tree = machine("pod");
  tree.without("/sys");
  const Environment pod = look(tree);
  CHECK(has(pod, "machine_hidden"));
  CHECK(pod.hidden == std::vector<std::string>{"/sys"});
  CHECK_FALSE(pod.cpu_limit);
  CHECK(pod.usable_threads == 96);
  const Environment nothing = look(RecordedTree());
  CHECK(codes(nothing) == Codes{"machine_hidden", "storage_unknown"});
  CHECK(nothing.usable_threads >= 1);
}
