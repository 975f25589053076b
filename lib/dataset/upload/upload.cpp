#include "dataset/upload/upload.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "catalog/object_set.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "dataset/bucket/object_upload.hpp"
#include "formats/manifest.hpp"
#include "io/object_writer.hpp"
#include "net/url.hpp"
#include "sync/task_group.hpp"
#include "system/clock.hpp"

namespace shardkit::dataset {
namespace {

using File = staging::StageFile;

constexpr std::uint64_t kUploadMemory = 256ULL << 20U;
constexpr std::uint64_t kUsualPart = 32ULL << 20U;
constexpr std::uint64_t kMostWorkers = 32;
constexpr std::uint64_t kLargestManifest = 1ULL << 30U;
constexpr unsigned kMostUploads = 4;  // of one object, each begun because the store lost the last one

std::uint64_t blocks_of(std::uint64_t size, std::uint64_t block) { return (size + block - 1) / block; }

/// The part size of a file: as asked for, or the usual one, larger for a file that would have too many parts.
std::uint64_t part_bytes(const UploadOptions& options, std::uint64_t size) {
  return options.part_bytes.value_or(std::max(kUsualPart, least_part_bytes(size)));
}

/// A file that is written in parts. Blocks are read in order, so that one pass hashes it, and sent in any order.
struct PartedFile {
  const File& file;
  const std::uint64_t block_bytes;
  const std::unique_ptr<io::ObjectWriter> writer;
  const unsigned uploads;                                                      ///< of this object so far
  std::atomic<std::uint64_t> left = blocks_of(file.object.size, block_bytes);  ///< blocks that are not written yet
  std::mutex mutex = {};
  std::uint64_t read = 0;  ///< blocks
  Xxh3Stream hash = {};
};

/// Files for several workers. Blocks of a file that was begun come before the next file.
class UploadQueue {
 public:
  explicit UploadQueue(const std::vector<File>& files) : files_(files) {}

  /// What a worker does next: a block of `large`, or else `file`, which it reports with begun(). Neither at the end.
  struct Task {
    std::shared_ptr<PartedFile> large;
    const File* file = nullptr;
  };
  Task take(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [&] { return !large_.empty() || next_ < files_.size() || beginning_ == 0; });
    if (stop.stop_requested()) return {};
    if (!large_.empty()) return {large_.front()};
    if (next_ == files_.size()) return {};
    ++beginning_;
    return {nullptr, &files_[next_++]};
  }

  void add(std::shared_ptr<PartedFile> large) {
    const std::scoped_lock lock(mutex_);
    large_.push_back(std::move(large));
    changed_.notify_all();
  }
  /// All of its blocks were read.
  void remove(const std::shared_ptr<PartedFile>& large) {
    const std::scoped_lock lock(mutex_);
    std::erase(large_, large);
  }
  void begun() {
    const std::scoped_lock lock(mutex_);
    --beginning_;
    changed_.notify_all();
  }

 private:
  const std::vector<File>& files_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::shared_ptr<PartedFile>> large_;
  std::size_t next_ = 0;
  std::size_t beginning_ = 0;
};

class UploadJob {
 public:
  UploadJob(io::ObjectStore& store, io::ObjectSource& source, const staging::StageRequest& wanted,
            const UploadOptions& options, Context& context)
      : store_(store),
        source_(source),
        options_(options),
        context_(context),
        set_(source, wanted, context.stop_token()) {}

  UploadResult run() {
    const std::stop_token& stop = context_.stop_token();
    sort_files();
    check_files();
    look_at_target();
    const std::string record = to_text(record_);
    checks_ = io::find_checks(store_, formats::kUploadRecord, as_bytes(record), stop);
    context_.progress().start("upload", result_.files, result_.bytes, "files");
    send(files_);
    send(indexes_);
    for (const staging::ManifestSet& set : set_.sets()) check_complete(set);
    send(manifests_);
    forget(formats::kUploadRecord, stop);
    result_.bytes_sent = sent_;
    result_.bytes_reused = result_.bytes - std::min<std::uint64_t>(sent_, result_.bytes);
    result_.verified_by = fmt::format("{}", fmt::join(verified_by_, ", "));
    return result_;
  }

