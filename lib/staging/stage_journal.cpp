#include "staging/stage_journal.hpp"

#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "core/error.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"

namespace shardkit::staging {
namespace {

constexpr std::uint64_t kLongestMarker = 1U << 20U;

std::optional<struct stat> regular_file_at(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    throw system_error(errno, "stat", path);
  }
  return S_ISREG(info.st_mode) ? std::optional(info) : std::nullopt;
}

std::string text_of(const struct stat& info) { return fmt::format("{}-{}", info.st_ino, io::mtime_ns(info)); }

}  // namespace

std::optional<StagedMarker> find_staged_marker(const std::string& folder) {
  const std::string path = io::join_path(folder, kStagedMarkerPath);
  try {
    return formats::read_staged_marker(io::read_text_file(io::File::open_regular(path), kLongestMarker), path);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::not_found || error.code() == ErrorCode::corrupt) return std::nullopt;
    throw;
  }
}

std::optional<std::uint64_t> size_on_disk(const std::string& path) {
  const auto info = regular_file_at(path);
  if (!info) return std::nullopt;
  return static_cast<std::uint64_t>(info->st_size);
}

std::string seen_at(const std::string& path) {
  const auto info = regular_file_at(path);
  return info ? text_of(*info) : std::string();
}

bool is_unchanged_at(const StagedFile& file, const std::string& path) {
  if (file.is_damaged()) return false;
  const auto info = regular_file_at(path);
  return info && static_cast<std::uint64_t>(info->st_size) == file.bytes && file.seen == text_of(*info);
}

StageJournal::State StageJournal::read(const std::string& path) {
  State state;
  try {
    state.take(io::read_text_file(io::File::open_regular(path)));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;
  }
  return state;
}

void StageJournal::rewrite(io::FileSystem& files, const std::string& path, const State& state) {
  io::publish(files, path, as_bytes(state.text()));
}

StageJournal::StageJournal(io::FileSystem& files, std::string path) : path_(std::move(path)), state_(read(path_)) {
  file_ = files.open_append(path_);
}

std::optional<StagedFile> StageJournal::find(const std::string& name) const {
  const std::scoped_lock lock(mutex_);
  const auto found = state_.files.find(name);
  if (found == state_.files.end()) return std::nullopt;
  return found->second;
}

void StageJournal::refresh() {
  const std::scoped_lock lock(mutex_);
  take_news();
}

void StageJournal::take_news() {
  const io::File file = io::File::open_regular(path_);
  const std::uint64_t size = file.size();
  if (size <= state_.read) return;
  std::string text(size - state_.read, '\0');
  text.resize(file.read_at(state_.read, std::as_writable_bytes(std::span(text))));
  state_.take(text);
}

void StageJournal::announce(std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  take_news();
  if (!state_.set || bytes <= state_.set->bytes) return;
  state_.set->bytes = bytes;
  append(formats::journal_line(*state_.set));
}

void StageJournal::record(const std::string& name, const StagedFile& file) {
  const std::scoped_lock lock(mutex_);
  append(formats::journal_line(name, file));
  state_.files[name] = file;
}

void StageJournal::add(const StagedCommand& command) {
  const std::scoped_lock lock(mutex_);
  take_news();
  if (state_.add(command)) append(formats::journal_line(command));
}

/// Between line ends of its own: on a full disk another process may have left half a line before it, which must not
/// damage ours; and without the second one behind it, a change of its line end would look as if it was never written.
void StageJournal::append(const std::string& line) { file_->write(as_bytes("\n" + line + "\n")); }

void StageJournal::sync() {
  const std::scoped_lock lock(mutex_);
  file_->sync();
}

StageJournal::State StageJournal::state() const {
  const std::scoped_lock lock(mutex_);
  return state_;
}

}  // namespace shardkit::staging
