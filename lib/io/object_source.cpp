#include "io/object_source.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "core/error.hpp"
#include "core/folder.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"

namespace shardkit::io {
namespace {

constexpr std::uint64_t kBlock = 1U << 20U;  // stays in the second-level cache between read, hash and write

/// Size and modification time, as in rsync's quick check.
std::string version_of(const struct stat& info) {
  return fmt::format("{}-{}.{:09}", info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

ObjectInfo object_of(const std::string& name, const struct stat& info) {
  return {name, static_cast<std::uint64_t>(info.st_size), version_of(info)};
}

struct stat stat_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) throw system_error(errno, "stat", path);
  return info;
}

/// Opening a pipe would wait for its writer, for ever.
[[noreturn]] void refuse_special_file(const std::string& path) {
  throw Error(ErrorCode::unsupported, At{path}, "'{}' is neither a file nor a folder", path);
}

/// Whether an open file still has the bytes of `object`, judged by size and time.
bool is_version(const File& file, const ObjectInfo& object) {
  return object.version.empty() || version_of(file.info()) == object.version;
}

/// The files of a local folder; links are followed.
class FolderObjects final : public ObjectSource {
 public:
  explicit FolderObjects(std::string folder) : folder_(std::move(folder)) {}

  const std::string& location() const override { return folder_; }

  std::vector<ObjectInfo> list(const std::string& folder) override {
    std::vector<ObjectInfo> found;
    std::set<FolderId> above;
    list_below(folder.empty() ? "" : folder + '/', above, found);
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return found;
  }

  std::vector<std::string> names_in(const std::string& folder) override {
    std::vector<std::string> names;
    std::error_code error;
    for (const FolderEntry& entry : folder_entries(join_path(folder_, folder), error)) {
      names.push_back(join_path(folder, entry.name) + (entry.is_folder() ? "/" : ""));
    }
    const bool absent = error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
    if (error && !absent) throw system_error(error.value(), "list", join_path(folder_, folder));
    return names;
  }

  std::optional<ObjectInfo> find(const std::string& name) override {
    struct stat info {};
    const std::string path = join_path(folder_, name);
    if (::stat(path.c_str(), &info) != 0) {
      if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
      throw system_error(errno, "stat", path);
    }
    if (S_ISDIR(info.st_mode)) return std::nullopt;
    if (!S_ISREG(info.st_mode)) refuse_special_file(path);
    return object_of(name, info);
  }

  Fetched fetch(const ObjectInfo& object, std::uint64_t offset, std::uint64_t length, const BodyWriter& write,
                const std::stop_token& stop) override {
    const std::string path = join_path(folder_, object.name);
    File file;
    try {
      file = File::open_read(path);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::not_found) return Fetched::changed;
      throw;
    }
    if (!is_version(file, object)) return Fetched::changed;
    AlignedBuffer memory;
    const MutableBytes block = memory.get(std::min<std::uint64_t>(kBlock, length));
    for (std::uint64_t done = 0; done < length;) {
      if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "interrupted while reading", path);
      const std::uint64_t want = std::min<std::uint64_t>(block.size(), length - done);
      const std::size_t got = file.read_at(offset + done, block.first(want));
      if (got == 0) return Fetched::changed;
      write(block.first(got));
      done += got;
    }
    return is_version(file, object) ? Fetched::whole : Fetched::changed;
  }

  Fetched fetch_whole(const ObjectInfo& object, const std::function<BodyWriter()>& start,
                      const std::stop_token& stop) override {
    return fetch(object, 0, object.size, start(), stop);
  }

 private:
  /// `prefix` is empty or ends with a slash; `above` are the folders on the way to it.
  void list_below(const std::string& prefix, std::set<FolderId>& above, std::vector<ObjectInfo>& found) {
    const std::string folder = join_path(folder_, prefix);
    const struct stat self = stat_of(folder);
    const FolderId id{self.st_dev, self.st_ino};
    if (!above.insert(id).second) {
      throw Error(ErrorCode::conflict, At{folder}, "the link '{}' leads into a folder that contains it", folder);
    }
    std::error_code error;
    for (const FolderEntry& entry : folder_entries(folder, error)) {
      const std::string name = prefix + entry.name;
      if (is_made_by_system(entry.name) && entry.is_folder()) continue;
      const struct stat info = stat_of(entry.path());
      if (S_ISDIR(info.st_mode)) {
        list_below(name + "/", above, found);
      } else if (S_ISREG(info.st_mode)) {
        found.push_back(object_of(name, info));
      } else {
        refuse_special_file(entry.path());
      }
    }
    if (error) throw system_error(error.value(), "list", folder);
    above.erase(id);
  }