 private:
  /// A shard is written before its index, which is written before the manifest.
  void sort_files() {
    std::set<std::string> indexes;
    for (const staging::ManifestSet& set : set_.sets()) {
      for (const formats::ManifestFile& file : set.files) indexes.insert(set.folder + file.name);
      auto manifest = source_.find(set.name());
      if (!manifest) continue;
      manifests_.push_back({*std::move(manifest), set.hash, {}});
    }
    for (File& file : set_.files(source_, context_.stop_token())) {
      file.object = staging::find_at_source(source_, file);
      (file.indexed || indexes.contains(file.object.name) ? indexes_ : files_).push_back(std::move(file));
    }
    if (!set_.sets().empty()) record_.set = to_hex(set_.hash());
  }

  /// Calls `each` for every file.
  template <class Each>
  void for_each_file(const Each& each) const {
    for (const auto* files : {&files_, &indexes_, &manifests_}) std::ranges::for_each(*files, each);
  }

  void check_files() {
    for_each_file([&](const File& file) {
      const auto& [name, size, version, checksum] = file.object;
      const bool is_large = size > part_bytes(options_, size);
      require_key_fits(store_, is_large ? parts_record_name(name) : name);
      if (blocks_of(size, part_bytes(options_, size)) > kMostParts) {
        throw Error(ErrorCode::usage, At{name},
                    "--part-size {} is too small for '{}': it would need more than 10,000 "
                    "parts; use at least {}",
                    format_size(*options_.part_bytes), source_.address_of(name), format_size(least_part_bytes(size)));
      }
      ++result_.files;
      result_.bytes += size;
      largest_block_ = std::max(largest_block_, std::min(size, part_bytes(options_, size)));
    });
  }

  /// Throws Error{conflict} for what an upload would not replace, before the first byte is sent.
  void look_at_target() {
    context_.progress().start("look at the target");
    for (io::ObjectInfo& object : store_.list()) at_target_.emplace(object.name, std::move(object));
    if (const auto found = at_target_.find(formats::kUploadRecord); found != at_target_.end() && !record_.set.empty()) {
      const auto other = read_upload_record(record_text(store_, found->second, context_.stop_token()));
      if (other && !other->set.empty() && other->set != record_.set) {
        throw Error(ErrorCode::conflict, At{store_.location()},
                    "an upload of another set into '{}' has not finished: finish it, or use another prefix",
                    store_.location());
      }
    }
    for (const staging::ManifestSet& set : set_.sets()) {
      const auto found = at_target_.find(set.name());
      if (found == at_target_.end()) continue;
      if (io::fetch_text(store_, found->second, kLargestManifest, context_.stop_token()) == set.text) continue;
      const std::string address = store_.address_of(set.folder);
      throw Error(ErrorCode::conflict, At{address}, "'{}' contains another set; use another prefix", address);
    }
    for_each_file([&](const File& file) {
      const auto found = at_target_.find(file.object.name);
      if (found != at_target_.end() && found->second.size != file.object.size) refuse_other(file);
    });
  }

  [[noreturn]] void refuse_other(const File& file) const {
    const std::string address = store_.address_of(file.object.name);
    throw Error(ErrorCode::conflict, At{address}, "'{}' has other bytes than '{}'; use another prefix", address,
                source_.address_of(file.object.name));
  }

  void send(const std::vector<File>& files) {
    UploadQueue queue(files);
    sync::TaskGroup group(context_.stop_token());
    const std::uint64_t by_memory =
        std::max<std::uint64_t>(1, kUploadMemory / std::max<std::uint64_t>(1, largest_block_));
    const std::uint64_t workers = options_.concurrency.value_or(std::min(kMostWorkers, by_memory));
    for (std::uint64_t i = 0; i < workers; ++i) {
      group.spawn([&](const std::stop_token& stop) { work(queue, stop); });
    }
    group.wait();
    context_.throw_if_stopped();
  }

