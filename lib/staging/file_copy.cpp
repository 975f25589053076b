#include "staging/file_copy.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/fields.hpp"
#include "core/text.hpp"
#include "formats/shard_hash.hpp"
#include "formats/tsv.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"
#include "staging/stage_journal.hpp"

namespace shardkit::staging {

namespace {

constexpr std::size_t kBlock = 1U << 20U;  // stays in the second-level cache between read and hash
constexpr std::string_view kPartsFormat = "shardkit-parts 1";
constexpr std::uint64_t kLongestLog = 64ULL << 20U;

std::string head_line(const StageFile& of) {
  std::string line = fmt::format("{}\t{}\t", kPartsFormat, of.object.size);
  formats::append_escaped(line, of.pin());
  line += '\t';
  formats::append_escaped(line, of.object.name);
  formats::seal_line(line);
  return line;
}

bool read_head(std::string_view line, PartRecord& of) {
  if (!formats::unseal_line(line)) return false;
  std::vector<std::string_view> columns;
  formats::split_columns(line, columns);
  return columns.size() == 4 && columns[0] == kPartsFormat && parse_number(columns[1], of.size) &&
         formats::unescape(columns[2], of.pin) && formats::unescape(columns[3], of.name);
}

/// "begin-end<tab>begin-end...<tab>checksum".
bool read_ranges(std::string_view line, std::uint64_t size, RangeSet& ranges) {
  if (!formats::unseal_line(line)) return false;
  std::vector<std::string_view> columns;
  formats::split_columns(line, columns);
  RangeSet read;
  for (const std::string_view column : columns) {
    const std::size_t dash = column.find('-');
    ByteRange range;
    if (dash == std::string_view::npos || !parse_number(column.substr(0, dash), range.begin) ||
        !parse_number(column.substr(dash + 1), range.end) || range.begin > range.end || range.end > size) {
      return false;
    }
    read.add(range);
  }
  ranges = std::move(read);
  return true;
}

ByteRange range_of_part(std::size_t part, std::uint64_t file_bytes) {
  const std::uint64_t begin = part * formats::kPartBytes;
  return {begin, std::min(begin + formats::kPartBytes, file_bytes)};
}

/// Takes the first line off `text`; false when there is no whole one left.
bool next_line(std::string_view& text, std::string_view& line) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return false;
  line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return true;
}

}  // namespace

std::optional<PartRecord> read_part_log(std::string_view text) {
  PartRecord record;
  std::string_view line;
  if (!next_line(text, line) || !read_head(line, record)) return std::nullopt;
  while (next_line(text, line)) read_ranges(line, record.size, record.durable);
  return record;
}

std::uint64_t arrived_bytes(const std::string& path, const RangeSet& durable) {
  const auto ranges = durable.ranges();
  if (ranges.empty() || size_on_disk(path).value_or(0) < ranges.back().end) return 0;
  return durable.total();
}

RangeSet PartLog::read(const StageFile& of) const {
  try {
    auto record = read_part_log(io::read_text_file(path_, kLongestLog));
    if (record && record->is_of(of)) return std::move(record->durable);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found && error.code() != ErrorCode::corrupt) throw;
  }
  return {};
}

void PartLog::record(const StageFile& of, const RangeSet& durable) {
  std::string line;
  for (const ByteRange& range : durable.ranges())
    line += fmt::format("{}{}-{}", line.empty() ? "" : "\t", range.begin, range.end);
  formats::seal_line(line);
  if (file_) return file_->write(as_bytes(line));
  // At once in the place of an older log, which counts until then.
  io::publish(files_, path_, as_bytes(head_line(of) + line));
  file_ = files_.open_append(path_);
}

void PartLog::remove() {
  file_.reset();
  files_.remove(path_);
}

void DiskGate::pass(sync::LoanPool<Permit>& turns, const std::function<void()>& action) {
  const auto turn = turns.borrow();
  if (stop_.stop_requested()) throw Error(ErrorCode::cancelled, "interrupted while copying");
  action();
}

FileCopy::FileCopy(StageFile file, std::unique_ptr<io::PatchFile> out, PartLog log, const CopySteps& steps,
                   DiskGate& gate)
    : file_(std::move(file)),
      steps_(steps),
      gate_(gate),
      out_(std::move(out)),
      whole_only_(!file_.is_pinned()),
      log_(std::move(log)) {
  if (!whole_only_) have_ = log_.read(file_);
  if (arrived_bytes(out_->file().path(), have_) == 0) {
    have_.clear();
    out_->resize(0);
  }
  prepare();
  parts_.resize(file_.parts.size());
  begin_hashes();
  taken_ = have_;
  resumed_ = have_.total();
}

