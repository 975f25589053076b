#include "staging/small_files.hpp"

#include <utility>

namespace shardkit {
namespace {

constexpr std::uint64_t kBatchBytes = 64ULL << 20U;

}  // namespace

void SmallFiles::add(CopiedFile file) {
  std::vector<CopiedFile> full;
  {
    const std::scoped_lock lock(mutex_);
    bytes_ += file.copy->file().object.size;
    batch_.push_back(std::move(file));
    if (bytes_ < kBatchBytes && batch_.size() < limits_.files) return;
    full.swap(batch_);
    bytes_ = 0;
  }
  commit_(full);
}

void SmallFiles::flush() {
  std::vector<CopiedFile> rest;
  {
    const std::scoped_lock lock(mutex_);
    rest.swap(batch_);
    bytes_ = 0;
  }
  if (!rest.empty()) commit_(rest);
}

}  // namespace shardkit