  std::string folder_;
};

[[noreturn]] void refuse_changed(const std::string& path) {
  throw Error(ErrorCode::io, At{path},
              "'{}' has changed since it was listed; run the same command again when no process writes to it", path);
}

constexpr std::uint64_t kFirstAhead = 64U << 10U;
constexpr std::uint64_t kMostAhead = 8U << 20U;
constexpr std::uint64_t kGap = 1U << 20U;  // skipping these bytes costs less than another request

}  // namespace

bool is_version_random(ObjectSource& source, const ObjectInfo& object) {
  const auto first = source.find(object.name);
  const auto second = first ? source.find(object.name) : std::nullopt;
  return second && first->size == object.size && second->size == object.size && first->version != second->version;
}

std::string ObjectSource::address_of(const std::string& name) const { return join_path(location(), name); }

ObjectReader::ObjectReader(std::shared_ptr<ObjectSource> source, ObjectInfo object, std::stop_token stop)
    : source_(std::move(source)), object_(std::move(object)), stop_(std::move(stop)) {}

std::size_t ObjectReader::read_at(std::uint64_t offset, MutableBytes buffer) {
  if (offset >= object_.size) return 0;
  buffer = buffer.first(static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), object_.size - offset)));
  std::unique_lock lock(mutex_);
  if (const bool in_block = copy(offset, buffer) == buffer.size();
      !in_block && !goes_on(offset) && buffer.size() >= kFirstAhead / 4) {
    last_ = offset + buffer.size();
    lock.unlock();
    const Fetched fetched = fetch(offset, buffer);
    if (fetched == Fetched::whole) return buffer.size();
    if (fetched == Fetched::changed) refuse_changed(source_->address_of(object_.name));
    lock.lock();
    load_whole();
  }
  for (std::size_t done = 0; (done += copy(offset + done, buffer.subspan(done))) < buffer.size();) load(offset + done);
  return buffer.size();
}

std::size_t ObjectReader::copy(std::uint64_t offset, MutableBytes buffer) const {
  if (offset < begin_ || offset - begin_ >= block_.size()) return 0;
  const auto part = Bytes(block_).subspan(static_cast<std::size_t>(offset - begin_));
  const std::size_t bytes = std::min(part.size(), buffer.size());
  std::copy_n(part.begin(), bytes, buffer.begin());
  return bytes;
}

bool ObjectReader::goes_on(std::uint64_t offset) const {
  return last_ > 0 && offset >= last_ && offset - last_ <= kGap;
}

void ObjectReader::load(std::uint64_t offset) {
  ahead_ = goes_on(offset) ? std::min(std::max(ahead_ * 4, kFirstAhead), kMostAhead) : kFirstAhead;
  begin_ = offset;
  block_.resize(static_cast<std::size_t>(std::min(ahead_, object_.size - offset)));
  last_ = offset + block_.size();
  const Fetched fetched = fetch(offset, block_);
  if (fetched == Fetched::whole) return;
  block_.clear();
  if (fetched == Fetched::changed) refuse_changed(source_->address_of(object_.name));
  load_whole();
}

void ObjectReader::load_whole() {
  const std::string path = source_->address_of(object_.name);
  if (object_.size > kLargestWhole) {
    throw Error(ErrorCode::unsupported, At{path},
                "'{}': the server sends files only as a whole, so parts of it cannot be read; copy it to this machine "
                "with `shardctl stage` first",
                path);
  }
  std::vector<std::byte> bytes;
  const auto add = [&](Bytes piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); };
  if (stream_whole(0, object_.size, add) != Fetched::whole) refuse_changed(path);
  begin_ = 0;
  block_ = std::move(bytes);
}

Fetched ObjectReader::fetch(std::uint64_t offset, MutableBytes buffer) {
  const auto write = [at = buffer.begin()](Bytes piece) mutable { at = std::copy(piece.begin(), piece.end(), at); };
  return fetch(offset, buffer.size(), write);
}