  void work(UploadQueue& queue, const std::stop_token& stop) {
    std::vector<std::byte> buffer(static_cast<std::size_t>(largest_block_));
    while (true) {
      const UploadQueue::Task task = queue.take(stop);
      if (task.large) {
        send_block(queue, task.large, buffer, stop);
      } else if (task.file != nullptr) {
        begin(queue, *task.file, buffer, stop);
        queue.begun();
      } else {
        return;
      }
    }
  }

  void begin(UploadQueue& queue, const File& file, MutableBytes buffer, const std::stop_token& stop) {
    if (at_target_.contains(file.object.name) && settle(file, buffer, stop)) {
      if (const auto earlier = earlier_record(file, stop)) {
        store_.abandon({file.object.name, earlier->upload_id}, stop);
        forget(parts_record_name(file.object.name), stop);
      }
      return;
    }
    if (file.object.size > part_bytes(options_, file.object.size)) {
      queue.add(open_large(file, earlier_record(file, stop), 1, stop));
    } else {
      send_small(file, buffer, stop);
    }
  }

  /// For an object that exists: true if it has the file's bytes. False if it no longer exists. Throws Error{conflict}
  /// for other bytes.
  bool settle(const File& file, MutableBytes buffer, const std::stop_token& stop) {
    const auto found = store_.find(file.object.name);
    if (!found) return false;
    if (!is_same(file, *found, buffer, stop)) refuse_other(file);
    note_done(file, 0);
    return true;
  }

  /// Whether the object has the file's bytes, by its checksum, or its ETag for parts of our size.
  bool is_same(const File& file, const io::ObjectInfo& found, MutableBytes buffer, const std::stop_token& stop) {
    if (found.size != file.object.size) return false;
    const ChecksumKind kind = found.checksum ? found.checksum->kind : ChecksumKind::md5;
    const bool is_in_parts = !found.checksum && found.version.find('-') != std::string::npos;
    ChecksumStream whole(kind);
    Xxh3Stream hash;
    std::vector<io::UploadPart> parts;
    for (std::uint64_t at = 0; at < found.size; at += part_bytes(options_, found.size)) {
      const Bytes block = read(file, at, buffer, stop);
      hash.update(block);
      whole.update(block);
      if (is_in_parts) parts.push_back({parts.size() + 1, block.size(), checksum_of(kind, block).digits});
    }
    check_hash(file, hash);
    note_verified(kind);
    if (is_in_parts) return found.version == io::version_of_parts(parts);
    const std::string digits = whole.finish();
    return found.checksum ? found.checksum->digits == digits : found.version == fmt::format("\"{}\"", digits);
  }

  /// The block of the file at `at`, in `buffer`. Throws Error{io} if the file has changed.
  Bytes read(const File& file, std::uint64_t at, MutableBytes buffer, const std::stop_token& stop) {
    const std::uint64_t size = file.object.size;
    const auto block = buffer.first(static_cast<std::size_t>(std::min(part_bytes(options_, size), size - at)));
    const auto write = [next = block.begin()](Bytes piece) mutable { next = std::ranges::copy(piece, next).out; };
    if (block.empty() || source_.fetch(file.object, at, block.size(), write, stop) == io::Fetched::whole) return block;
    const std::string path = source_.address_of(file.object.name);
    throw Error(ErrorCode::io, At{path}, "'{}' changed while it was uploaded; run the same command again", path);
  }

  void check_hash(const File& file, const Xxh3Stream& hash) const {
    if (!file.hash || *file.hash == hash.digest()) return;
    const std::string path = source_.address_of(file.object.name);
    throw Error(ErrorCode::corrupt, At{path}, "'{}' differs from its manifest; it is not uploaded; {}", path,
                staging::advice_for_source(path));
  }

