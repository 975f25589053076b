#include "bench/transfer/file_transfer.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>

#include "bench/transfer/transfer.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "gpu/device.hpp"
#include "gpu/direct_storage.hpp"
#include "io/file.hpp"
#include "io/page_cache.hpp"
#include "stats/summary.hpp"
#include "sync/task_group.hpp"

namespace shardkit::bench {
namespace {

/// How one thread copies parts of a file to a GPU: `fetch` gets to.size bytes at `offset`, which are there once
/// `finish` has returned.
struct Reader {
  std::function<void(gpu::DeviceSpan to, std::uint64_t offset)> fetch;
  std::function<void()> finish;
};

/// Reads all of `buffer` at `offset`. Throws Error{io}, also for a file that has become shorter.
void read_fully(const io::File& file, std::uint64_t offset, MutableBytes buffer) {
  const std::size_t got = file.read_at(offset, buffer);
  if (got == buffer.size()) return;
  throw Error(ErrorCode::io,
              fmt::format("'{}' ends at byte {}: it became shorter while being read", file.path(), offset + got),
              file.path(), offset + got);
}
using Clock = std::chrono::steady_clock;
using MakeReader = std::function<Reader()>;

constexpr std::uint64_t kDirectUnit = 4096;  // accepted by O_DIRECT on every file system
constexpr std::uint64_t kTransferBlock = std::uint64_t{8} << 20U;
constexpr std::uint64_t kMostOfFile = std::uint64_t{8} << 30U;
constexpr unsigned kFetches = 3;
constexpr std::uint64_t kStaleSeed = 0x5eed;

/// Opens the file bypassing the page cache; if its file system refuses that, or only pretends, through it.
io::File open_file(const std::string& path, bool& direct) {
  io::File plain = io::File::open_read(path);
  direct = !io::lives_in_memory(plain);
  if (!direct) return plain;
  try {
    return io::File::open_read(path, O_DIRECT);
  } catch (const Error&) {
    direct = false;
    return plain;
  }
}

/// Reads into pinned memory, two blocks alternately, and copies one while it reads the other. `file` outlives it.
class ReadAndCopy {
 public:
  ReadAndCopy(gpu::Device& device, const io::File& file, std::size_t block) : file_(file) {
    for (int i = 0; i < 2; ++i) {
      slots_.push_back(
          {std::make_unique<gpu::HostBuffer>(device, gpu::HostMemory::pinned, block), device.make_stream()});
    }
  }

  /// A copy that is on its way still reads the pinned memory.
  ~ReadAndCopy() {
    try {
      finish();
    } catch (...) {  // the failure was reported before
    }
  }

  ReadAndCopy(const ReadAndCopy&) = delete;
  ReadAndCopy& operator=(const ReadAndCopy&) = delete;

  void fetch(gpu::DeviceSpan to, std::uint64_t offset) {
    Slot& slot = slots_[next_++ % slots_.size()];
    slot.stream->synchronize();
    const MutableBytes bytes = slot.host->bytes().first(to.size);
    read_fully(file_, offset, bytes);
    slot.stream->copy_to_device(to, bytes);
  }

  void finish() {
    for (const Slot& slot : slots_) slot.stream->synchronize();
  }

 private:
  struct Slot {
    std::unique_ptr<gpu::HostBuffer> host;
    std::unique_ptr<gpu::Stream> stream;
  };
  const io::File& file_;
  std::vector<Slot> slots_;
  std::size_t next_ = 0;
};

class FileRun {
 public:
  FileRun(const io::File& file, std::uint64_t bytes, unsigned threads, gpu::Device& device, Context& context)
      : file_(file), bytes_(bytes), threads_(threads), device_(device), memory_(device, bytes), context_(context) {}

  gpu::DeviceSpan memory() const { return memory_.span(); }

  /// Times one method and checks the bytes that it delivered.
  FileWay measure(FileReader way, bool direct, const MakeReader& make_reader) {
    std::vector<Reader> readers;
    for (unsigned i = 0; i < threads_; ++i) readers.push_back(make_reader());
    device_.fill_pattern(memory_.span(), kStaleSeed);  // bytes of an earlier method must not count for this one
    std::vector<double> seconds;
    for (unsigned i = 0; i < kFetches; ++i) seconds.push_back(fetch_all(readers));
    check(way);
    const double median = stats::summarize(seconds).median;
    return {way, direct, median, static_cast<double>(bytes_) / median};
  }

