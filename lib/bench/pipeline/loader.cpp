#include "bench/pipeline/loader.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "bench/input/jpeg_store.hpp"
#include "bench/requirement/requirement.hpp"
#include "core/prng.hpp"
#include "image/augment.hpp"
#include "image/image_decoder.hpp"

namespace shardkit::bench {
namespace {

/// The work of a worker on compressed images, one after the other: first the steps that need no slot in a batch, then
/// the rest. For one thread at a time.
class SampleMaker {
 public:
  /// `seed` draws crops and flips. Settings and buffers, to which images return, outlive it.
  SampleMaker(const LoaderSettings& settings, SampleBuffers& buffers, std::uint64_t seed)
      : settings_(settings), buffers_(buffers), augmenter_(settings.type), prng_(seed) {}

  /// Takes an image and decodes a random crop of it, or draws the crop that the GPU is to make. False when that failed,
  /// which is counted.
  bool begin(SampleBuffer image, DecodeFailures& failures) {
    decoded_ = {};
    route_.reset();
    if (settings_.decode == DecodeKind::nvjpeg) {
      route_ = route_jpeg(*settings_.jpegs, image.bytes());
      if (route_ && route_->bytes() > settings_.largest_device_jpeg) route_.reset();
    }
    if (route_) {
      box_ = image::draw_resized_crop(route_->width, route_->height, prng_);
      jpeg_ = std::move(image);
      return true;
    }
    if (settings_.decode != DecodeKind::null) {
      decoded_ = decoder_.decode_random_crop(image.bytes(), prng_, settings_.crop);
      failures.add(decoded_.failure, image.bytes());
    }
    buffers_.give_back(std::move(image));
    return settings_.decode == DecodeKind::null || decoded_.has_pixels();
  }

  /// Augments the result of begin(), as the settings require, and writes it to its slot.
  void finish(const BatchSlot& slot) {
    if (settings_.decode == DecodeKind::null) return;
    const bool flip = image::draw_flip(prng_);
    if (settings_.form == SampleForm::tensor) {
      augmenter_.augment(decoded_.pixels, flip, slot.sample);
      return;
    }
    slot.raw->flip = flip;
    slot.raw->route = route_;
    if (route_) {
      slot.raw->box = box_;
      slot.raw->jpeg = std::move(jpeg_);
      return;
    }
    if (settings_.decode == DecodeKind::nvjpeg) ++refused_;
    std::memcpy(slot.sample.data(), decoded_.pixels.bytes.data(), decoded_.pixels.bytes.size());
  }

  /// Samples that no engine of the GPU took.
  std::uint64_t refused() const { return refused_; }

 private:
  const LoaderSettings& settings_;
  SampleBuffers& buffers_;
  image::ImageDecoder decoder_;
  image::Augmenter augmenter_;
  Prng prng_;
  image::Decoded decoded_;
  SampleBuffer jpeg_;  ///< for the GPU, with `route_` and `box_`
  std::optional<JpegRoute> route_;
  image::CropBox box_;
  std::uint64_t refused_ = 0;
};

/// One reader's way into the flow, on the reader's clock.
class ReaderOutlet final : public SampleOutlet {
 public:
  ReaderOutlet(SampleFlow& flow, SampleBuffers& buffers, StageClock& clock, DecodeFailures& failures,
               std::stop_token stop)
      : flow_(flow), buffers_(buffers), clock_(clock), failures_(failures), stop_(std::move(stop)) {}

  SampleBuffer buffer(std::size_t bytes) override { return buffers_.take(bytes); }
  bool give(SampleBuffer image) override {
    clock_.enter(Activity::blocked);
    const bool wanted = flow_.put(std::move(image), stop_);
    clock_.enter(Activity::read);
    return wanted;
  }
  void pass_over() override { failures_.add(image::DecodeFailure::too_large, {}); }
  void unpacks(bool are_unpacked) override { clock_.enter(are_unpacked ? Activity::unpack : Activity::read); }