  void send_small(const File& file, MutableBytes buffer, const std::stop_token& stop) {
    const Bytes bytes = read(file, 0, buffer, stop);
    Xxh3Stream hash;
    hash.update(bytes);
    check_hash(file, hash);
    const io::Written written = store_.put(file.object.name, bytes, io::proof_of(bytes, checks_), false, stop);
    if (written != io::Written::done && settle(file, buffer, stop)) return;
    if (written != io::Written::done) throw_lost(file);
    note_verified(checks_.object);
    note_done(file, bytes.size());
  }

  /// Of an upload of this object that did not finish.
  std::optional<PartsRecord> earlier_record(const File& file, const std::stop_token& stop) {
    const auto found = at_target_.find(parts_record_name(file.object.name));
    if (found == at_target_.end()) return std::nullopt;
    return read_parts_record(record_text(store_, found->second, stop));
  }

  std::shared_ptr<PartedFile> open_large(const File& file, const std::optional<PartsRecord>& earlier, unsigned uploads,
                                         const std::stop_token& stop) {
    const auto& [name, size, version, checksum] = file.object;
    const std::uint64_t block = part_bytes(options_, size);
    auto writer = open_upload(store_, name, checks_, {"", size, block, checks_.part}, earlier, stop);
    return std::shared_ptr<PartedFile>(new PartedFile{file, block, std::move(writer), uploads});
  }

  void send_block(UploadQueue& queue, const std::shared_ptr<PartedFile>& large, MutableBytes buffer,
                  const std::stop_token& stop) {
    Bytes block;
    std::uint64_t index = 0;
    {
      const std::scoped_lock lock(large->mutex);
      index = large->read;
      if (index * large->block_bytes >= large->file.object.size) return queue.remove(large);
      block = read(large->file, index * large->block_bytes, buffer, stop);
      large->hash.update(block);
      ++large->read;
    }
    const bool is_sent = large->writer->write(index, block, stop);
    if (is_sent) sent_ += block.size();
    context_.progress().bytes += block.size();
    if (--large->left == 0) finish(queue, large, buffer, stop);
  }

  void finish(UploadQueue& queue, const std::shared_ptr<PartedFile>& large, MutableBytes buffer,
              const std::stop_token& stop) {
    const File& file = large->file;
    queue.remove(large);
    try {
      check_hash(file, large->hash);
    } catch (const Error&) {
      large->writer->abandon(stop);
      forget(parts_record_name(file.object.name), stop);
      throw;
    }
    const io::Written written = large->writer->finish(stop);
    if (written == io::Written::done) {
      note_verified(checks_.part);
      ++context_.progress().items;
    } else if (!settle(file, buffer, stop)) {
      if (large->uploads == kMostUploads) throw_lost(file);
      return queue.add(open_large(file, std::nullopt, large->uploads + 1, stop));
    } else {
      large->writer->abandon(stop);
    }
    forget(parts_record_name(file.object.name), stop);
  }

  [[noreturn]] void throw_lost(const File& file) const {
    const std::string address = store_.address_of(file.object.name);
    throw Error(ErrorCode::network, At{address},
                "'{}': other writes of this object ran at the same time; run the same command again", address);
  }

  void forget(const std::string& name, const std::stop_token& stop) {
    if (remove_record(store_, name, stop)) return;
    context_.warn(
        "record_kept",
        "'{}' may not be deleted: the upload has finished, but its record stays; without a manifest, other verbs "
        "call it unfinished",
        store_.address_of(name));
  }

  void note_done(const File& file, std::uint64_t sent) {
    sent_ += sent;
    context_.progress().bytes += file.object.size;
    ++context_.progress().items;
  }

  void note_verified(ChecksumKind kind) {
    const std::scoped_lock lock(mutex_);
    verified_by_.insert(enum_name(kind));
  }

