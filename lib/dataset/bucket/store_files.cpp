#include "dataset/bucket/store_files.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>

#include "core/command_text.hpp"
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

/// Whether a file describes shards. Others are state of a plan, or indexes for other readers, which follow these.
bool is_index(const std::string& name) { return name.ends_with(".index") || name.ends_with(formats::kManifestName); }

struct BodyPart {
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
  ObjectUpload* upload() { return upload_.get(); }
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
      BodyPart& part = parts_[index];
      if (!part.bytes) part.bytes = files_.take_memory(part_bytes_);
      memory = part.bytes.get();
    }
    std::memcpy(memory + at, piece.data(), piece.size());
    std::map<std::uint64_t, BodyPart>::node_type full;
    {
      const std::scoped_lock lock(mutex_);
      BodyPart& part = parts_[index];
      part.filled += piece.size();
      if (part.filled == part_bytes_) full = parts_.extract(index);
    }
    if (full) send(std::move(full));
  }

  void send(std::map<std::uint64_t, BodyPart>::node_type part) {
    const FullPart sending(files_);
    open_upload().write(part.key(), {part.mapped().bytes.get(), part.mapped().filled}, files_.stop_);
    files_.give_memory(part_bytes_, std::move(part.mapped().bytes));
  }

  ObjectUpload& open_upload() {
    const std::scoped_lock lock(upload_mutex_);
    if (!upload_) upload_ = files_.uploads().open(name_, reserved_, part_bytes_);
    return *upload_;
  }

  StoreFiles& files_;
  const std::string name_;
  std::uint64_t part_bytes_ = 0;  ///< 0: it is not large
  std::uint64_t reserved_ = 0;
  std::uint64_t size_ = 0;  ///< after resize()
  std::mutex mutex_;        ///< guards the next two
  std::unique_ptr<io::PatchFile> spool_;
  std::map<std::uint64_t, BodyPart> parts_;  ///< by index; not full
  std::mutex upload_mutex_;
  std::unique_ptr<ObjectUpload> upload_;
};

StoreFiles::StoreFiles(std::shared_ptr<io::ObjectStore> store, Context& context, StoreMemory memory)
    : store_(std::move(store)), context_(context), stop_(context.stop_token()), memory_(memory) {}

StoreFiles::~StoreFiles() = default;

std::string StoreFiles::name_of(std::string_view path) const {
  path.remove_prefix(std::min(path.size(), location().size()));
  while (path.starts_with('/')) path.remove_prefix(1);
  while (path.ends_with('/')) path.remove_suffix(1);
  return std::string(path);
}

io::Unpublished StoreFiles::create_for(const std::string& path) {
  const std::string name = name_of(path);
  require_key_fits(*store_, parts_record_name(name, ""));
  const std::scoped_lock lock(mutex_);
  std::string temp = fmt::format("{}.{}", path, ++created_);
  auto file = std::make_unique<StoreFile>(*this, name);
  unpublished_.emplace(temp, file.get());
  return {std::move(temp), std::move(file)};
}

void StoreFiles::create_directories(const std::string& /*path*/) { uploads(); }

Uploads& StoreFiles::uploads() {
  const std::scoped_lock lock(uploads_mutex_);
  if (uploads_) return *uploads_;
  StoreListing listed;
  {
    const std::scoped_lock listing(mutex_);
    if (objects_) listed = *objects_;
  }
  if (listed.empty()) listed = list_records(*store_);  // a plan may lie at the top of a large bucket
  uploads_ = std::make_unique<Uploads>(*store_, probe_store(*store_, listed, context_), listed, context_);
  for (const auto& [name, object] : listed) {
    const std::string written = object_of_record(name);  // a process that was killed then has left its record
    if (!written.empty() && listed.contains(written)) uploads_->give_up_earlier(written);
  }
  return *uploads_;
}

