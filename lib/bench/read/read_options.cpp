#include "bench/read/read_options.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "core/command_text.hpp"
#include "core/error.hpp"
#include "core/field_tree.hpp"
#include "io/file.hpp"
#include "io/read_engine.hpp"
#include "system/limits.hpp"

namespace shardkit::bench {
namespace {

constexpr std::uint64_t kDepth = 32;
constexpr std::uint64_t kUsualBlock = 256U << 10U;

void check_depth(const ReadOptions& options) {
  if (depth_of(options) == 1 || io::engine_takes_depth(engine_of(options))) return;
  throw usage_error("--depth: engine '{}' allows one read in flight per thread; use --engine uring or more --threads",
                    enum_name(engine_of(options)));
}

void check_sizes(const ReadOptions& options) {
  if (options.sample_bytes && options.block && options.mode == ReadMode::random) {
    throw usage_error("--sample-bytes and --block exclude each other for random reads");
  }
  if (options.direct && block_of(options) % io::AlignedBuffer::kAlignment != 0) {
    throw usage_error("--block: with --direct, expected a multiple of 4096 bytes");
  }
}

void check_times(const ReadOptions& options) {
  if (options.min_time && options.samples) throw usage_error("--min-time and --samples exclude each other");
  if (options.min_time && options.budget && *options.min_time > *options.budget) {
    throw usage_error("--min-time: must not be longer than --budget");
  }
}

constexpr std::string_view kNotOfFolders = "does not apply to --mode imagefolder, which reads whole files with pread";
constexpr std::string_view kOfStores = "is only for s3:// and http(s)://";

/// Why an option does not apply; empty where it does.
struct OptionUse {
  std::string_view option;
  std::string_view files;
  std::string_view folders;
  std::string_view objects;
};

constexpr auto kUses = std::to_array<OptionUse>({
    {"mode", "", "", "stores are read in blocks of --block bytes"},
    {"block", "", kNotOfFolders, ""},
    {"engine", "", kNotOfFolders, "stores are read by one client"},
    {"depth", "", kNotOfFolders, "for stores, --threads is the maximum number of connections"},
    {"direct", "", kNotOfFolders, "data of a store does not use the page cache"},
    {"cache", "", "", "data of a store is not cached here, and caches of its servers cannot be controlled"},
    {"samples", "", "", "for stores, bytes are measured; use --budget to limit the time"},
    {"min-time", "", kNotOfFolders, "for stores, --budget is the time to measure"},
    {"sample-bytes", "", kNotOfFolders, "data of a store is read in blocks of --block bytes"},
    {"required-rate", "is only for s3:// and http(s)://; `iobench run` compares local data with a job", kOfStores, ""},
});

std::string why_not_used(const FieldNode& option, ReadKind kind) {
  const auto* use = std::ranges::find(kUses, option.field.name, &OptionUse::option);
  if (use == kUses.end()) {
    const bool of_stores = option.topic == catalog::StoreAccess::kTopic;
    return of_stores && kind != ReadKind::objects ? std::string(kOfStores) : "";
  }
  if (kind == ReadKind::files) return std::string(use->files);
  if (kind == ReadKind::folders) return std::string(use->folders);
  return use->objects.empty() ? "" : fmt::format("is only for local files: {}", use->objects);
}

std::vector<FieldNode> tree_of(ReadOptions options) {
  return field_tree([&](FieldList& v) { options.describe(v); });
}

/// Refuses options that were given and have no meaning for what is read.
void check_use(const ReadOptions& options, ReadKind kind) {
  const std::vector<FieldNode> given = tree_of(options);
  const std::vector<FieldNode> usual = tree_of({});
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i].value == usual[i].value) continue;
    const std::string why = why_not_used(given[i], kind);
    if (!why.empty()) throw usage_error("{} {}", given[i].field.spelling(), why);
  }
}

/// Of a store, where threads are connections.
void check_requests(const ReadOptions& options) {
  constexpr std::uint64_t kMostConnections = 1024;
  constexpr double kLeastBudget = 1;
  if (options.threads > kMostConnections) {
    throw usage_error("--threads must be from 1 to {} for a store: they are connections", kMostConnections);
  }
  if (options.budget && *options.budget < kLeastBudget) {
    throw usage_error("--budget: must be at least 1 second for a store");
  }
}

std::string_view fio_engine(io::EngineKind engine) {
  if (engine == io::EngineKind::uring) return "io_uring";
  return engine == io::EngineKind::mmap ? "mmap" : "psync";
}

/// In fio's syntax, which separates names with colons.
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
  if (files.size() > kMostNamed) return fmt::format("--filename='<the {} files, separated by colons>'", files.size());
  std::string names;
  for (const InputFile& file : files) names += (names.empty() ? "" : ":") + fio_file(file.path);
  return "--filename=" + shell_quoted(names);
}

}  // namespace

io::EngineKind engine_of(const ReadOptions& options) { return options.engine.value_or(io::EngineKind::pread); }

std::uint64_t depth_of(const ReadOptions& options) {
  return options.depth.value_or(io::engine_takes_depth(engine_of(options)) ? kDepth : 1);
}

std::uint64_t threads_of(const ReadOptions& options) { return options.threads.value_or(system::usable_threads()); }

std::uint64_t block_of(const ReadOptions& options) { return options.block.value_or(kUsualBlock); }

bool reads_grid(const ReadOptions& options) {
  return options.mode == ReadMode::random && (options.block || options.sample_bytes);
}

std::uint64_t grid_of(const ReadOptions& options) {
  return options.sample_bytes ? *options.sample_bytes : block_of(options);
}

bool may_read_again(const ReadOptions& options) { return options.direct || options.cache != CacheRequest::any; }

void check_read_options(const ReadOptions& options, ReadKind kind) {
  check_ranges(options);
  check_use(options, kind);
  if (kind == ReadKind::objects) return check_requests(options);
  check_depth(options);
  check_sizes(options);
  check_times(options);
}

void check_read_memory(const ReadOptions& options, std::uint64_t largest) {
  const std::uint64_t in_flight = threads_of(options) * depth_of(options);
  if (in_flight * (largest + io::AlignedBuffer::kAlignment) <= system::usable_memory() / 2) return;
  throw Error(ErrorCode::no_space, At{},
              "--threads {} x --depth {} reads of {} at once need more than half of the available memory ({})",
              threads_of(options), depth_of(options), format_size(largest), format_size(system::usable_memory()));
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
  if (engine_of(options) == io::EngineKind::uring) text += " --fixedbufs=1";
  const bool drops = !options.direct && options.cache == CacheRequest::cold;
  if (!options.direct) text += fmt::format(" --invalidate={}", drops ? 1 : 0);
  if (options.min_time) {
    // fio drops caches at the start of each loop; a time-based job starts again without that, in cached data.
    text +=
        fmt::format(" {} --runtime={:.0f}", drops ? "--loops=1000" : "--time_based", std::max(*options.min_time, 1.0));
  }
  return text + " --thread --group_reporting";
}

}  // namespace shardkit::bench