  /// A manifest makes a set of what is there.
  void check_complete(const staging::ManifestSet& set) {
    std::map<std::string, std::uint64_t> sizes;
    const std::string folder = set.folder.empty() ? "" : set.folder.substr(0, set.folder.size() - 1);
    for (const io::ObjectInfo& object : store_.list(folder)) sizes.emplace(object.name, object.size);
    for (const formats::ManifestShard& shard : set.shards) {
      const auto found = sizes.find(set.folder + shard.name);
      if (found != sizes.end() && found->second == shard.bytes) continue;
      const std::string address = store_.address_of(set.folder + shard.name);
      throw Error(ErrorCode::conflict, At{address},
                  "'{}' disappeared while the set was uploaded, so its manifest is not written; run the same command "
                  "again",
                  address);
    }
  }

  io::ObjectStore& store_;
  io::ObjectSource& source_;
  const UploadOptions& options_;
  Context& context_;
  staging::StageSet set_;
  std::vector<File> files_;
  std::vector<File> indexes_;
  std::vector<File> manifests_;
  UploadRecord record_;
  std::map<std::string, io::ObjectInfo> at_target_;  ///< when the upload began
  io::StoreChecks checks_;
  std::uint64_t largest_block_ = 0;
  std::atomic<std::uint64_t> sent_ = 0;
  std::mutex mutex_;
  std::set<std::string_view> verified_by_;
  UploadResult result_;
};

/// When the upload began or got its last part.
system::WallTime last_use(io::ObjectStore& store, const io::OpenUpload& upload, const std::stop_token& stop) {
  system::WallTime last = system::parse_iso8601(upload.started_at).value_or(system::WallTime());
  for (const io::UploadPart& part : store.parts(upload, stop))
    last = std::max(last, system::parse_iso8601(part.written_at).value_or(last));
  return last;
}

}  // namespace

UploadResult upload_to(io::ObjectStore& store, io::ObjectSource& source, const staging::StageRequest& wanted,
                       const UploadOptions& options, Context& context) {
  return UploadJob(store, source, wanted, options, context).run();
}

UploadResult clean_uploads(io::ObjectStore& store, const UploadOptions& options, const std::stop_token& stop) {
  UploadResult result;
  std::set<std::string> kept;
  const system::WallTime now = system::system_clock().now();
  for (const io::OpenUpload& upload : store.uploads(stop)) {
    if (now - last_use(store, upload, stop) < system::Seconds(options.older_than_seconds)) {
      kept.insert(parts_record_name(upload.name));
      ++result.uploads_kept;
      continue;
    }
    store.abandon(upload, stop);
    result.aborted.push_back(upload.name);
  }
  std::string folder = formats::kUploadsFolder;
  folder.pop_back();
  for (const io::ObjectInfo& record : store.list(folder)) {
    if (record.name != formats::kUploadRecord && !kept.contains(record.name)) store.remove(record.name, stop);
  }
  return result;
}

UploadResult upload(const UploadOptions& options, Context& context) {
  check(options);
  std::atomic<std::uint64_t> retries = 0;
  net::StoreOptions stores = options.access.store_options(context);
  stores.s3.of_new_objects = headers_of(options);
  stores.retry.on_retry = [&retries, report = stores.retry.on_retry](const net::RetryEvent& event) {
    ++retries;
    report(event);
  };
  const auto store = net::StoreOpener(stores).open_to_write(options.target, context.stop_token());
  if (options.clean) return clean_uploads(*store, options, context.stop_token());
  const catalog::ObjectSet set = catalog::open_objects(options.sources, stores, context.stop_token());
  staging::StageRequest wanted;
  if (set.listed) wanted.names = set.names;
  wanted.manifest_name = set.manifest;
  wanted.manifest_problem = set.manifest_problem;
  UploadResult result = upload_to(*store, *set.source, wanted, options, context);
  result.retries = retries;
  return result;
}

}  // namespace shardkit::dataset
