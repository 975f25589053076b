#include "dataset/bucket/prefix_claim.hpp"

#include <utility>

#include <unistd.h>

#include "core/error.hpp"
#include "dataset/bucket/object_upload.hpp"
#include "io/run_file.hpp"
#include "system/clock.hpp"
#include "system/host.hpp"

namespace shardkit::dataset {
namespace {

constexpr std::chrono::seconds kBeat{30};

std::optional<WriterRecord> read_writer(io::ObjectStore& store, const std::string& name, const std::stop_token& stop) {
  const auto found = store.find(name);
  return found ? read_writer_record(record_text(store, *found, stop)) : std::nullopt;
}

bool is_live(io::ObjectStore& store, const std::string& name, const std::stop_token& stop) {
  const auto age = store.age_of(name, stop);
  return age && *age < io::kRunSilence;
}

}  // namespace

PrefixClaim::PrefixClaim(io::ObjectStore& store, const io::StoreChecks& checks, std::string folder, std::string writes,
                         std::stop_token stop)
    : store_(store),
      checks_(checks),
      folder_(std::move(folder)),
      name_(folder_ + kWriterRecord),
      record_{std::move(writes), system::this_host().hostname, static_cast<std::uint64_t>(::getpid()),
              system::rfc3339(system::system_clock().now())},
      stop_(std::move(stop)) {
  require_key_fits(store_, name_);
  take();
  thread_ = std::jthread([this](const std::stop_token& ended) { beat(ended); });
}

PrefixClaim::~PrefixClaim() {
  thread_.request_stop();
  thread_.join();
  clean_up([this](const std::stop_token& stop) {
    const auto now = read_writer(store_, name_, stop);
    if (now && to_text(*now) == to_text(record_)) remove_record(store_, name_, stop);
  });
}

void PrefixClaim::take() {
  const std::string text = to_text(record_);
  if (!io::put_new(store_, name_, as_bytes(text), checks_, stop_)) {
    const auto other = read_writer(store_, name_, stop_);
    if (other && other->writes != record_.writes && is_live(store_, name_, stop_)) refuse(other);
    store_.put(name_, as_bytes(text), io::proof_of(as_bytes(text), checks_), true, stop_);
  }
  if (!checks_.keeps_objects) check();  // it lets two write: the later one has it
}

void PrefixClaim::require() const {
  if (is_lost_) refuse(std::nullopt);
}

void PrefixClaim::look(const std::stop_token& stop) {
  const auto now = read_writer(store_, name_, stop);
  is_lost_ = now && now->writes != record_.writes;
  if (is_lost_) refuse(now);
}

void PrefixClaim::refuse(const std::optional<WriterRecord>& other) const {
  const std::string address = store_.address_of(folder_);
  throw Error(
      ErrorCode::in_use, At{address},
      "another run writes to '{}'{}; run this command again when it has ended, or 2 minutes after it was killed",
      address, other ? ": " + io::describe({other->host, other->process, other->started_at, other->writes}) : "");
}

void PrefixClaim::beat(const std::stop_token& stop) {
  const std::string text = to_text(record_);
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, stop, kBeat, [&] { return stop.stop_requested(); })) {
    try {
      look(stop);
      store_.put(name_, as_bytes(text), io::proof_of(as_bytes(text), checks_), true, stop);
    } catch (const Error&) {
      if (is_lost_) return;
    }
  }
}

std::optional<WriterRecord> live_writer(io::ObjectStore& store, const std::string& folder,
                                        const std::stop_token& stop) {
  const std::string name = folder + kWriterRecord;
  return is_live(store, name, stop) ? read_writer(store, name, stop) : std::nullopt;
}

}  // namespace shardkit::dataset
