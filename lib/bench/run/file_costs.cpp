#include "bench/run/file_costs.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "bench/read/folder_work.hpp"
#include "bench/read/read.hpp"
#include "bench/timing/timed_run.hpp"

namespace shardkit {
namespace {

constexpr std::size_t kMostFiles = 2000;

/// Files from the end of the input, which reading has come to last, if at all.
std::vector<InputFile> last_files(const InputSet& input) {
  const auto files = std::span(input.files).last(std::min(input.files.size(), kMostFiles));
  return {files.begin(), files.end()};
}

double mean(const LatencyHistogram& latency) {
  return latency.count() > 0 ? latency.total() / static_cast<double>(latency.count()) : 0;
}

FileCosts costs_of(const FolderTally& tally) {
  FileCosts costs{tally.close.count(), mean(tally.open), mean(tally.stat), mean(tally.read), mean(tally.close), 1};
  const double all = costs.open_seconds + costs.stat_seconds + costs.read_seconds + costs.close_seconds;
  if (costs.read_seconds > 0) costs.shards_gain_ratio = all / costs.read_seconds;
  return costs;
}

}  // namespace

std::optional<FileCosts> measure_file_costs(const InputSet& input, CacheRequest cache, std::uint64_t threads,
                                            double seconds, Context& context) {
  if (std::ranges::any_of(input.files, &InputFile::is_shard)) return std::nullopt;
  const std::vector<InputFile> files = last_files(input);
  const std::size_t prepared = prepare_cache(files, cache, seconds, context);
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < prepared; ++i) paths.push_back(files[i].path);
  ReadOptions options;
  options.budget = seconds;
  FolderWork work(paths, options, context);
  context.progress().start("opening files", paths.size());
  std::vector<FolderTally> tallies(threads);
  timed_run(
      static_cast<unsigned>(threads),
      [&](unsigned thread, const std::stop_token& stop) { work.run(tallies[thread], stop); }, context.progress().bytes,
      context.stop_token());
  context.throw_if_stopped();
  FolderTally all;
  for (const FolderTally& tally : tallies) all.merge(tally);
  if (all.close.count() == 0) return std::nullopt;
  return costs_of(all);
}

void FileCosts::describe(FieldVisitor& v) {
  v.field({"files", Unit::count, "files opened"}, files);
  v.field({"open_seconds", Unit::seconds, "mean time of opening one"}, open_seconds);
  v.field({"stat_seconds", Unit::seconds, "mean time of fstat"}, stat_seconds);
  v.field({"read_seconds", Unit::seconds, "mean time of reading it all"}, read_seconds);
  v.field({"close_seconds", Unit::seconds, "mean time of closing it"}, close_seconds);
  v.field({"shards_gain", Unit::ratio, "all of these over reading alone: at least so many times as fast are shards"},
          shards_gain_ratio);
}

}  // namespace shardkit
