#include "bench/cache_state.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"
#include "io/page_cache.hpp"

namespace shardkit {
namespace {

constexpr std::size_t kMostFilesToAsk = 2000;
constexpr double kCold = 0.01;
constexpr double kWarm = 0.99;

}  // namespace

std::optional<double> residency(const InputSet& input) {
  const std::size_t asked = std::min(input.files.size(), kMostFilesToAsk);
  std::uint64_t cached = 0;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < asked; ++i) {
    const File file = File::open_read(input.files[i * input.files.size() / asked].path);
    const auto in_cache = cached_bytes(file);
    if (!in_cache) return std::nullopt;
    cached += *in_cache;
    bytes += file.size();
  }
  if (bytes == 0) return std::nullopt;
  return static_cast<double>(cached) / static_cast<double>(bytes);
}

void prepare_cache(const InputSet& input, CacheRequest request, Context& context) {
  if (request == CacheRequest::any) return;
  context.progress().start(request == CacheRequest::cold ? "dropping caches" : "warming caches", input.files.size());
  for (const InputFile& entry : input.files) {
    context.throw_if_stopped();
    const File file = File::open_read(entry.path);
    if (request == CacheRequest::cold) {
      drop_from_cache(file);
    } else {
      warm_cache(file);
    }
    context.progress().items.fetch_add(1, std::memory_order_relaxed);
  }
  const auto reached = request == CacheRequest::warm ? residency(input) : std::nullopt;
  if (reached && *reached < kWarm) {
    throw Error(
        ErrorCode::unsupported,
        fmt::format("--cache warm cannot be had: after reading everything {:.0f} % of {} are in memory; name fewer "
                    "files or raise the memory limit",
                    *reached * 100, format_size(input.bytes)));
  }
}

std::string cache_state(const CacheReport& report, StorageClass storage_class) {
  const auto ratio = report.residency_before_ratio;
  if (!ratio) return report.requested == CacheRequest::warm ? "warm" : "unknown";
  if (*ratio >= kWarm) return "warm";
  if (*ratio > kCold) return "mixed";
  return has_remote_cache(storage_class) ? "client-cold" : "cold";
}

void check_sparse(const InputSet& input, bool disk_is_measured, Context& context) {
  const std::size_t asked = std::min(input.files.size(), kMostFilesToAsk);
  for (std::size_t i = 0; i < asked; ++i) {
    const std::string& path = input.files[i * input.files.size() / asked].path;
    const std::uint64_t holes = sparse_bytes(File::open_read(path));
    if (holes == 0) continue;
    const std::string text = fmt::format(
        "'{}' has {} that were never written; reading them touches no disk: use real data", path, format_size(holes));
    if (disk_is_measured) throw Error(ErrorCode::unsupported, text, path);
    context.warn("sparse_file", text);
    return;
  }
}

}  // namespace shardkit
