#include "dataset/bucket/store_files.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>

#include "core/error.hpp"
#include "core/prng.hpp"
#include "formats/manifest.hpp"
#include "io/file_system.hpp"
#include "io/temporary_folder.hpp"

namespace shardkit::dataset {
namespace {

/// The bytes of a file in memory, as the page cache has them.
class MappedFile {
 public:
  explicit MappedFile(const io::File& file) : size_(static_cast<std::size_t>(file.size())) {
    if (size_ == 0) return;
    begin_ = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.fd(), 0);
    if (begin_ == MAP_FAILED) throw system_error(errno, "read", file.path());
  }
  ~MappedFile() {
    if (size_ > 0) ::munmap(begin_, size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  Bytes bytes() const { return {static_cast<const std::byte*>(begin_), size_}; }

 private:
  void* begin_ = nullptr;
  std::size_t size_;
};

/// A file in the system's temporary folder that has no name, and ends with its descriptor.
std::unique_ptr<io::PatchFile> nameless_file() {
  const auto files = io::posix_file_system();
  const std::string path = fmt::format("{}/shardkit-{}", io::temporary_folder(), random_bits());
  auto file = files->create(path, path);
  files->remove(path);
  return file;
}

struct Part {
  std::unique_ptr<std::byte[]> bytes;
  std::uint64_t filled = 0;
};

}  // namespace

/// A part that is being sent.
class StoreFiles::FullPart {
 public:
  explicit FullPart(StoreFiles& files) : files_(files) {
    const std::scoped_lock lock(files_.sent_mutex_);
    ++files_.full_parts_;
  }
  ~FullPart() {
    const std::scoped_lock lock(files_.sent_mutex_);
    --files_.full_parts_;
    files_.part_sent_.notify_all();
  }
  FullPart(const FullPart&) = delete;
  FullPart& operator=(const FullPart&) = delete;

 private:
  StoreFiles& files_;
};

/// A file that has no object yet. Of a large one each byte is written once.
class StoreFiles::StoreFile final : public io::OutputFile {
 public:
  StoreFile(StoreFiles& files, std::string name) : files_(files), name_(std::move(name)) {}

  void write_at(std::uint64_t offset, Bytes bytes) override {
    if (part_bytes_ == 0) return spool().write_at(offset, bytes);
    while (!bytes.empty()) {
      const std::uint64_t index = offset / part_bytes_;
      const std::uint64_t at = offset % part_bytes_;
      const Bytes piece = bytes.first(std::min<std::size_t>(bytes.size(), part_bytes_ - at));
      fill(index, at, piece);
      offset += piece.size();
      bytes = bytes.subspan(piece.size());
    }
  }

  void resize(std::uint64_t size) override {
    if (part_bytes_ == 0) return spool().resize(size);
    size_ = size;
    if (upload_ && !parts_.empty()) send(parts_.extract(parts_.begin()));
  }

  /// From now on it is sent in parts.
  void reserve(std::uint64_t size) override {
    reserved_ = size;
    part_bytes_ = std::max(files_.memory_.part_bytes, least_part_bytes(size));
  }

  bool bypass_cache() override { return true; }
  void sync() override {}
  void write_back(std::uint64_t /*offset*/, std::uint64_t /*length*/) override {}

  bool is_large() const { return part_bytes_ > 0; }
  /// After resize(); null for a file that is not in parts.
  io::ObjectWriter* writer() { return upload_.get(); }
  std::uint64_t size() { return is_large() ? size_ : spool().file().size(); }

  /// Calls `use` with all of its bytes, if it is not in parts.
  template <class Use>
  auto with_bytes(const Use& use) {
    if (!is_large()) return use(MappedFile(spool().file()).bytes());
    return use(parts_.empty() ? Bytes() : Bytes(parts_.begin()->second.bytes.get(), size_));
  }

  std::unique_ptr<ByteSource> read() {
    return std::make_unique<io::FileSource>(fmt::format("/proc/self/fd/{}", spool().file().fd()));
  }

 private:
  io::PatchFile& spool() {
    const std::scoped_lock lock(mutex_);
    if (!spool_) spool_ = nameless_file();
    return *spool_;
  }

  void fill(std::uint64_t index, std::uint64_t at, Bytes piece) {
    std::byte* memory = nullptr;
    {
      const std::scoped_lock lock(mutex_);
      Part& part = parts_[index];
      if (!part.bytes) part.bytes = files_.take_memory(part_bytes_);
      memory = part.bytes.get();
    }
    std::memcpy(memory + at, piece.data(), piece.size());
    std::map<std::uint64_t, Part>::node_type full;
    {
      const std::scoped_lock lock(mutex_);
      Part& part = parts_[index];
      part.filled += piece.size();
      if (part.filled == part_bytes_) full = parts_.extract(index);
    }
    if (full) send(std::move(full));
  }

