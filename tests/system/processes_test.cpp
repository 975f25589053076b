#include "system/processes.hpp"

#include <string>

#include <doctest/doctest.h>

#include "support/recorded_tree.hpp"

using namespace shardkit;
using namespace shardkit::system;

namespace {

constexpr const char* kOtherFields = " 20 0 1 0 5000 1 1 0 0";

/// A process of one thread, with 1.5 s of its own and 2 s of children whom it has waited for.
std::string stat(const std::string& pid, const std::string& command, const std::string& state,
                 const std::string& parent) {
  return pid + " (" + command + ") " + state + " " + parent + " 1 1 0 -1 4194304 100 0 7 3 100 50 150 50" +
         kOtherFields;
}

RecordedTree job() {
  RecordedTree tree;
  tree.add("proc/1/stat", stat("1", "systemd", "S", "0"));
  tree.add("proc/10/stat", stat("10", "python (train) 3", "S", "1"));
  tree.add("proc/10/task/10/stat", stat("10", "python", "S", "1"));
  tree.add("proc/10/task/13/stat", stat("13", "pin memory", "D", "1"));
  tree.add("proc/10/task/13/schedstat", "9000000 2500000000 7");
  tree.add("proc/10/io", "rchar: 1000\nwchar: 5\nsyscr: 3\nread_bytes: 4096\nwrite_bytes: 512\n");
  tree.add("proc/11/stat", stat("11", "pt_data_worker", "D", "10"));
  tree.add("proc/11/task/11/stat", stat("11", "pt_data_worker", "D", "10"));
  tree.add("proc/12/stat", stat("12", "helper", "S", "11"));
  tree.add("proc/20/stat", stat("20", "other", "R", "1"));
  return tree;
}

}  // namespace

TEST_CASE("a process is known by its command, whatever signs that holds, and by its start") {
  const auto process = find_process(10, job());
  REQUIRE(process);
  CHECK(process->command == "python (train) 3");
  CHECK(process->start == 5000);
  CHECK_FALSE(find_process(99, job()));
}

TEST_CASE("a tree holds the process and all below it, and nobody else") {
  const auto tree = read_process_tree(10, job());
  REQUIRE(tree.size() == 3);
  CHECK(tree[0].pid == 10);
  CHECK(tree[1].pid == 11);
  CHECK(tree[2].pid == 12);
}

TEST_CASE("processor time and faults count children that were waited for, threads are counted by state") {
  const ProcessUse process = read_process_tree(10, job()).front();
  CHECK(process.own_cpu_seconds == doctest::Approx(1.5));
  CHECK(process.cpu_seconds == doctest::Approx(3.5));
  CHECK(process.major_faults == 10);
  CHECK(process.threads == 1);
  CHECK(process.blocked_threads == 1);
  REQUIRE(process.core_waits.size() == 1);
  CHECK(process.core_waits[0].thread == 13);
  CHECK(process.core_waits[0].seconds == doctest::Approx(2.5));
  REQUIRE(process.bytes);
  CHECK(process.bytes->asked == 1000);
  CHECK(process.bytes->from_storage == 4096);
  CHECK(process.bytes->to_storage == 512);
}

TEST_CASE("the bytes of another user's process are unknown, not 0") {
  CHECK_FALSE(read_process_tree(10, job())[1].bytes);
}

TEST_CASE("a child that ended keeps its counters until it is waited for; a process that did is no more") {
  RecordedTree tree = job();
  tree.add("proc/11/stat", stat("11", "pt_data_worker", "Z", "10"));
  const auto processes = read_process_tree(10, tree);
  REQUIRE(processes.size() == 3);
  CHECK(processes[1].cpu_seconds == doctest::Approx(3.5));
  CHECK(processes[1].threads == 0);
  CHECK(processes[1].blocked_threads == 0);
  tree.add("proc/10/stat", stat("10", "python", "Z", "1"));
  CHECK(read_process_tree(10, tree).empty());
  CHECK_FALSE(find_process(10, tree));
}

TEST_CASE("numbers that were used anew while they were read make no endless tree") {
  RecordedTree tree = job();
  tree.add("proc/10/stat", stat("10", "python", "S", "12"));
  CHECK(read_process_tree(10, tree).size() == 3);
}

TEST_CASE("a cut line is no process") {
  RecordedTree tree;
  tree.add("proc/10/stat", "10 (python) S 1 1");
  CHECK_FALSE(find_process(10, tree));
  tree.add("proc/10/stat", "10 python S 1 1");
  CHECK_FALSE(find_process(10, tree));
}

TEST_CASE("processors that a process may run on are counted from its status") {
  RecordedTree tree;
  CHECK_FALSE(allowed_processors(10, tree));
  tree.add("proc/10/status", "Name:\tpython\nCpus_allowed_list:\t0-3,8\n");
  CHECK(allowed_processors(10, tree) == 5);
}

TEST_CASE("threads that sleep in FUSE or Lustre wait for storage, those that sleep elsewhere do not") {
  RecordedTree machine = job();
  const auto blocked = [&](std::string_view function) {
    machine.add("/proc/10/task/13/stat", "13 (python) S 9 10 10 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 5000 0");
    machine.add("/proc/10/task/13/wchan", function);
    return read_process_tree(10, machine).front().blocked_threads;
  };
  CHECK(blocked("request_wait_answer") == 1);
  CHECK(blocked("ptlrpc_set_wait") == 1);
  CHECK(blocked("futex_wait_queue") == 0);
  CHECK(blocked("0") == 0);
}

TEST_CASE("of several jobs that wait for storage, the one with the most waiting processes is named") {
  RecordedTree machine;
  machine.add("proc/1/stat", stat("1", "systemd", "S", "0"));
  CHECK_FALSE(find_stalled_job(machine));
  machine.add("proc/5/stat", stat("5", "rsync", "D", "1"));  // one process, with the smallest number
  machine.add("proc/40/stat", stat("40", "python", "S", "1"));
  for (int i = 41; i < 49; ++i) {
    const std::string pid = std::to_string(i);
    machine.add("proc/" + pid + "/stat", stat(pid, "python", "D", "40"));
  }
  machine.add("proc/90/stat", stat("90", "tar", "D", "1"));  // and one with the largest
  const auto job = find_stalled_job(machine);
  REQUIRE(job);
  CHECK(job->pid == 40);
  CHECK(job->command == "python");
  CHECK(job->processes == 8);
}