/// Room for the whole file, and for a large one the way past the page cache.
void FileCopy::prepare() {
  if (file_.object.size < steps_.large_bytes()) return;
  out_->reserve(file_.object.size);
  out_->bypass_cache();
}

std::optional<ByteRange> FileCopy::claim(std::uint64_t longest) {
  const std::scoped_lock lock(mutex_);
  if (settling_ || outdated_) return std::nullopt;
  auto range = taken_.first_gap(file_.object.size);
  if (!range) {
    const bool is_whole = claims_ == 0;  // resumed, or empty: somebody has to settle it
    if (!is_whole) return std::nullopt;
    ++claims_;
    return ByteRange{};
  }
  if (!whole_only_) {
    std::uint64_t end = range->begin + longest;
    if (has_parts() && longest >= formats::kPartBytes) end -= end % formats::kPartBytes;  // compared as they arrive
    range->end = std::min(range->end, end);
  }
  taken_.add(*range);
  ++claims_;
  return range;
}

void FileCopy::write(std::uint64_t offset, Bytes bytes) {
  if (outdated_) throw OutdatedBytes{};
  gate_.write([&] {
    out_->write_at(offset, bytes);
    out_->write_back(offset, bytes.size());
  });
  const std::uint64_t end = offset + bytes.size();
  const std::scoped_lock lock(mutex_);
  if (!has_parts() && hashed_ == offset && !catching_up_) {
    add_to_hashes(bytes);
    hashed_ = end;
  }
  have_.add({offset, end});
  unsaved_ += bytes.size();
}

bool FileCopy::release(ByteRange claim, std::uint64_t reached) {
  const std::scoped_lock lock(mutex_);
  --claims_;
  taken_.remove({std::max(reached, claim.begin), claim.end});
  if (claims_ > 0) return false;
  settling_ = outdated_ || have_.end_of_run(0) >= file_.object.size;
  return settling_;
}

void FileCopy::hash_and_save(const std::stop_token& stop) {
  if (!has_parts()) catch_up(stop);
  bool due = false;
  {
    const std::scoped_lock lock(mutex_);
    const bool is_time = std::chrono::steady_clock::now() - saved_at_ >= steps_.save_every;
    due = unsaved_ > 0 && (unsaved_ >= steps_.save_bytes || is_time) && have_.total() < file_.object.size;
  }
  if (due) save();
}

void FileCopy::forget() {
  log_.remove();
  out_->resize(0);
  prepare();
  const std::scoped_lock lock(mutex_);
  have_.clear();
  taken_.clear();
  begin_hashes();
  unsaved_ = 0;
  resumed_ = 0;
  outdated_ = false;
  settling_ = false;
}

void FileCopy::start_over(const io::ObjectInfo& object) {
  ++restarts_;
  file_.object = object;
  whole_only_ = whole_only_ || !file_.is_pinned();
  forget();
}

void FileCopy::start_over_as_whole() {
  whole_only_ = true;
  forget();
}

void FileCopy::rewind() {
  const std::scoped_lock lock(mutex_);
  have_.clear();
  begin_hashes();
}

/// Called with the lock held.
void FileCopy::begin_hashes() {
  std::ranges::fill(parts_, Part{});
  hash_.reset();
  store_hash_.reset();
  if (file_.object.checksum) store_hash_.emplace(file_.object.checksum->kind);
  hashed_ = 0;
}

void FileCopy::add_to_hashes(Bytes bytes) {
  hash_.update(bytes);
  if (store_hash_) store_hash_->update(bytes);
}

std::optional<std::string> FileCopy::fault_by_store() {
  if (!store_hash_) return std::nullopt;
  const std::string digits = store_hash_->finish();
  const Checksum& expected = *file_.object.checksum;
  if (digits == expected.digits) return std::nullopt;
  return fmt::format("the store has {} {}, but the bytes have {}", enum_name(expected.kind), expected.digits, digits);
}

void FileCopy::compare_part(std::size_t part, const Hash128& hash) {
  const std::scoped_lock lock(mutex_);
  if (hash == file_.parts[part]) {
    parts_[part].right = true;
  } else if (!parts_[part].wrong && !whole_only_) {
    drop_part(part, hash);
  }
}

/// Called with the lock held.
void FileCopy::drop_part(std::size_t part, const Hash128& wrong) {
  parts_[part] = {false, wrong};
  ++parts_refetched_;
  const ByteRange range = range_of_part(part, file_.object.size);
  have_.remove(range);
  taken_.remove(range);
}

std::optional<Hash128> FileCopy::finish_hash(const std::stop_token& stop) {
  if (has_parts()) return check_parts(stop) ? file_.hash : std::nullopt;
  hash_stored([this](Bytes bytes) { add_to_hashes(bytes); }, {hashed_, file_.object.size}, stop);
  return hash_.digest();
}