  void send(std::map<std::uint64_t, Part>::node_type part) {
    const FullPart sending(files_);
    upload().write(part.key(), {part.mapped().bytes.get(), part.mapped().filled}, files_.stop_);
    files_.give_memory(part_bytes_, std::move(part.mapped().bytes));
  }

  io::ObjectWriter& upload() {
    const std::scoped_lock lock(upload_mutex_);
    if (!upload_) {
      const io::StoreChecks& checks = files_.checks();
      upload_ = open_upload(*files_.store_, name_, checks, {"", reserved_, part_bytes_, checks.part},
                            files_.earlier_record(name_), files_.stop_);
    }
    return *upload_;
  }

  StoreFiles& files_;
  const std::string name_;
  std::uint64_t part_bytes_ = 0;  ///< 0: it is not large
  std::uint64_t reserved_ = 0;
  std::uint64_t size_ = 0;  ///< after resize()
  std::mutex mutex_;        ///< guards the next two
  std::unique_ptr<io::PatchFile> spool_;
  std::map<std::uint64_t, Part> parts_;  ///< by index; not full
  std::mutex upload_mutex_;
  std::unique_ptr<io::ObjectWriter> upload_;
};

StoreFiles::StoreFiles(std::shared_ptr<io::ObjectStore> store, std::stop_token stop, StoreMemory memory)
    : store_(std::move(store)), stop_(std::move(stop)), memory_(memory) {}

StoreFiles::~StoreFiles() = default;

std::string StoreFiles::name_of(std::string_view path) const {
  path.remove_prefix(std::min(path.size(), location().size()));
  while (path.starts_with('/')) path.remove_prefix(1);
  while (path.ends_with('/')) path.remove_suffix(1);
  return std::string(path);
}

io::Unpublished StoreFiles::create_for(const std::string& path) {
  const std::string name = name_of(path);
  require_key_fits(*store_, parts_record_name(name));
  const std::scoped_lock lock(mutex_);
  std::string temp = fmt::format("{}.{}", path, ++created_);
  auto file = std::make_unique<StoreFile>(*this, name);
  unpublished_.emplace(temp, file.get());
  return {std::move(temp), std::move(file)};
}

void StoreFiles::create_directories(const std::string& /*path*/) {
  checks();
  remove_old_records();
}

/// A process that was killed after its object was complete has left its record.
void StoreFiles::remove_old_records() {
  std::vector<std::string> records;
  {
    const std::string_view folder = formats::kUploadsFolder;
    const std::scoped_lock lock(mutex_);
    for (auto at = objects().lower_bound(formats::kUploadsFolder);
         at != objects().end() && at->first.starts_with(folder); ++at) {
      const std::string object = at->first.substr(folder.size(), at->first.rfind('.') - folder.size());
      if (objects().contains(object) && parts_record_name(object) == at->first) records.push_back(at->first);
    }
  }
  for (const std::string& record : records) {
    if (!remove_record(*store_, record, stop_)) return;
    const std::scoped_lock lock(mutex_);
    objects().erase(record);
  }
}

const io::StoreChecks& StoreFiles::checks() {
  const std::scoped_lock lock(checks_mutex_);
  if (!checks_) {
    const std::string probe = fmt::format("{}probe-{}", formats::kUploadsFolder, random_bits());
    require_key_fits(*store_, probe);
    checks_ = io::find_checks(*store_, probe, as_bytes(probe), stop_);
    remove_record(*store_, probe, {});
  }
  return *checks_;
}

std::map<std::string, io::ObjectInfo>& StoreFiles::objects() {
  if (!objects_) {
    objects_.emplace();
    for (io::ObjectInfo& object : store_->list()) objects_->emplace(object.name, std::move(object));
  }
  return *objects_;
}

std::optional<PartsRecord> StoreFiles::earlier_record(const std::string& name) {
  const auto record = find(parts_record_name(name));
  return record ? read_parts_record(record_text(*store_, *record, stop_)) : std::nullopt;
}

std::optional<io::ObjectInfo> StoreFiles::find(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  const auto found = objects().find(name);
  return found == objects().end() ? std::nullopt : std::optional(found->second);
}

void StoreFiles::rename(const std::string& from, const std::string& to) {
  StoreFile& file = *unpublished(from);
  if (publish(file, name_of(to), !file.is_large())) {
    forget(from);
    return;
  }
  throw Error(ErrorCode::conflict, At{to},
              "'{}' has other bytes than this command writes; move it away, or choose another prefix", to);
}

bool StoreFiles::rename_new(const std::string& from, const std::string& to) {
  const bool is_done = publish(*unpublished(from), name_of(to), false);
  if (is_done) forget(from);
  return is_done;
}

/// False if there is an object of that name with other bytes.
bool StoreFiles::publish(StoreFile& file, const std::string& name, bool may_replace) {
  const bool is_there = file.writer() != nullptr ? finish(file, name) : put(file, name, may_replace);
  std::optional<io::ObjectInfo> object = io::ObjectInfo{name, file.size(), ""};
  if (!is_there) object = store_->find(name);
  const std::scoped_lock lock(mutex_);
  if (!objects_) return is_there;  // a later listing shows it
  objects_->erase(name);
  if (object) objects_->emplace(name, *std::move(object));
  return is_there;
}

bool StoreFiles::put(StoreFile& file, const std::string& name, bool may_replace) {
  return file.with_bytes([&](Bytes bytes) {
    return store_->put(name, bytes, io::proof_of(bytes, checks()), may_replace, stop_) == io::Written::done;
  });
}

/// As publish(), for a file in parts.
bool StoreFiles::finish(StoreFile& file, const std::string& name) {
  io::ObjectWriter& writer = *file.writer();
  const io::Written written = writer.finish(stop_);
  const bool is_there = written == io::Written::done || writer.is_there();
  if (written != io::Written::done) writer.abandon(stop_);
  remove_record(*store_, parts_record_name(name), stop_);
  if (is_there || written == io::Written::exists) return is_there;
  const std::string address = store_->address_of(name);
  throw Error(ErrorCode::network, At{address},
              "'{}': another write of this object ran at the same time; run the same command again", address);
}

void StoreFiles::remove(const std::string& path) {
  if (forget(path)) return;
  const std::string name = name_of(path);
  if (!find(name)) return;
  store_->remove(name, stop_);
  const std::scoped_lock lock(mutex_);
  objects().erase(name);
}

/// False for a path that is not that of an unpublished file.
bool StoreFiles::forget(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  return unpublished_.erase(path) > 0;
}

StoreFiles::StoreFile* StoreFiles::unpublished(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  const auto found = unpublished_.find(path);
  return found == unpublished_.end() ? nullptr : found->second;
}

std::optional<std::uint64_t> StoreFiles::size_of(const std::string& path) {
  const auto object = find(name_of(path));
  return object ? std::optional(object->size) : std::nullopt;
}

bool StoreFiles::exists(const std::string& path) {
  const std::string name = name_of(path);
  const std::scoped_lock lock(mutex_);
  if (name.empty() || objects().contains(name)) return !objects().empty();
  const auto below = objects().lower_bound(name + '/');
  return below != objects().end() && below->first.starts_with(name + '/');
}

std::unique_ptr<ByteSource> StoreFiles::open(const std::string& path) {
  if (StoreFile* file = unpublished(path)) return file->read();
  auto object = find(name_of(path));
  if (!object) throw Error(ErrorCode::not_found, At{path}, "'{}' does not exist", path);
  return std::make_unique<io::ObjectReader>(store_, *std::move(object), stop_);
}

std::vector<std::string> StoreFiles::names_in(const std::string& folder) {
  std::string prefix = name_of(folder);
  if (!prefix.empty()) prefix += '/';
  std::vector<std::string> names;
  const std::scoped_lock lock(mutex_);
  for (auto at = objects().lower_bound(prefix); at != objects().end() && at->first.starts_with(prefix); ++at) {
    std::string name = at->first.substr(prefix.size(), at->first.find('/', prefix.size()) - prefix.size());
    if (names.empty() || names.back() != name) names.push_back(std::move(name));
  }
  return names;
}

void StoreFiles::wait_for_memory(const std::stop_token& stop) {
  std::unique_lock lock(sent_mutex_);
  part_sent_.wait(lock, stop, [&] { return full_parts_ < memory_.sent_parts; });
}

std::unique_ptr<std::byte[]> StoreFiles::take_memory(std::uint64_t bytes) {
  const std::scoped_lock lock(sent_mutex_);
  if (bytes != memory_.part_bytes || spare_parts_.empty())
    return std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
  auto memory = std::move(spare_parts_.back());
  spare_parts_.pop_back();
  return memory;
}

void StoreFiles::give_memory(std::uint64_t bytes, std::unique_ptr<std::byte[]> memory) {
  const std::scoped_lock lock(sent_mutex_);
  if (bytes == memory_.part_bytes && spare_parts_.size() < memory_.sent_parts)
    spare_parts_.push_back(std::move(memory));
}

}  // namespace shardkit::dataset