 private:
  SampleFlow& flow_;
  SampleBuffers& buffers_;
  StageClock& clock_;
  DecodeFailures& failures_;
  std::stop_token stop_;
};

/// Which GPU gets the next batch: they take turns, but one whose batch had no samples left is first. Thread-safe.
class BatchTurns {
 public:
  explicit BatchTurns(std::uint64_t gpus) : gpus_(static_cast<unsigned>(gpus)) {}

  unsigned next() {
    const std::scoped_lock lock(mutex_);
    if (owed_.empty()) return turn_++ % gpus_;
    const unsigned gpu = owed_.back();
    owed_.pop_back();
    return gpu;
  }
  /// The GPU got no batch.
  void repeat(unsigned gpu) {
    const std::scoped_lock lock(mutex_);
    owed_.push_back(gpu);
  }

 private:
  const unsigned gpus_;
  std::mutex mutex_;
  unsigned turn_ = 0;
  std::vector<unsigned> owed_;
};

}  // namespace

/// The batches on their way to one device: one at a time, in the order in which they drew numbers. Thread-safe.
class Loader::DeviceLine {
 public:
  std::uint64_t draw() {
    const std::scoped_lock lock(mutex_);
    return drawn_++;
  }
  /// Waits for the number; who has entered releases the device later.
  void enter(std::uint64_t number) {
    std::unique_lock lock(mutex_);
    turn_.wait(lock, [&] { return left_ == number; });
  }
  void release() {
    const std::scoped_lock lock(mutex_);
    ++left_;
    turn_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable turn_;
  std::uint64_t drawn_ = 0;
  std::uint64_t left_ = 0;
};

void Loader::Release::operator()(DeviceLine* line) const { line->release(); }

struct Loader::Epoch {
  Epoch(const Loader& loader, std::uint64_t epoch_number)
      : number(epoch_number),
        flow(loader.settings_.flow, loader.settings_.readers),
        builder(loader.memories_, loader.settings_.batch, loader.sample_bytes_),
        devices(loader.sink_.devices()),
        turns(loader.settings_.gpus),
        workers_left(loader.settings_.workers),
        transfers_left(loader.sink_.devices()),
        readers(loader.settings_.readers),
        workers(loader.settings_.workers),
        transfers(loader.sink_.devices()),
        group(loader.context_.stop_token()) {
    for (std::uint64_t gpu = 0; gpu < loader.settings_.gpus; ++gpu) handed.emplace_back(loader.memories_.size() + 1);
  }