Fetched ObjectReader::fetch(std::uint64_t offset, std::uint64_t length, const BodyWriter& write) {
  std::uint64_t done = 0;
  const auto counted = [&](Bytes piece) {
    write(piece);
    done += piece.size();
  };
  const Fetched fetched = source_->fetch(pinned(), offset, length, counted, stop_);
  if (fetched != Fetched::changed || !forget_version()) return fetched;
  return source_->fetch(pinned(), offset + done, length - done, counted, stop_);
}

ObjectInfo ObjectReader::pinned() const {
  ObjectInfo object = object_;
  if (!has_steady_version_) object.version.clear();
  return object;
}

/// False if the object has really changed.
bool ObjectReader::forget_version() {
  if (!has_steady_version_ || !is_version_random(*source_, object_)) return false;
  has_steady_version_ = false;
  return true;
}

/// Whether a stream is one of many small ones in a row, which cost less by blocks.
bool ObjectReader::follows(std::uint64_t offset, std::uint64_t length) {
  const std::scoped_lock lock(mutex_);
  if (length < kMostAhead && goes_on(offset)) return true;
  last_ = offset + length;
  return false;
}

std::uint64_t ObjectReader::stream(std::uint64_t offset, std::uint64_t length, const BodyWriter& write) {
  if (offset >= object_.size) return 0;
  length = std::min(length, object_.size - offset);
  if (follows(offset, length)) return ByteSource::stream(offset, length, write);
  Fetched fetched = fetch(offset, length, write);
  if (fetched == Fetched::no_ranges) fetched = stream_whole(offset, length, write);
  if (fetched != Fetched::whole) refuse_changed(source_->address_of(object_.name));
  return length;
}

/// Every attempt begins with the first byte: bytes that were already passed on are skipped.
Fetched ObjectReader::stream_whole(std::uint64_t offset, std::uint64_t length, const BodyWriter& write) {
  std::uint64_t next = offset;
  const auto start = [&]() -> BodyWriter {
    return [&, at = std::uint64_t{0}](Bytes piece) mutable {
      const std::uint64_t from = std::clamp(next, at, at + piece.size());
      const std::uint64_t to = std::clamp(offset + length, from, at + piece.size());
      if (from < to) write(piece.subspan(static_cast<std::size_t>(from - at), static_cast<std::size_t>(to - from)));
      next += to - from;
      at += piece.size();
    };
  };
  const Fetched fetched = source_->fetch_whole(pinned(), start, stop_);
  return fetched == Fetched::changed && forget_version() ? source_->fetch_whole(pinned(), start, stop_) : fetched;
}

Fetched fetch_bytes(ObjectSource& source, const ObjectInfo& object, MutableBytes out, const std::stop_token& stop) {
  std::size_t filled = 0;
  bool fits = true;
  const auto start = [&]() -> BodyWriter {
    filled = 0;
    return [&](Bytes piece) {
      fits = fits && piece.size() <= out.size() - filled;
      if (!fits) return;
      std::ranges::copy(piece, out.subspan(filled).begin());
      filled += piece.size();
    };
  };
  if (out.empty()) return Fetched::whole;
  Fetched fetched = source.fetch(object, 0, object.size, start(), stop);
  if (fetched == Fetched::no_ranges) fetched = source.fetch_whole(object, start, stop);
  return fits && filled == out.size() ? fetched : Fetched::changed;
}

std::string fetch_text(ObjectSource& source, const ObjectInfo& object, std::uint64_t limit,
                       const std::stop_token& stop) {
  const std::string path = source.address_of(object.name);
  if (object.size > limit) throw Error(ErrorCode::corrupt, At{path}, "'{}' is too large", path);
  std::string text(object.size, '\0');
  const auto out = std::as_writable_bytes(std::span(text));
  if (fetch_bytes(source, object, out, stop) == Fetched::whole) return text;
  const ObjectInfo unpinned{object.name, object.size, ""};
  if (is_version_random(source, object) && fetch_bytes(source, unpinned, out, stop) == Fetched::whole) return text;
  refuse_changed(path);
}

std::unique_ptr<ObjectSource> open_object_source(const std::string& location) {
  if (!S_ISDIR(stat_of(location).st_mode)) {
    throw Error(ErrorCode::usage, At{location}, "'{}' is a file; give the folder that contains the shards", location);
  }
  return std::make_unique<FolderObjects>(std::filesystem::canonical(location));
}

}  // namespace shardkit::io
