#include <algorithm>

#include <fmt/format.h>

#include "bench/transfer/transfer.hpp"
#include "core/error.hpp"
#include "core/field_tree.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "system/probe.hpp"

namespace shardkit::bench {
namespace {

constexpr std::uint64_t kSmallestByDefault = std::uint64_t{4} << 10U;
constexpr std::uint64_t kLargestByDefault = std::uint64_t{1} << 30U;
constexpr std::uint64_t kLargestCopy = std::uint64_t{1} << 40U;

[[noreturn]] void refuse(std::string_view option, std::string_view text, std::string_view expected) {
  throw usage_error("{}: '{}' is not {}", option, text, expected);
}

std::vector<std::string_view> pieces(std::string_view option, std::string_view list, std::string_view expected) {
  const bool gap = list.starts_with(',') || list.ends_with(',') || list.find(",,") != std::string_view::npos;
  const auto words = system::split(list, ',');
  if (words.empty() || gap) refuse(option, list, expected);
  return words;
}

template <NamedEnum E>
std::vector<E> choices(std::string_view option, std::string_view list) {
  const auto& names = kEnumNames<E>;
  const std::string expected = fmt::format("a list of {}", fmt::join(names, ", "));
  std::vector<E> chosen;
  for (const std::string_view word : pieces(option, list, expected)) {
    const auto found = std::find(names.begin(), names.end(), word);
    if (found == names.end()) refuse(option, word, fmt::format("one of {}", fmt::join(names, ", ")));
    chosen.push_back(static_cast<E>(found - names.begin()));
  }
  return chosen;
}

std::vector<std::uint64_t> sizes(const std::string& list) {
  std::vector<std::uint64_t> all;
  if (list.empty()) {
    for (std::uint64_t bytes = kSmallestByDefault; bytes <= kLargestByDefault; bytes *= 4) all.push_back(bytes);
    return all;
  }
  for (const std::string_view word : pieces("--bytes", list, "a list of sizes such as 4KiB,1MiB")) {
    const auto bytes = parse_size(word);
    if (!bytes) throw usage_error("--bytes: {}", bytes.error().what());
    if (*bytes == 0 || *bytes > kLargestCopy) refuse("--bytes", word, "a size from 1 byte to 1 TiB");
    all.push_back(*bytes);
  }
  return all;
}

std::vector<std::uint64_t> stream_counts(const std::string& list) {
  std::vector<std::uint64_t> counts;
  for (const std::string_view word : pieces("--depth", list, "a list of numbers")) {
    const auto count = parse_count(word);
    if (!count || *count < 1 || *count > kMostTransferStreams) refuse("--depth", word, "a number from 1 to 8");
    counts.push_back(*count);
  }
  return counts;
}

/// Removes measurements that would be repeated.
template <class T>
void check_once(std::string_view option, std::string_view list, const std::vector<T>& values) {
  for (auto at = values.begin(); at != values.end(); ++at) {
    if (std::find(values.begin(), at, *at) != at) refuse(option, list, "a list without repetitions");
  }
}

/// An option that would change nothing without another.
void check_partners(const TransferOptions& options) {
  check_usage(options.gds || !options.threads, "--threads needs --gds FILE");
  check_ranges(options);
}

void check_device(const std::string& option) {
  if (option != "all" && !parse_count(option)) refuse("--device", option, "the number of a GPU, or all");
}

}  // namespace

TransferPlan plan_transfer(const TransferOptions& options) {
  check_partners(options);
  check_device(options.device);
  TransferPlan plan;
  plan.kinds = choices<gpu::HostMemory>("--kinds", options.kinds);
  const auto streams = stream_counts(options.depth);
  check_once("--kinds", options.kinds, plan.kinds);
  check_once("--depth", options.depth, streams);
  const auto all_sizes = sizes(options.bytes);
  check_once("--bytes", options.bytes, all_sizes);
  plan.numa = options.numa;
  for (const gpu::HostMemory kind : plan.kinds) {
    for (const std::uint64_t bytes : all_sizes) {
      for (const std::uint64_t count : streams) {
        for (const auto direction : {CopyDirection::h2d, CopyDirection::d2h, CopyDirection::both}) {
          plan.jobs.push_back({kind, direction, bytes, count});
        }
      }
    }
  }
  return plan;
}

std::vector<gpu::Device*> chosen_devices(const std::string& option, std::span<gpu::Device* const> devices) {
  check_device(option);
  if (option == "all") return {devices.begin(), devices.end()};
  return {&gpu::numbered_device(devices, *parse_count(option))};
}

}  // namespace shardkit::bench
