#include "bench/torch/loader_costs.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "bench/input/jpeg_store.hpp"
#include "core/error.hpp"
#include "image/image_decoder.hpp"
#include "image/image_header.hpp"
#include "io/file.hpp"

namespace shardkit::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Seconds, measured on one core of an AMD EPYC (Zen 4) with Python 3.11, torch 2.15, torchvision 0.29 and Pillow 13, as
// CPU times of warm data (docs/explain/model.md).
constexpr double kOpenFile = 50e-6;     // Python opens and closes a file, and PIL finds its format
constexpr double kOpenMember = 250e-6;  // tarfile and webdataset make a sample of two members
constexpr double kReadByte = 0.1e-9;
constexpr double kPilPixel = 0.75e-9;     // of decoding a JPEG: PIL stores 4 bytes per pixel and copies the image
constexpr double kPilHugePixel = 4.7e-9;  // the same for images whose memory is returned to the system each time
constexpr double kHugePixels = 8e6;
constexpr double kPngFactor = 1.1;        // PIL's time for a PNG, relative to libpng without copying
constexpr double kOtherPixel = 10e-9;     // formats that iobench does not decode: assumed, not measured
constexpr double kCropPixel = 2.2e-9;     // RandomResizedCrop, per pixel of the image
constexpr double kCroppedPixel = 9e-9;    // per pixel of its result, with flip and ToTensor
constexpr double kTransforms = 60e-6;     // Python code of the transforms
constexpr double kCollateByte = 0.45e-9;  // into a batch, from samples that left the caches
constexpr double kSharedByte = 0.75e-9;   // more for shared memory, whose pages the kernel clears
constexpr double kReceiveByte = 0.13e-9;  // in the training process
constexpr double kReceiveBatch = 1.1e-3;
constexpr double kWorkerBytes = 100e6;   // 12 to 30 MB were measured, and shuffling takes up to 64 MiB
constexpr double kTrainerBytes = 800e6;  // 720 MB were measured after importing torch for CUDA

constexpr std::uint64_t kDecodedImages = 32;
constexpr std::uint64_t kMemory = 256U << 20U;
constexpr unsigned kManyProcesses = 32;
constexpr std::size_t kMostFiles = 2000;
constexpr std::size_t kFirstRead = 4096;   // Python fills its buffer of a block,
constexpr std::size_t kFileRead = 65536;   // then PIL reads parts of this size
constexpr std::size_t kShardRead = 10240;  // tarfile reads records of 20 blocks

/// CPU seconds per image of decoding whole images on `threads` threads, for `seconds`.
double decode_seconds(const JpegStore& store, unsigned threads, double seconds, Context& context) {
  std::atomic<std::uint64_t> images{0};
  const auto end = moment_in(seconds);
  const auto work = [&](unsigned thread, const std::stop_token& stop) {
    image::ImageDecoder decoder;
    for (std::size_t i = thread; !stop.stop_requested(); ++i) {
      const Bytes image = store.image(i % store.size());
      decoder.decode(image);
      images.fetch_add(1, std::memory_order_relaxed);
      if (is_over(end)) return;
    }
  };
  const Timing timing = timed_run(threads, work, images, context.stop_token());
  context.throw_if_stopped();
  return timing.cpu_seconds / static_cast<double>(images.load());
}

/// The times of one process's calls, without the pauses, or those of several together.
struct ReadTimes {
  double open = 0;
  double stat = 0;
  double read = 0;
  double close = 0;
  double cpu = 0;
  double samples = 0;
  std::uint64_t files = 0;
  double elapsed = 0;  ///< of several that run at once: from their start to the end of the last one

  double all() const { return open + stat + read + close; }
};

/// Adds the time since `begin` to `total`, and moves `begin` to now.
void lap(Clock::time_point& begin, double& total) {
  const auto now = Clock::now();
  total += std::chrono::duration<double>(now - begin).count();
  begin = now;
}

