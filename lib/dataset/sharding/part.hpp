#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "system/probe.hpp"

/// Which share of a plan a process writes.
namespace shardkit::dataset {

/// Part `index` of `count`; parts count from 0.
struct Part {
  std::uint64_t index = 0;
  std::uint64_t count = 1;
  bool operator==(const Part&) const = default;
};

/// Numbers of array tasks: first, first + step, and so on.
struct TaskIds {
  std::uint64_t first = 0;
  std::uint64_t step = 1;
  std::uint64_t last = 0;
  bool operator==(const TaskIds&) const = default;
};

/// How the tasks of an array job divide a target. The first task records it there (formats.md, "Division"), so that a
/// task which is submitted again, without the others, still knows its part.
struct Division {
  std::uint64_t parts = 1;
  TaskIds tasks;
  std::uint64_t processes = 1;  ///< of each task; a task has as many parts, in a row
  bool operator==(const Division&) const = default;

  std::uint64_t id_of(std::uint64_t part) const { return tasks.first + part / processes * tasks.step; }
};

/// The file that records a division, and back. parse_division() is empty for text that is none.
std::string division_text(const Division& division);
std::optional<Division> parse_division(std::string_view text);

/// A task of an array job, which does not know its part without the whole array.
struct ArrayTask {
  std::uint64_t id = 0;
  std::uint64_t lowest = 0;                 ///< id of the first task if the number of parts is given; LSF counts from 1
  Part process = {};                        ///< within the task
  std::optional<TaskIds> array = {};        ///< the tasks that were submitted with this one, if the scheduler tells
  std::uint64_t tasks = 0;                  ///< their number; fewer than `array` has if ids are left out
  std::optional<std::uint64_t> parts = {};  ///< number of parts that --parts or the plan names
  bool operator==(const ArrayTask&) const = default;
};

/// The division by the parts that are given, else by the array. Throws Error{usage} if neither is the whole set: for a
/// single task, an array that leaves out ids, and a scheduler that does not tell.
Division division_of(const ArrayTask& task);
/// The task's part in a division that was recorded in `target`. Throws Error{usage} if the task or its array is not of
/// that division.
Part part_of(const ArrayTask& task, const Division& division, const std::string& target);

/// What is known of a part before the target is looked at.
using PartClaim = std::variant<Part, ArrayTask>;

/// Reads "I/N", or for "auto" what the scheduler says: the first row of the table in part.cpp whose variables are set.
/// `parts`: their number, if --parts or the plan names it. Throws Error{usage} for text that is not a part, when
/// nothing says which part this is, or when `parts` contradicts it.
PartClaim parse_part(const std::string& text, std::optional<std::uint64_t> parts,
                     const system::EnvironmentLookup& environment);

/// "2/16"
std::string part_text(const Part& part);
/// Reads part_text(), also of a part that does not exist; empty for other texts.
std::optional<Part> parse_part_text(std::string_view text);

/// The shards of a part: a contiguous run, [first, second) of `shards`; the runs of all parts differ by at most one.
std::pair<std::size_t, std::size_t> shards_of(const Part& part, std::size_t shards);

/// The name in .shardkit of the manifest of a part, "part-00000-of-00003.json", and back; empty for another name.
std::string part_file_name(const Part& part);
std::optional<Part> parse_part_file_name(const std::string& name);

}  // namespace shardkit::dataset