 private:
  double fetch_all(const std::vector<Reader>& readers) {
    context_.progress().start("reading to the GPU", 0, bytes_);
    std::atomic<std::uint64_t> next{0};
    const auto start = Clock::now();
    sync::TaskGroup group(context_.stop_token());
    for (const Reader& reader : readers) {
      group.spawn([&, this](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          const std::uint64_t offset = next.fetch_add(kTransferBlock);
          if (offset >= bytes_) break;
          const std::uint64_t length = std::min(kTransferBlock, bytes_ - offset);
          reader.fetch(memory_.span().part(offset, length), offset);
          context_.progress().bytes.fetch_add(length, std::memory_order_relaxed);
        }
        reader.finish();
      });
    }
    group.wait();
    context_.throw_if_stopped();
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  void check(FileReader way) {
    context_.progress().start("checking", 0, bytes_);
    const gpu::HostBuffer expected(device_, gpu::HostMemory::pinned, kTransferBlock);
    const gpu::HostBuffer found(device_, gpu::HostMemory::pinned, kTransferBlock);
    const auto stream = device_.make_stream();
    for (std::uint64_t offset = 0; offset < bytes_; offset += kTransferBlock) {
      context_.throw_if_stopped();
      const std::uint64_t length = std::min(kTransferBlock, bytes_ - offset);
      stream->copy_to_host(found.bytes().first(length), memory_.span().part(offset, length));
      read_fully(file_, offset, expected.bytes().first(length));
      stream->synchronize();
      if (std::memcmp(found.bytes().data(), expected.bytes().data(), length) != 0) {
        throw Error(ErrorCode::corrupt,
                    fmt::format("bytes of '{}' arrived wrong on GPU {} by {}, within {} from byte {}", file_.path(),
                                device_.facts().index, enum_name(way), format_size(length), offset),
                    file_.path(), offset);
      }
      context_.progress().bytes.fetch_add(length, std::memory_order_relaxed);
    }
  }

  const io::File& file_;
  std::uint64_t bytes_;
  unsigned threads_;
  gpu::Device& device_;
  gpu::DeviceBuffer memory_;
  Context& context_;
};

GdsMode mode_of(const std::optional<gpu::DirectReads>& reads) {
  if (!reads) return GdsMode::unknown;
  const int ways = (reads->nvidia_fs > 0) + (reads->peer_to_peer > 0) + (reads->posix > 0);
  if (ways > 1) return GdsMode::mixed;
  if (reads->nvidia_fs > 0) return GdsMode::native;
  if (reads->peer_to_peer > 0) return GdsMode::peer_to_peer;
  return reads->posix > 0 ? GdsMode::compatibility : GdsMode::unknown;
}

void measure_cufile(FileRun& run, const io::File& file, bool direct, gpu::Device& device, const GpuMachine& machine,
                    FileTransfer& result) {
  std::unique_ptr<gpu::DirectStorage> storage;
  std::unique_ptr<gpu::DirectFile> opened;
  try {
    if (!direct)
      throw Error(ErrorCode::unsupported,
                  "no GPUDirect Storage: the file system of the file does not support O_DIRECT");
    storage = machine.open_storage(device);
    opened = storage->open(file.fd(), file.path());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    result.missing = error.what();
    return;
  }
  result.registered = storage->register_memory(run.memory());
  // Its reads return when the bytes are there.
  const auto fetch = [&](gpu::DeviceSpan to, std::uint64_t offset) { opened->read(to, offset); };
  result.rows.push_back(run.measure(FileReader::cufile, true, [&] { return Reader{fetch, [] {}}; }));
  result.mode = mode_of(storage->reads());
}

}  // namespace

void check_transfer_file(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {  // a pipe would be waited for
    throw Error(ErrorCode::usage, At{path}, "--gds: '{}' is not a regular file", path);
  }
  bool direct = false;
  if (open_file(path, direct).size() >= kDirectUnit) return;
  throw Error(ErrorCode::usage, At{path}, "--gds: '{}' is smaller than a page (4 KiB)", path);
}

FileTransfer transfer_file(const std::string& path, unsigned threads, gpu::Device& device, const GpuMachine& machine,
                           Context& context) {
  bool direct = false;
  const io::File file = open_file(path, direct);
  const std::uint64_t bytes =
      std::min({file.size(), kMostOfFile, device.free_memory() / 2}) / kDirectUnit * kDirectUnit;
  if (bytes == 0) throw Error(ErrorCode::usage, At{path}, "--gds: '{}' is smaller than a page (4 KiB)", path);

  FileTransfer result;
  result.path = path;
  result.bytes = bytes;
  result.block = kTransferBlock;
  result.threads = threads;
  FileRun run(file, bytes, threads, device, context);
  const auto make_reader = [&] {
    const auto reader = std::make_shared<ReadAndCopy>(device, file, kTransferBlock);
    return Reader{[=](gpu::DeviceSpan to, std::uint64_t offset) { reader->fetch(to, offset); },
                  [=] { reader->finish(); }};
  };
  result.rows.push_back(run.measure(FileReader::pread, direct, make_reader));
  measure_cufile(run, file, direct, device, machine, result);
  if (result.missing) context.warn("gds_missing", *result.missing);
  return result;
}

}  // namespace shardkit::bench