void pause_for(double seconds) {
  if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

struct ReadTask {
  std::span<const InputFile> files;
  bool shards = false;
  double sample_bytes = 0;
  double pause_seconds = 0;
  Clock::time_point end;
};

/// An image file, with the reads of Python and PIL.
void read_image(const InputFile& file, MutableBytes buffer, ReadTimes& times) {
  auto begin = Clock::now();
  io::File opened = io::File::open_read(file.path);
  lap(begin, times.open);
  const std::uint64_t size = opened.size();
  lap(begin, times.stat);
  for (std::uint64_t done = 0; done < size;) {
    const std::size_t wanted = done == 0 ? kFirstRead : kFileRead - done % kFileRead;
    const std::size_t got = opened.read_at(done, buffer.first(std::min<std::uint64_t>(wanted, size - done)));
    if (got == 0) break;
    done += got;
  }
  lap(begin, times.read);
  opened = io::File();
  lap(begin, times.close);
  times.samples += 1;
}

/// A shard from start to end, with the reads of tarfile.
void read_shard(const ReadTask& job, const InputFile& file, MutableBytes buffer, const std::stop_token& stop,
                ReadTimes& times) {
  const io::File opened = io::File::open_read(file.path);
  double since_pause = 0;
  auto begin = Clock::now();
  for (std::uint64_t done = 0; done < file.bytes && !stop.stop_requested() && Clock::now() < job.end;) {
    const std::size_t got = opened.read_at(done, buffer.first(kShardRead));
    if (got == 0) break;
    done += got;
    times.samples += static_cast<double>(got) / job.sample_bytes;
    since_pause += static_cast<double>(got);
    if (since_pause < job.sample_bytes) continue;
    lap(begin, times.read);
    pause_for(job.pause_seconds);
    since_pause = 0;
    begin = Clock::now();
  }
  lap(begin, times.read);
}

/// Reads until all files are read or the time is over; each process takes the next file. Returns the processes' times
/// together.
ReadTimes read_as_processes(const ReadTask& job, unsigned processes, Context& context) {
  std::atomic<std::size_t> next{0};
  std::vector<ReadTimes> all(processes);
  const auto work = [&](unsigned process, const std::stop_token& stop) {
    io::AlignedBuffer memory;
    const MutableBytes buffer = memory.get(kFileRead);
    ReadTimes& times = all[process];
    const auto cpu = thread_cpu_time();
    while (!stop.stop_requested() && Clock::now() < job.end) {
      const std::size_t file = next.fetch_add(1);
      if (file >= job.files.size()) break;
      if (job.shards) {
        read_shard(job, job.files[file], buffer, stop, times);
      } else {
        read_image(job.files[file], buffer, times);
      }
      ++times.files;
    }
    times.cpu = std::chrono::duration<double>(thread_cpu_time() - cpu).count();
  };
  ReadTimes sum;
  sum.elapsed = timed_run(processes, work, context.progress().bytes, context.stop_token()).seconds;
  context.throw_if_stopped();
  for (const ReadTimes& times : all) {
    sum.open += times.open;
    sum.stat += times.stat;
    sum.read += times.read;
    sum.close += times.close;
    sum.cpu += times.cpu;
    sum.samples += times.samples;
    sum.files += times.files;
  }
  return sum;
}

FileCosts file_costs_of(const ReadTimes& times) {
  const auto files = static_cast<double>(times.files);
  FileCosts costs{times.files, times.open / files, times.stat / files, times.read / files, times.close / files, 0};
  if (times.all() > 0) costs.other_ratio = (times.all() - times.read) / times.all();
  return costs;
}

/// Without workers.
double estimated_cpu_seconds(const LoaderData& data, const SampleWork& work, const LoaderBatches& batches,
                             double sample_bytes) {
  const double open = data.kind == LoaderKind::webdataset ? kOpenMember : kOpenFile;
  const double read = open + kReadByte * sample_bytes + kCollateByte * batches.decoded_bytes;
  const double unpacked = read + (work.unpack ? work.unpack->cpu_seconds : 0);
  if (work.megapixels <= 0) return unpacked;
  const double pixels = work.megapixels * 1e6;
  const auto side = static_cast<double>(batches.crop);
  return unpacked + work.cpu_seconds + kTransforms + kCropPixel * pixels + kCroppedPixel * side * side;
}

}  // namespace

