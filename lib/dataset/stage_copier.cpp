#include "dataset/stage_copier.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "formats/shard_index.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"

namespace shardkit {
namespace {

constexpr std::size_t kBlock = 1U << 20U;              // stays in the second-level cache between read and hash
constexpr std::uint64_t kWritebackStep = 8ULL << 20U;  // early, so that the closing sync finds little left to do

void throw_if_stopped(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "stopped while copying");
}

/// Adds the first `bytes` of a file to `hash`.
void hash_file(const std::string& path, std::uint64_t bytes, Xxh3Stream& hash, const std::stop_token& stop) {
  const File file = File::open_read(path);
  std::vector<std::byte> block(kBlock);
  for (std::uint64_t done = 0; done < bytes;) {
    throw_if_stopped(stop);
    const std::size_t want = std::min<std::uint64_t>(block.size(), bytes - done);
    const std::size_t got = file.read_at(done, std::span(block).first(want));
    if (got == 0) return;  // shorter than it was: the hash will tell
    hash.update(Bytes(block).first(got));
    done += got;
  }
}

/// What is wrong with a copied file whose bytes have `found`, in words; empty when nothing is. An index has no checksum
/// in the manifest but one in itself, and says which shard it belongs to.
std::optional<std::string> mismatch(const StageFile& file, const std::string& path, const Hash128& found) {
  if (file.hash && !(found == *file.hash)) {
    return fmt::format("the manifest says XXH3-128 {}, its bytes have {}", to_hex(*file.hash), to_hex(found));
  }
  if (!file.indexed) return std::nullopt;
  try {
    FileSource index(path);
    const ShardSummary summary = read_shard_index(index, path, {});
    if (summary.shard == file.indexed->name && summary.bytes == file.indexed->bytes &&
        summary.xxh3_128 == file.indexed->xxh3_128) {
      return std::nullopt;
    }
    return fmt::format("the manifest says shard '{}' with XXH3-128 {}, it describes '{}' with {}", file.indexed->name,
                       to_hex(file.indexed->xxh3_128), summary.shard, to_hex(summary.xxh3_128));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::corrupt) throw;
    return error.what();
  }
}

}  // namespace

StageCopier::StageCopier(FileSystem& files, ObjectSource& source, StageTarget& target, Context& ctx,
                         std::uint64_t part_bytes)
    : files_(files), source_(source), target_(target), ctx_(ctx), part_bytes_(part_bytes) {}

void StageCopier::bring(const StageFile& file, const std::stop_token& stop) {
  throw_if_stopped(stop);
  if (is_in_place(file, stop)) {
    reused_ += file.object.size;
    ctx_.progress().bytes += file.object.size;
    return;
  }
  const std::uint64_t from = resumable_bytes(file);
  std::optional<Error> wrong = copy(file, from, stop);
  if (!wrong) {
    reused_ += from;
  } else {
    ++retries_;
    wrong = copy(file, 0, stop);
  }
  if (!wrong) return put_in_place(file);
  files_.remove(target_.partial_path(file.object.name));
  throw Error(*wrong);
}

/// Whether the target holds the file already. One that nobody's journal knows is taken over when its bytes are right.
bool StageCopier::is_in_place(const StageFile& file, const std::stop_token& stop) {
  const std::string path = target_.path_of(file.object.name);
  const auto size = size_on_disk(path);
  if (!size) return false;
  const StageJournal::Entry known = target_.journal().find(file.object.name);
  if (known.done) return known.pin == file.pin() && *size == file.object.size;  // else ours to replace
  if ((file.hash || file.indexed) && *size == file.object.size) {
    Xxh3Stream hash;
    if (file.hash) hash_file(path, *size, hash, stop);
    if (!mismatch(file, path, hash.digest())) {
      target_.journal().record(file.object.name, {true, *size, file.pin()});
      return true;
    }
  }
  throw Error(
      ErrorCode::conflict,
      fmt::format("'{}' is there already, was not made by shardctl stage and has other bytes or none to check it "
                  "by; remove it or choose an empty folder",
                  path),
      path);
}

std::uint64_t StageCopier::resumable_bytes(const StageFile& file) const {
  const StageJournal::Entry known = target_.journal().find(file.object.name);
  if (known.done || known.pin != file.pin()) return 0;
  const auto size = size_on_disk(target_.partial_path(file.object.name));
  return size && *size >= known.bytes ? known.bytes : 0;
}

/// Copies all from byte `from` on and says what is wrong with the whole, if anything.
std::optional<Error> StageCopier::copy(const StageFile& file, std::uint64_t from, const std::stop_token& stop) {
  Xxh3Stream hash;
  const std::string partial = target_.partial_path(file.object.name);
  const std::string path = join_path(source_.location(), file.object.name);
  if (from > 0 && file.hash) hash_file(partial, from, hash, stop);
  if (!fetch(file, from, hash, stop)) {
    return Error(
        ErrorCode::io,
        fmt::format("'{}' changed while it was copied, twice; run the same command again once nobody writes it", path),
        path);
  }
  const auto wrong = mismatch(file, partial, hash.digest());
  if (!wrong) return std::nullopt;
  return Error(ErrorCode::corrupt,
               fmt::format("'{}' is not what it should be, also when read again: {}; mend the source, or let 'shardctl "
                           "verify --depth checksum' tell how much of it is damaged",
                           path, *wrong),
               path);
}

/// Appends the source's bytes from `from` on to the partial file. False when the source changed meanwhile.
bool StageCopier::fetch(const StageFile& file, std::uint64_t from, Xxh3Stream& hash, const std::stop_token& stop) {
  const std::string partial = target_.partial_path(file.object.name);
  const std::string path = join_path(source_.location(), file.object.name);
  const auto now = source_.find(file.object.name);
  if (!now) throw Error(ErrorCode::not_found, fmt::format("'{}' is missing", path), path);
  if (now->size != file.object.size) {
    throw Error(ErrorCode::corrupt,
                fmt::format("'{}' has {} bytes; {} says {}", path, now->size,
                            file.hash ? "the manifest" : "the listing", file.object.size),
                path);
  }
  if (from == 0) files_.remove(partial);
  const auto out = from == 0 ? files_.create(partial) : files_.reopen(partial, from);
  std::uint64_t done = from;
  std::uint64_t durable = from;
  ctx_.progress().bytes += from;
  const auto write = [&](Bytes bytes) {
    if (file.hash) hash.update(bytes);
    out->write(bytes);
    const std::uint64_t before = std::exchange(done, done + bytes.size());
    fetched_ += bytes.size();
    ctx_.progress().bytes += bytes.size();
    if (done / kWritebackStep != before / kWritebackStep) out->start_writeback(done);
    if (done - durable < part_bytes_) return;
    out->sync();
    target_.journal().record(file.object.name, {false, done, file.pin()});
    durable = done;
  };
  const Fetched fetched = source_.fetch(*now, from, file.object.size - from, write, stop);
  out->sync();
  return fetched == Fetched::whole;
}

void StageCopier::put_in_place(const StageFile& file) {
  const std::string path = target_.path_of(file.object.name);
  files_.create_directories(parent_folder(path));
  // Before it has its name: a file in place that no journal knows and no hash vouches for would count as a stranger's.
  target_.journal().record(file.object.name, {true, file.object.size, file.pin()});
  if (!file.hash && !file.indexed) target_.journal().sync();
  files_.rename(target_.partial_path(file.object.name), path);
}

}  // namespace shardkit
