#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/remedies.hpp"
#include "formats/shard_index.hpp"
#include "io/file.hpp"
#include "staging/stage_copier.hpp"

namespace shardkit::staging {
namespace {

constexpr std::uint64_t kBatchBytes = 16ULL << 20U;

}  // namespace

void SmallFiles::add(CopiedFile file) {
  std::vector<CopiedFile> full;
  {
    const std::scoped_lock lock(mutex_);
    if (batch_.empty()) since_ = std::chrono::steady_clock::now();
    bytes_ += file.copy->file().object.size;
    batch_.push_back(std::move(file));
    if (bytes_ < kBatchBytes && batch_.size() < limits_.files) return;
    full.swap(batch_);
    bytes_ = 0;
  }
  commit_(full);
}

void SmallFiles::flush(std::chrono::milliseconds age) {
  std::vector<CopiedFile> last_batch;
  {
    const std::scoped_lock lock(mutex_);
    if (std::chrono::steady_clock::now() - since_ < age) return;
    last_batch.swap(batch_);
    bytes_ = 0;
  }
  if (!last_batch.empty()) commit_(last_batch);
}

namespace {

Hash128 hash_of_file(const std::string& path, const std::stop_token& stop) {
  Xxh3Stream hash;
  io::FileSource(io::File::open_regular(path)).stream_all([&](Bytes piece) {
    if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "interrupted while checking", path);
    hash.update(piece);
  });
  return hash.digest();
}

/// A link counts, wherever it leads.
bool something_stands_at(const std::string& path) {
  return std::filesystem::symlink_status(path).type() != std::filesystem::file_type::not_found;
}

Error stranger_error(const std::string& path) {
  return Error(ErrorCode::conflict, At{path},
               "'{}' already exists, was not created by shardctl stage and has other bytes, or cannot be "
               "checked; choose an empty folder, or move it away: {}",
               path, remedy::in_text(remedy::move_away({path})));
}

}  // namespace

std::optional<std::string> mismatch(const StageFile& file, const std::string& path, const Hash128& found) {
  if (file.hash && !(found == *file.hash)) {
    return fmt::format("the manifest has XXH3-128 {}, but the file has {}", to_hex(*file.hash), to_hex(found));
  }
  if (!file.indexed) return std::nullopt;
  try {
    io::FileSource index(path);
    const formats::ShardSummary summary = formats::read_shard_index(index, path, {});
    if (summary.name == file.indexed->name && summary.bytes == file.indexed->bytes &&
        summary.xxh3_128 == file.indexed->xxh3_128) {
      return std::nullopt;
    }
    return fmt::format("the manifest lists shard '{}' with XXH3-128 {}, but the file describes '{}' with {}",
                       file.indexed->name, to_hex(file.indexed->xxh3_128), summary.name, to_hex(summary.xxh3_128));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::corrupt) throw;
    return error.what();
  }
}

bool FilePublisher::is_in_place(const StageFile& file, const std::stop_token& stop) {
  const std::string path = target_.path_of(file.object.name);
  if (!something_stands_at(path)) return false;
  auto known = target_.journal().find(file.object.name);
  if (!known) {
    target_.journal().refresh();
    known = target_.journal().find(file.object.name);
  }
  if (known) {
    if (known->pin != file.pin() || known->bytes != file.object.size) return false;
    return known->is_unchanged_at(path) || has_right_bytes(file, *known, path, stop);
  }
  if (size_on_disk(path) == file.object.size && is_right_copy(file, path, stop)) return true;
  throw stranger_error(path);
}

/// Reads a file whose modification time or inode has changed since it was staged.
bool FilePublisher::has_right_bytes(const StageFile& file, StagedFile known, const std::string& path,
                                    const std::stop_token& stop) {
  known.seen = seen_at(path);  // first: a change while it is read is noticed by the next stage
  if (size_on_disk(path) != known.bytes || !(hash_of_file(path, stop) == known.hash)) return false;
  target_.journal().record(file.object.name, known);
  return true;
}

bool FilePublisher::is_right_copy(const StageFile& file, const std::string& path, const std::stop_token& stop) {
  if (!file.hash && !file.indexed) return false;
  const std::string seen = seen_at(path);
  const Hash128 hash = hash_of_file(path, stop);
  if (mismatch(file, path, hash)) return false;
  target_.journal().record(file.object.name, {file.object.size, file.pin(), hash, true, seen});
  return true;
}

void FilePublisher::put(const std::vector<CopiedFile>& batch) {
  for (const CopiedFile& copied : batch) {
    const StageFile& file = copied.copy->file();
    const std::string path = target_.path_of(file.object.name);
    // Another process may have put it there since is_in_place() looked; files named in the journal are ours to replace.
    if (!target_.journal().find(file.object.name) && something_stands_at(path)) throw stranger_error(path);
    target_.journal().record(file.object.name, {file.object.size, file.pin(), copied.hash, false,
                                                seen_at(target_.partial_path(file.object.name))});
  }
  // Before the names: a file in place that no journal knows and no hash vouches for would count as a stranger's.
  target_.journal().sync();
  for (const CopiedFile& copied : batch) {
    const std::string& name = copied.copy->file().object.name;
    make_parent(name);
    files_.rename(target_.partial_path(name), target_.path_of(name));
    copied.copy->close();
  }
}

void FilePublisher::make_parent(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  if (slash == std::string::npos) return;
  const std::scoped_lock lock(mutex_);
  std::string folder = name.substr(0, slash);
  if (folders_.contains(folder)) return;
  target_.contained().folder(folder, true);
  folders_.insert(std::move(folder));
}

}  // namespace shardkit::staging
