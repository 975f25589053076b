#include "dataset/stage/stage_limits.hpp"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "core/error.hpp"
#include "net/rate_limit.hpp"
#include "system/limits.hpp"

namespace shardkit {
namespace {

constexpr std::uint64_t kConnectionBytes = 2ULL << 20U;  // libcurl's buffers, TLS, a block, the touched part of a stack
constexpr std::uint64_t kMostMemory = 256ULL << 20U;
constexpr std::uint64_t kMostConcurrency = 1024;
constexpr unsigned kMostFolderReads = 32;

/// Requests that memory and descriptors allow: each has a connection or a source file, and a partial file.
unsigned most_requests(const StageOptions& options, bool remote) {
  const std::uint64_t memory = options.memory.value_or(std::min(kMostMemory, usable_memory() / 4));
  const std::uint64_t by_memory = std::max<std::uint64_t>(1, memory / kConnectionBytes);
  const std::uint64_t asked = options.concurrency.value_or(remote ? CopyLimits{}.maximum : kMostFolderReads);
  return static_cast<unsigned>(std::min({asked, by_memory, std::uint64_t{most_reads_in_flight(2)}}));
}

}  // namespace

void check(const StageOptions& options) {
  if (options.target.empty()) throw Error(ErrorCode::usage, "DST is empty; name a folder on a local disk");
  if (options.concurrency && (*options.concurrency == 0 || *options.concurrency > kMostConcurrency)) {
    throw Error(ErrorCode::usage, fmt::format("--concurrency is 1 to {}", kMostConcurrency));
  }
  if (options.bandwidth == 0) throw Error(ErrorCode::usage, "--bwlimit 0 copies nothing; give 1 or more");
  if (options.memory && *options.memory < kConnectionBytes) {
    throw Error(ErrorCode::usage, fmt::format("--memory is at least {}", format_size(kConnectionBytes)));
  }
  parse_ranks(options.rank, options.world);
  parse_rank_split(options.split);
  if (options.split && !options.rank) throw Error(ErrorCode::usage, "--split says how --rank divides; give both");
  if (options.jitter < 0) throw Error(ErrorCode::usage, "--jitter is not negative");
}

CopyLimits copy_limits(const StageOptions& options, bool remote) {
  CopyLimits limits;
  limits.maximum = most_requests(options, remote);
  const unsigned first = remote ? limits.start : std::max(4U, usable_threads());
  limits.start = std::min(first, limits.maximum);
  limits.steps.keep_cached = options.keep_cached;
  if (options.bandwidth) {
    const auto rate = std::make_shared<RateLimit>(*options.bandwidth);
    limits.pace = [rate](std::uint64_t bytes, const std::stop_token& stop) { rate->take(bytes, stop); };
  }
  return limits;
}

}  // namespace shardkit
