#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "dataset/bucket/upload_records.hpp"
#include "io/store_checks.hpp"

namespace shardkit::dataset {

/// Says in a folder of a bucket which command writes there, by the object kWriterRecord, as io::RunFile does on a disk.
/// While this object lives, a thread writes it again every 30 s: that is the sign of life. Commands that write the same
/// may work together; the last of them removes the record.
class PrefixClaim {
 public:
  /// `folder` is relative to the store, and empty or ends with a slash. Throws Error{in_use} if a live command writes
  /// something else there, and the errors of the store, which outlives the claim.
  PrefixClaim(io::ObjectStore& store, const io::StoreChecks& checks, std::string folder, std::string writes,
              std::stop_token stop);
  ~PrefixClaim();
  PrefixClaim(const PrefixClaim&) = delete;
  PrefixClaim& operator=(const PrefixClaim&) = delete;

  /// Throws Error{in_use} if the last sign of life showed that another command has taken over. Thread-safe.
  void require() const;
  /// The same with a look at the record now.
  void check() { look(stop_); }

 private:
  void take();
  void look(const std::stop_token& stop);
  void beat(const std::stop_token& stop);
  [[noreturn]] void refuse(const std::optional<WriterRecord>& other) const;

  io::ObjectStore& store_;
  const io::StoreChecks checks_;
  const std::string folder_;
  const std::string name_;
  const WriterRecord record_;
  const std::stop_token stop_;
  std::atomic<bool> is_lost_ = false;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  ///< last: starts when everything else is ready
};

/// The command that writes to the folder, if it gave a sign of life in the last two minutes.
std::optional<WriterRecord> live_writer(io::ObjectStore& store, const std::string& folder, const std::stop_token& stop);

}  // namespace shardkit::dataset
