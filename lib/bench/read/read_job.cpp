#include "bench/read/read_job.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "bench/read/read_options.hpp"
#include "core/command_text.hpp"
#include "core/error.hpp"
#include "io/read_engine.hpp"

namespace shardkit {
namespace {

struct ReadJob {
  std::string_view name;
  ReadMode mode;
  std::uint64_t block;
  std::uint64_t threads;
  std::string_view engine;
  std::uint64_t depth;
};

constexpr double kJobSeconds = 60;
constexpr std::array<ReadJob, 2> kJobs{{
    {"seq-read", ReadMode::sequential, 1U << 20U, 4, "pread", 1},
    {"rand-read", ReadMode::random, 256U << 10U, 8, "uring", 32},
}};

const ReadJob& job_called(const std::string& name) {
  const auto* const job = std::ranges::find(kJobs, name, &ReadJob::name);
  if (job != kJobs.end()) return *job;
  throw Error(ErrorCode::usage,
              fmt::format("--job: there is no '{}'; there are seq-read and rand-read (seq-write is of `iobench "
                          "checkpoint`: read never writes)",
                          name));
}

std::string_view fio_engine(std::string_view engine) {
  if (engine == "uring") return "io_uring";
  return engine == "mmap" ? "mmap" : "psync";
}

/// As fio takes it, which parts names at colons.
std::string fio_file(const std::string& path) {
  std::string text;
  for (const char c : path) {
    if (c == ':') text += '\\';
    text += c;
  }
  return text;
}

std::string fio_files(std::span<const InputFile> files) {
  constexpr std::size_t kMostNamed = 8;
  if (files.size() > kMostNamed) return fmt::format("--filename='<the {} files, parted by colons>'", files.size());
  std::string names;
  for (const InputFile& file : files) names += (names.empty() ? "" : ":") + fio_file(file.path);
  return "--filename=" + shell_quoted(names);
}

}  // namespace

ReadOptions with_job(const ReadOptions& options) {
  if (!options.job) return options;
  const ReadJob& job = job_called(*options.job);
  if (options.mode != ReadMode::sequential && options.mode != job.mode) {
    throw Error(ErrorCode::usage, fmt::format("--job {} has a mode of its own; leave --mode out", job.name));
  }
  ReadOptions full = options;
  full.mode = job.mode;
  full.direct = true;
  full.block = options.block.value_or(job.block);
  full.threads = options.threads.value_or(job.threads);
  full.engine = options.engine.value_or(std::string(job.engine));
  if (!options.depth) full.depth = engine_takes_depth(*full.engine) ? job.depth : 1;
  if (!options.min_time && !options.budget) full.min_time = kJobSeconds;
  if (!options.budget) full.budget = full.min_time;
  if (!options.min_time) full.min_time = full.budget;
  return full;
}

std::string describe_job(const ReadOptions& options) {
  if (!options.job) return {};
  return fmt::format("fio's {}: {} reads of {}, {} of them at once in each of {}, by {}, direct, for {}", *options.job,
                     EnumNames<ReadMode>::names[static_cast<std::size_t>(options.mode)], format_size(block_of(options)),
                     depth_of(options), format_count(*options.threads, "job"), engine_of(options),
                     format_duration(options.budget.value_or(kJobSeconds)));
}

std::string fio_command(const ReadOptions& options, std::span<const InputFile> files) {
  const bool random = options.mode == ReadMode::random;
  if (options.mode == ReadMode::imagefolder || (random && !reads_grid(options))) return {};
  const std::uint64_t threads = threads_of(options);
  const std::uint64_t block = random ? grid_of(options) : block_of(options);
  std::string text = fmt::format(
      "fio --name=read {} --readonly --rw={} --bs={} --ioengine={} --iodepth={} --numjobs={}", fio_files(files),
      random ? "randread" : "read", block, fio_engine(engine_of(options)), depth_of(options), threads);
  // Our threads share the data; jobs of fio would each read all of it.
  if (threads > 1 && threads <= 100) text += fmt::format(" --size={0}% --offset_increment={0}%", 100 / threads);
  text += fmt::format(" --direct={}", options.direct ? 1 : 0);
  if (engine_of(options) == "uring") text += " --fixedbufs=1";
  const bool drops = !options.direct && options.cache == CacheRequest::cold;
  if (!options.direct) text += fmt::format(" --invalidate={}", drops ? 1 : 0);
  if (options.min_time) {
    // fio drops caches at the start of each loop; a time-based job goes round without, in what it has read before.
    text +=
        fmt::format(" {} --runtime={:.0f}", drops ? "--loops=1000" : "--time_based", std::max(*options.min_time, 1.0));
  }
  return text + " --thread --group_reporting";
}

}  // namespace shardkit