  std::uint64_t number;
  SampleFlow flow;
  Tickets tickets;
  BatchBuilder builder;
  std::mutex taking;
  std::vector<DeviceLine> devices;
  BatchTurns turns;
  std::deque<sync::BoundedQueue<LoadedBatch>> handed;  ///< by GPU
  std::atomic<unsigned> workers_left;
  std::atomic<unsigned> transfers_left;
  std::vector<Report> readers;
  std::vector<Report> workers;
  std::vector<Report> transfers;
  sync::TaskGroup group;  // last: its threads end before the members that they use
};

std::uint64_t batches_in_memory(const LoaderSettings& settings) {
  return settings.gpus * std::max<std::uint64_t>(settings.prefetch, 1);
}

std::uint64_t sample_bytes(const LoaderSettings& settings) {
  return tensor_bytes(settings.crop, settings.form == SampleForm::tensor ? image::value_bytes(settings.type) : 1);
}

Loader::Loader(const LoaderSettings& settings, ImageSource& source, BatchSink& sink, TraceLog* trace, Context& context)
    : settings_(settings),
      sample_bytes_(sample_bytes(settings)),
      source_(source),
      sink_(sink),
      trace_(trace),
      context_(context) {
  for (std::uint64_t i = 0; i < batches_in_memory(settings_); ++i) {
    context_.throw_if_stopped();
    memories_.push_back(sink_.make_memory(settings_.batch * sample_bytes_));
  }
}

Loader::~Loader() = default;

TraceTrack* Loader::track(const std::string& role, std::optional<unsigned> number) {
  if (trace_ == nullptr) return nullptr;
  return &trace_->track(number ? fmt::format("{} {}", role, *number) : role);
}

void Loader::start_epoch(std::uint64_t epoch) {
  source_.begin_epoch(epoch);
  epoch_ = std::make_unique<Epoch>(*this, epoch);
  epoch_->tickets.add(settings_.prefetch * settings_.gpus * settings_.batch);
  for (unsigned i = 0; i < settings_.readers; ++i) track("read", i);
  for (unsigned i = 0; i < settings_.workers; ++i) track("worker", i);
  for (unsigned i = 0; i < epoch_->transfers.size(); ++i) transfer_track(i);
  for (unsigned i = 0; i < settings_.readers; ++i) {
    epoch_->group.spawn([this, i](const std::stop_token& stop) { read(i, stop); });
  }
  for (unsigned i = 0; i < settings_.workers; ++i) {
    epoch_->group.spawn([this, i](const std::stop_token& stop) { work(i, stop); });
  }
  for (unsigned i = 0; i < epoch_->transfers.size(); ++i) {
    epoch_->group.spawn([this, i](const std::stop_token& stop) { hand_over(i, stop); });
  }
}

void Loader::ask_for_step() {
  if (settings_.prefetch == 0) epoch_->tickets.add(settings_.gpus * settings_.batch);
}

std::optional<LoadedBatch> Loader::next(unsigned gpu) {
  const auto batch = epoch_->handed[gpu].pop(epoch_->group.stop_token());
  if (batch && settings_.prefetch > 0) epoch_->tickets.add(settings_.batch);
  return batch;
}

std::stop_token Loader::stop_token() const { return epoch_->group.stop_token(); }

void Loader::Report::end(StageClock& clock) {
  const Moment now = Moment::now();
  times = clock.stop(now);
  ended = now.wall;
}

ActivityTimes Loader::Report::times_until(std::chrono::steady_clock::time_point epoch_end) const {
  ActivityTimes all = times;
  const double idle = std::chrono::duration<double>(epoch_end - ended).count();
  all.wall[static_cast<std::size_t>(Activity::starved)] += std::max(0.0, idle);
  return all;
}

void Loader::finish_epoch() {
  const auto epoch_end = std::chrono::steady_clock::now();
  epoch_->group.wait();
  for (const Report& report : epoch_->readers) {
    tally_.readers.add(report.times_until(epoch_end));
    tally_.failures.add(report.failures);
  }
  for (const Report& report : epoch_->workers) {
    tally_.workers.add(report.times_until(epoch_end));
    tally_.failures.add(report.failures);
    tally_.paths.add(report.paths);
    tally_.decoded += report.decoded;
  }
  for (const Report& report : epoch_->transfers) {
    tally_.transfer.add(report.times_until(epoch_end));
    tally_.failures.add(report.failures);
    tally_.paths.add(report.paths);
    tally_.decoded -= report.lost;
  }
  tally_.transfer_threads = static_cast<unsigned>(epoch_->transfers.size());
  tally_.read_samples += epoch_->flow.samples();
  tally_.read_bytes += epoch_->flow.bytes();
  epoch_.reset();
}

void Loader::read(unsigned reader, const std::stop_token& stop) {
  Report& report = epoch_->readers[reader];
  StageClock clock(Activity::read, track("read", reader));
  ReaderOutlet outlet(epoch_->flow, buffers_, clock, report.failures, stop);
  source_.read(outlet, stop);
  clock.enter(Activity::blocked);
  epoch_->flow.reader_ended();
  report.end(clock);
}

void Loader::work(unsigned worker, const std::stop_token& stop) {
  Report& report = epoch_->workers[worker];
  StageClock clock(Activity::blocked, track("worker", worker));
  make_samples(clock, report, worker, stop);
  epoch_->tickets.close();
  if (epoch_->workers_left.fetch_sub(1) == 1) epoch_->builder.close(stop);
  report.end(clock);
}

void Loader::make_samples(StageClock& clock, Report& report, unsigned worker, const std::stop_token& stop) {
  constexpr std::uint64_t kNextEpoch = 1'000'003;  // far from the numbers of workers
  SampleMaker maker(settings_, buffers_, epoch_->number * kNextEpoch + worker);
  for (bool has_ticket = false;;) {
    clock.enter(Activity::blocked);
    if (!has_ticket && !epoch_->tickets.take(stop)) return;
    has_ticket = true;
    clock.enter(Activity::starved);
    std::optional<SampleBuffer> image = epoch_->flow.take(stop);
    if (!image) return;
    clock.enter(Activity::decode);
    if (!maker.begin(*std::move(image), report.failures)) continue;
    clock.enter(Activity::blocked);
    const auto slot = epoch_->builder.take_slot(stop);
    if (!slot) return;
    clock.enter(Activity::augment);
    maker.finish(*slot);
    has_ticket = false;
    ++report.decoded;
    report.paths.cpu = maker.refused();
    context_.progress().items.fetch_add(1, std::memory_order_relaxed);
    epoch_->builder.fill(*slot, stop);
  }
}

TraceTrack* Loader::transfer_track(unsigned thread) {
  return epoch_->transfers.size() == 1 ? track("transfer") : track("transfer", thread);
}

std::optional<Loader::OrderedBatch> Loader::take_batch(StageClock& clock, const std::stop_token& stop) {
  std::unique_lock lock(epoch_->taking);
  const auto batch = epoch_->builder.next(stop);
  if (!batch) return std::nullopt;
  const unsigned gpu = epoch_->turns.next();
  DeviceLine& line = epoch_->devices[gpu % epoch_->devices.size()];
  const std::uint64_t number = line.draw();
  lock.unlock();
  clock.enter(Activity::blocked);
  line.enter(number);
  return OrderedBatch{*batch, gpu, std::unique_ptr<DeviceLine, Release>(&line)};
}

std::optional<LoadedBatch> Loader::deliver(const FinishedBatch& batch, unsigned gpu, StageClock& clock,
                                           Report& report) {
  const bool raw = settings_.form != SampleForm::tensor;
  const OutgoingBatch outgoing{*memories_[batch.batch], batch.samples, batch.samples * sample_bytes_,
                               raw ? batch.raw : std::span<RawSample>(), gpu};
  const HandedBatch handed = sink_.hand_over(outgoing, clock);
  for (RawSample& sample : outgoing.raw) buffers_.give_back(std::exchange(sample.jpeg, {}));
  epoch_->builder.give_back(batch.batch);
  report.failures.add(handed.failures);
  report.paths.add(handed.paths);
  report.lost += batch.samples - handed.samples;
  if (handed.samples > 0) return LoadedBatch{handed.samples, handed.slot, std::chrono::steady_clock::now()};
  sink_.release(handed.slot);
  epoch_->turns.repeat(gpu);
  epoch_->tickets.add(settings_.batch);  // no step takes it, so no step permits the next
  return std::nullopt;
}

void Loader::hand_over(unsigned thread, const std::stop_token& stop) {
  Report& report = epoch_->transfers[thread];
  StageClock clock(Activity::starved, transfer_track(thread));
  while (const auto next = take_batch(clock, stop)) {
    clock.enter(Activity::transfer);
    const std::optional<LoadedBatch> loaded = deliver(next->batch, next->gpu, clock, report);
    clock.enter(Activity::blocked);
    if (loaded && !epoch_->handed[next->gpu].push(*loaded, 1, stop)) break;
    clock.enter(Activity::starved);
  }
  if (epoch_->transfers_left.fetch_sub(1) == 1) {
    for (auto& handed : epoch_->handed) handed.close();
  }
  report.end(clock);
}

}  // namespace shardkit::bench