void StoreFiles::claim(const std::string& folder, const std::string& writes, bool may_replace) {
  const io::StoreChecks checks = uploads().checks();
  std::string prefix = name_of(folder);
  if (!prefix.empty()) prefix += '/';
  {
    const std::scoped_lock lock(mutex_);
    may_replace_indexes_ = may_replace;
  }
  const std::scoped_lock lock(uploads_mutex_);
  if (claims_.contains(prefix)) return;
  auto claim = std::make_unique<PrefixClaim>(*store_, checks, prefix, writes, stop_);
  // Not before: an upload writes its record while it has the claim.
  if (store_->find(prefix + formats::kUploadRecord)) {
    throw Error(ErrorCode::conflict, At{folder},
                "an upload into '{}' has not finished: finish it, give it up with `shardctl upload --clean {}`, or use "
                "another prefix",
                folder, shell_word(folder));
  }
  claims_.emplace(prefix, std::move(claim));
  refresh();  // another command may have ended since
}

void StoreFiles::require_claims() {
  const std::scoped_lock lock(uploads_mutex_);
  for (const auto& [folder, claim] : claims_) claim->require();
}

void StoreFiles::refresh() {
  const std::scoped_lock lock(mutex_);
  objects_.reset();
}

std::map<std::string, io::ObjectInfo>& StoreFiles::objects() {
  if (!objects_) {
    objects_.emplace();
    for (io::ObjectInfo& object : store_->list()) objects_->emplace(object.name, std::move(object));
  }
  return *objects_;
}

std::optional<io::ObjectInfo> StoreFiles::find(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  const auto found = objects().find(name);
  return found == objects().end() ? std::nullopt : std::optional(found->second);
}

void StoreFiles::rename(const std::string& from, const std::string& to) {
  StoreFile& file = *unpublished(from);
  const std::string name = name_of(to);
  const bool may_replace =
      yields(name, file.is_large()) || (!name.ends_with(".tar") && (may_replace_indexes_ || !is_index(name)));
  if (publish(file, name, !file.is_large() && may_replace)) {
    forget(from);
    return;
  }
  uploads().refuse();
  throw Error(ErrorCode::conflict, At{to},
              "'{}' has other bytes than this command writes; move it away, or choose another prefix", to);
}

bool StoreFiles::rename_new(const std::string& from, const std::string& to) {
  const bool is_done = publish(*unpublished(from), name_of(to), false);
  if (is_done) forget(from);
  return is_done;
}

void StoreFiles::give_up(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  given_up_.insert(name_of(path));
}

/// Whether an object was given up. One in the way of a file in parts, which replaces none, is removed, unless another
/// command has replaced it since it was listed.
bool StoreFiles::yields(const std::string& name, bool is_large) {
  {
    const std::scoped_lock lock(mutex_);
    if (given_up_.erase(name) == 0) return false;
  }
  const auto listed = find(name);
  const auto now = is_large && listed ? store_->find(name) : std::nullopt;
  if (now && now->version == listed->version) store_->remove(name, stop_);
  return true;
}

/// False if there is an object of that name with other bytes.
bool StoreFiles::publish(StoreFile& file, const std::string& name, bool may_replace) {
  const bool is_there = file.upload() != nullptr ? finish(*file.upload(), name) : put(file, name, may_replace);
  std::optional<io::ObjectInfo> object = io::ObjectInfo{name, file.size(), ""};
  if (!is_there) object = store_->find(name);
  const std::scoped_lock lock(mutex_);
  if (!objects_) return is_there;  // a later listing shows it
  objects_->erase(name);
  if (object) objects_->emplace(name, *std::move(object));
  return is_there;
}

bool StoreFiles::put(StoreFile& file, const std::string& name, bool may_replace) {
  const io::StoreChecks& checks = uploads().checks();
  return file.with_bytes([&](Bytes bytes) {
    if (!may_replace) return io::put_new(*store_, name, bytes, checks, stop_);
    return store_->put(name, bytes, io::proof_of(bytes, checks), true, stop_) == io::Written::done;
  });
}

/// As publish(), for a file in parts.
bool StoreFiles::finish(ObjectUpload& upload, const std::string& name) {
  const io::Written written = upload.finish(stop_);
  if (written != io::Written::lost) return written == io::Written::done;
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