/// False if parts are wrong for the first time; then it is no longer settling.
bool FileCopy::check_parts(const std::stop_token& stop) {
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    if (parts_[part].right) continue;
    const ByteRange range = range_of_part(part, file_.object.size);
    Xxh3Stream hash;
    hash_stored([&](Bytes bytes) { hash.update(bytes); }, range, stop);
    const Hash128 found = hash.digest();
    const std::scoped_lock lock(mutex_);
    if (found == file_.parts[part]) {
      parts_[part].right = true;
    } else if (parts_[part].wrong || whole_only_) {
      throw WrongPart{range, found, parts_[part].wrong.value_or(found) != found};
    } else {
      drop_part(part, found);
    }
  }
  const std::scoped_lock lock(mutex_);
  settling_ = have_.end_of_run(0) >= file_.object.size;
  return settling_;
}

void FileCopy::close() {
  out_->drop_cached(file_.object.size);
  log_.remove();
}

/// Reads stored bytes back into a hash that only the caller touches.
void FileCopy::hash_stored(const BodyWriter& hash, ByteRange range, const std::stop_token& stop) {
  std::vector<std::byte> block(std::min<std::uint64_t>(kBlock, range.size()));
  while (!range.empty()) {
    if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "interrupted while copying");
    const std::size_t want = std::min<std::uint64_t>(block.size(), range.size());
    const std::size_t got = out_->file().read_at(range.begin, std::span(block).first(want));
    if (got == 0) return;  // shorter than before: the hash will differ
    hash(Bytes(block).first(got));
    range.begin += got;
  }
}

/// Hashes the finished bytes that follow the hashed ones, unless another thread does. Within a claim, so that no thread
/// settles the file meanwhile.
void FileCopy::catch_up(const std::stop_token& stop) {
  while (true) {
    ByteRange ready;
    {
      const std::scoped_lock lock(mutex_);
      ready = {hashed_, have_.end_of_run(hashed_)};
      if (catching_up_ || ready.empty()) return;
      catching_up_ = true;
    }
    hash_stored([this](Bytes bytes) { add_to_hashes(bytes); }, ready, stop);
    const std::scoped_lock lock(mutex_);
    hashed_ = ready.end;
    catching_up_ = false;
  }
}

void FileCopy::save() {
  const std::unique_lock alone(save_mutex_, std::try_to_lock);
  if (!alone.owns_lock()) return;
  RangeSet durable;
  std::uint64_t read_again_from = 0;  // for the hash
  {
    const std::scoped_lock lock(mutex_);
    if (outdated_ || whole_only_) return;
    durable = have_;
    read_again_from = has_parts() ? have_.end_of_run(0) : hashed_;
    unsaved_ = 0;
    saved_at_ = std::chrono::steady_clock::now();
  }
  gate_.sync([this] { out_->sync(); });
  log_.record(file_, durable);
  out_->drop_cached(read_again_from);
}

void RangeSet::add(ByteRange range) {
  if (range.empty()) return;
  auto at = ends_.upper_bound(range.begin);
  if (at != ends_.begin() && std::prev(at)->second >= range.begin) --at;
  while (at != ends_.end() && at->first <= range.end) {
    range = {std::min(range.begin, at->first), std::max(range.end, at->second)};
    at = ends_.erase(at);
  }
  ends_.emplace(range.begin, range.end);
}

void RangeSet::remove(ByteRange range) {
  if (range.empty()) return;
  auto at = ends_.upper_bound(range.begin);
  if (at != ends_.begin()) --at;
  while (at != ends_.end() && at->first < range.end) {
    const ByteRange old{at->first, at->second};
    if (old.end <= range.begin) {
      ++at;
      continue;
    }
    at = ends_.erase(at);
    if (old.begin < range.begin) ends_.emplace(old.begin, range.begin);
    if (old.end > range.end) ends_.emplace(range.end, old.end);
  }
}

std::uint64_t RangeSet::total() const {
  std::uint64_t bytes = 0;
  for (const auto& [begin, end] : ends_) bytes += end - begin;
  return bytes;
}

std::uint64_t RangeSet::end_of_run(std::uint64_t from) const {
  const auto after = ends_.upper_bound(from);
  if (after == ends_.begin()) return from;
  return std::max(from, std::prev(after)->second);
}

std::optional<ByteRange> RangeSet::first_gap(std::uint64_t size) const {
  const std::uint64_t begin = end_of_run(0);
  if (begin >= size) return std::nullopt;
  const auto next = ends_.upper_bound(begin);
  return ByteRange{begin, next == ends_.end() ? size : std::min(size, next->first)};
}

std::vector<ByteRange> RangeSet::ranges() const {
  std::vector<ByteRange> all;
  for (const auto& [begin, end] : ends_) all.push_back({begin, end});
  return all;
}

}  // namespace shardkit::staging
