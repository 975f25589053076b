#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace shardkit::sync {

/// Objects that are costly to create and serve one thread at a time, lent to any number of threads: for example as many
/// decoders as cores, while hundreds of threads wait for files. Thread-safe.
template <class T>
class LoanPool {
 public:
  explicit LoanPool(
      std::size_t count, const std::function<std::unique_ptr<T>()>& make = [] { return std::make_unique<T>(); }) {
    for (std::size_t i = 0; i < count; ++i) idle_.push_back(make());
  }

  /// An object taken from the pool until the end of a scope. Does not outlive the pool.
  class Loan {
   public:
    explicit Loan(LoanPool& pool) : pool_(pool), object_(pool.take()) {}
    ~Loan() { pool_.give_back(std::move(object_)); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;

    T& operator*() const { return *object_; }
    T* operator->() const { return object_.get(); }

   private:
    LoanPool& pool_;
    std::unique_ptr<T> object_;
  };

  /// Waits until an object is idle: briefly, if borrowers only compute. Takes no stop token because the wait is
  /// bounded.
  Loan borrow() { return Loan(*this); }

 private:
  std::unique_ptr<T> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !idle_.empty(); });
    std::unique_ptr<T> object = std::move(idle_.back());
    idle_.pop_back();
    return object;
  }

  void give_back(std::unique_ptr<T> object) {
    const std::scoped_lock lock(mutex_);
    idle_.push_back(std::move(object));
    changed_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<T>> idle_;
};

}  // namespace shardkit::sync
