#include <string>

#include <doctest/doctest.h>

#include "bench/env/env.hpp"
#include "cli/report_text.hpp"
#include "iobench/verbs.hpp"
#include "support/recorded_tree.hpp"

using namespace shardkit;
using namespace shardkit::apps;
using namespace shardkit::bench;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

EnvResult look(const std::string& machine, const std::string& path) {
  EnvResult result;
  result.environment = look_at_environment(path, std::nullopt, RecordedTree::machine(machine));
  for (const auto& finding : result.environment.findings) {
    if (finding.severity == shardkit::Severity::warning) ++result.warnings;
  }
  return result;
}

std::string report(const std::string& machine, const std::string& path = "/data") {
  return report_text(answer_env(look(machine, path)), false);
}

}  // namespace

TEST_CASE("findings come first, each with what is, what is normal and what to do") {
  const std::string text = report("nfs");
  CHECK(text.starts_with(
      "2 warnings, 2 hints (1.00 s)\n"
      "warning: NFS is mounted with one connection; nconnect=8 or more allows several streams in parallel\n"
      "  is      nconnect=1\n"
      "  normal  nconnect=8 to 16\n"
      "  do      mount -o nconnect=8 "));
  CHECK(contains(text, "echo 15360 > /sys/class/bdi/0:53/read_ahead_kb"));
  CHECK(text.find("hint: ") < text.find("\ncpu "));
}

TEST_CASE("then the machine, in a line for each part that there is") {
  const std::string text = report("two-sockets");
  CHECK(text.starts_with(
      "no findings (1.00 s)\ncpu       INTEL(R) XEON(R) PLATINUM 8568Y+, 2 sockets, 96 cores, 2 threads each, "
      "intel_pstate powersave balance_performance, 0.8-4.0 GHz\n"));
  CHECK(contains(text, "\nnuma      node 0: processors 0-47,96-143, 1008 GiB\n"));
  CHECK(contains(text, "\ndata      /data: xfs, at /data, from /dev/nvme1n1p1, 6.37 TiB free\n"));
  CHECK(contains(text, "\ndevice    nvme1n1p1 on nvme1n1, nvme, SAMSUNG"));
  CHECK(contains(text, "PCIe 32 GT/s x4, node 1\n"));
  CHECK(contains(text, "\nnetwork   ibp26s0, mlx5_core, up, 400 Gb/s, MTU 4092"));
  CHECK(contains(text, "\ngpu       NVIDIA H100 80GB HBM3, 0000:18:00.0, PCIe 32 GT/s x16, node 0\n"));
  CHECK(contains(text, "\nnormal    nvme: 10.0 GB/s to 14.0 GB/s"));
}

TEST_CASE("arrays, remote file systems and containers have their lines") {
  CHECK(contains(report("raid-nvme"), "device    dm-1, nvme, raid0, over nvme0n1 nvme1n1"));
  CHECK(contains(report("nfs"),
                 "nfs       version 4.2, tcp, 1 connection, 1.00 MiB read size, hard, 451 of 120,000 requests"));
  CHECK(contains(report("lustre", "/scratch/train/b.tar"), "lustre    4 stripes of 4.00 MiB, 8 requests in flight"));
  CHECK(
      contains(report("juicefs", "/jfs"), "fuse      JuiceFS, object store, cache in /nvme0/jfs /nvme1/jfs, 100 GiB"));
  CHECK(contains(report("pod"), "limit 7.65, throttled in 3400 of 20000 periods"));
  CHECK(contains(report("pod"), "virtual machine Amazon EC2 p4d.24xlarge, kubernetes container"));
}

TEST_CASE("a link below its best names both") {
  CHECK(contains(report("gpu-links", ""), "0000:41:00.0, PCIe 16 GT/s x8, of 16 GT/s x16"));
}

TEST_CASE("what cannot be seen is called unknown; without data the report asks for some") {
  EnvResult nothing;
  nothing.environment = look_at_environment("", std::nullopt, RecordedTree());
  const std::string text = report_text(answer_env(nothing), false);
  CHECK(contains(text, "\ncpu       unknown\n"));
  CHECK(contains(text, "\nmemory    unknown\n"));
  CHECK(contains(text, "\ndata      no PATH given"));
}