SampleWork measure_sample_work(const InputSet& input, double cores, double seconds, const Deadline& loading,
                               Context& context) {
  SampleWork work;
  const JpegStore store(input, kDecodedImages, kMemory, context, loading);
  double pixels = 0;
  std::size_t sized = 0;
  std::size_t jpegs = 0;
  std::size_t others = 0;
  for (std::size_t i = 0; i < store.size(); ++i) {
    work.sample_bytes += static_cast<double>(store.sample(i).bytes) / static_cast<double>(store.size());
    const Bytes image = store.image(i);
    const auto kind = image::sniff_image(image);
    jpegs += kind == image::ImageKind::jpeg ? 1U : 0U;
    others += kind == image::ImageKind::png || kind == image::ImageKind::webp ? 1U : 0U;
    const auto size = image::image_size(image);
    if (!size) continue;
    pixels += static_cast<double>(size->width) * size->height;
    ++sized;
  }
  if (sized == 0) return work;
  const auto images = static_cast<double>(store.size());
  const double mean_pixels = pixels / static_cast<double>(sized);
  work.megapixels = mean_pixels * 1e-6;
  const double jpeg_share = static_cast<double>(jpegs) / images;
  const double other_share = static_cast<double>(others) / images;
  if (jpegs + others == 0) {
    work.cpu_seconds = kOtherPixel * mean_pixels;
    return work;
  }
  const auto threads = static_cast<unsigned>(std::max(std::floor(cores), 1.0));
  const double alone = decode_seconds(store, 1, seconds / 2, context);
  const double busy = threads > 1 ? decode_seconds(store, threads, seconds / 2, context) : alone;
  const double copied = mean_pixels > kHugePixels ? kPilHugePixel : kPilPixel;
  work.busy_ratio = std::max(busy / alone, 1.0);
  work.cpu_seconds = alone * (jpeg_share + kPngFactor * other_share) + copied * mean_pixels * jpeg_share +
                     kOtherPixel * mean_pixels * (1 - jpeg_share - other_share);
  return work;
}

LoaderReads measure_loader_reads(const InputSet& input, double sample_bytes, double pause_seconds, CacheRequest cache,
                                 double seconds, Context& context) {
  LoaderReads reads;
  const bool shards = has_only_shards(input.files);
  const std::size_t count = std::min(input.files.size(), kMostFiles);
  const std::span<const InputFile> files = std::span(input.files).last(count);
  context.progress().start_for("reading like a DataLoader", 2 * seconds, "files");
  ReadTask task{files, shards, std::max(sample_bytes, 1.0), pause_seconds, {}};
  const auto measure = [&](unsigned processes) {
    if (cache == CacheRequest::cold) task.files = files.first(prepare_cache(files, cache, seconds, context));
    task.end = moment_in(seconds);
    return read_as_processes(task, processes, context);
  };
  const ReadTimes one = measure(1);
  if (!shards && one.files > 0) reads.file_costs = file_costs_of(one);
  if (one.samples <= 0 || cache == CacheRequest::warm) return reads;
  reads.wait_seconds = std::max(one.all() - one.cpu, 0.0) / one.samples;
  task.pause_seconds = 0;
  const ReadTimes many = measure(static_cast<unsigned>(std::min<std::size_t>(kManyProcesses, count)));
  if (many.elapsed > 0 && many.samples > 0) reads.samples_per_second = many.samples / many.elapsed;
  return reads;
}

LoaderCosts loader_costs(const LoaderData& data, const SampleWork& work, const LoaderReads& reads,
                         const LoaderBatches& batches, double sample_bytes,
                         const std::optional<Calibration>& calibration) {
  LoaderCosts costs;
  costs.sample_bytes = work.unpack ? work.unpack->unpacked_sample_bytes : sample_bytes;
  costs.busy_ratio = work.busy_ratio;
  costs.wait_seconds = reads.wait_seconds;
  costs.storage_per_second = reads.samples_per_second;
  if (calibration) {
    costs.calibrated = true;
    costs.cpu_seconds = calibration->worker_seconds;
    costs.alone_cpu_seconds = calibration->alone_seconds;
    costs.trainer_cpu_seconds = calibration->trainer_seconds;
    costs.worker_bytes = calibration->worker_bytes;
    costs.trainer_bytes = calibration->trainer_bytes;
    return costs;
  }
  costs.alone_cpu_seconds = estimated_cpu_seconds(data, work, batches, sample_bytes);
  costs.cpu_seconds = costs.alone_cpu_seconds + kSharedByte * batches.decoded_bytes;
  costs.trainer_cpu_seconds = kReceiveByte * batches.decoded_bytes + kReceiveBatch / static_cast<double>(batches.batch);
  costs.worker_bytes = kWorkerBytes;
  costs.trainer_bytes = kTrainerBytes;
  return costs;
}

void FileCosts::describe(FieldList& v) {
  v.field({"files", Unit::count, "files opened"}, files);
  v.field({"open_seconds", Unit::seconds, "mean time of opening one"}, open_seconds);
  v.field({"stat_seconds", Unit::seconds, "mean time of fstat"}, stat_seconds);
  v.field({"read_seconds", Unit::seconds, "mean time of reading it all, as Python and PIL do"}, read_seconds);
  v.field({"close_seconds", Unit::seconds, "mean time of closing it"}, close_seconds);
  v.field({"other", Unit::ratio, "share of all but reading, which shards avoid"}, other_ratio);
}

}  // namespace shardkit::bench
