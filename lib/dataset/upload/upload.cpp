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
#include "catalog/set_listing.hpp"
#include "catalog/set_rules.hpp"
#include "core/command_text.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "dataset/bucket/object_upload.hpp"
#include "dataset/bucket/prefix_claim.hpp"
#include "formats/index_kinds.hpp"
#include "formats/manifest.hpp"
#include "formats/plan_file.hpp"
#include "io/run_file.hpp"
#include "staging/stage_target.hpp"
#include "sync/task_group.hpp"
#include "system/clock.hpp"

namespace shardkit::dataset {
namespace {

constexpr std::string_view kByReading = "bytes";  // in verified_by

using File = staging::StageFile;

constexpr std::uint64_t kUploadMemory = 192ULL << 20U;  // of parts: with all else at most 256 MiB
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
  const std::unique_ptr<ObjectUpload> upload;
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
      : store_(store), source_(source), options_(options), context_(context), set_(source, wanted, context) {}

  UploadResult run() {
    set_.require_shards(source_, context_);
    sort_files();
    check_files();
    look_at_target();
    const io::StoreChecks checks = probe_store(store_, at_target_, context_);
    claim_folders(checks);
    look_at_target();  // again: another command may have written there before this one claimed the folders
    uploads_.emplace(store_, checks, at_target_, context_);
    try {
      write_marks();
      send_all();
    } catch (const Error&) {
      if (!has_written_) clean_up([this](const std::stop_token& stop) { forget_marks(stop); });
      throw;
    }
    result_.bytes_sent = sent_;
    result_.has_sent_files = has_written_;
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
      if (file.indexed && !is_right_index(file)) continue;
      (file.indexed || indexes.contains(file.object.name) ? indexes_ : files_).push_back(std::move(file));
    }
  }

  /// Else it is left out: readers read the tar instead.
  bool is_right_index(const File& file) {
    const std::string path = source_.address_of(file.object.name);
    io::ObjectReader index(std::shared_ptr<io::ObjectSource>(std::shared_ptr<void>(), &source_), file.object,
                           context_.stop_token());
    const auto fault = staging::index_fault(*file.indexed, index, path);
    if (fault) context_.warn("index_ignored", "the set is uploaded without the index '{}': {}", path, *fault);
    return !fault;
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
      require_key_fits(store_, is_large ? parts_record_name(name, "") : name);
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
    std::vector<io::ObjectInfo> objects = store_.list();
    std::ranges::sort(objects, {}, &io::ObjectInfo::name);
    const std::vector<std::string> folders = this->folders();
    for (const std::string& folder : folders)
      take_state(folder, catalog::look_at(store_, objects, folder, context_.stop_token()));
    at_target_.clear();
    for (io::ObjectInfo& object : objects) at_target_.emplace(object.name, std::move(object));
    outdated_.clear();
    for (const staging::ManifestSet& set : set_.sets()) compare_manifests(set);
    for_each_file([&](const File& file) {
      const auto found = at_target_.find(file.object.name);
      if (found != at_target_.end() && found->second.size != file.object.size && !cut_.contains(file.object.name) &&
          !outdated_.contains(file.object.name))
        refuse_other(file);
    });
  }

  /// The target may have the set as it was before an --append: its manifest is replaced, and the indexes that it lists
  /// for the whole set. Throws Error{conflict} for any other set.
  void compare_manifests(const staging::ManifestSet& set) {
    const auto found = at_target_.find(set.name());
    if (found == at_target_.end()) return;
    const std::string text = io::fetch_text(store_, found->second, kLargestManifest, context_.stop_token());
    if (text == set.text) return;
    const std::string address = store_.address_of(set.folder);
    formats::Manifest there;
    if (!formats::is_foreign_manifest(text)) there = formats::read_manifest(text, store_.address_of(set.name()));
    const formats::Manifest here = formats::read_manifest(set.text, source_.address_of(set.name()));
    const bool is_converted = at_target_.contains(set.folder + formats::plan_path(0));  // there, so its plan would stay
    if (is_converted || there.shards.empty() || !formats::extends(here, there)) {
      throw Error(ErrorCode::conflict, At{address},
                  "'{}' contains another set, which this one does not extend; use another prefix", address);
    }
    outdated_.emplace(set.name(), found->second.size);
    for (const formats::ManifestFile& file : there.files) {
      if (formats::is_set_file(file.name)) outdated_.emplace(set.folder + file.name, file.bytes);
    }
  }

  /// The folders of the sets, or that of all files.
  std::vector<std::string> folders() const {
    std::vector<std::string> folders;
    for (const staging::ManifestSet& set : set_.sets()) folders.push_back(set.folder);
    if (folders.empty()) folders.emplace_back();
    return folders;
  }

  /// Throws for a state of a folder of the target into which nothing is uploaded.
  void take_state(const std::string& folder, const catalog::SeenSet& seen) {
    enforce(catalog::SetVerb::upload_into, seen, context_);
    if (const auto* lost = seen.as<catalog::Incomplete>()) {
      for (const std::string& shard : lost->resized) cut_.insert(folder + shard);
    }
    if (!seen.as<catalog::Uploading>() || set_.sets().empty()) return;
    const auto record = store_.find(folder + formats::kUploadRecord);
    const auto other = record ? read_upload_record(record_text(store_, *record, context_.stop_token())) : std::nullopt;
    if (!other || other->set.empty() || other->set == to_hex(set_.hash())) return;
    throw Error(ErrorCode::conflict, At{seen.folder},
                "{}, and it is of another set: finish it, give it up with `shardctl upload --clean {}`, or use another "
                "prefix",
                catalog::state_text(seen), shell_word(store_.location()));
  }

  /// From here on, other commands know of this one.
  void claim_folders(const io::StoreChecks& checks) {
    for (const std::string& folder : folders()) {
      claims_.push_back(std::make_unique<PrefixClaim>(store_, checks, folder, "upload " + to_hex(set_.hash()),
                                                      context_.stop_token()));
    }
  }

  /// From here on, readers know that the upload has not finished.
  void write_marks() {
    const std::string mark = to_text(UploadRecord{set_.sets().empty() ? "" : to_hex(set_.hash())});
    for (const std::string& folder : folders()) {
      const std::string name = folder + formats::kUploadRecord;
      (at_target_.contains(name) ? earlier_marks_ : marks_).push_back(name);
      store_.put(name, as_bytes(mark), io::proof_of(as_bytes(mark), uploads_->checks()), true, context_.stop_token());
    }
  }

  void forget_marks(const std::stop_token& stop) {
    for (const std::string& name : marks_) remove_record(store_, name, stop);
  }

  void send_all() {
    context_.progress().start("upload", result_.files, result_.bytes, "files");
    send(files_);
    send(indexes_);
    check_complete();
    if (!at_target_.empty() || uploads_->has_open()) give_up_late();
    for (const auto& claim : claims_) claim->check();
    send(manifests_);
    for (const auto* marks : {&marks_, &earlier_marks_})
      for (const std::string& name : *marks) forget(name);
  }

  /// Of an upload that an earlier command began.
  void give_up_late() {
    std::set<std::string> sent;
    for (const auto* files : {&files_, &indexes_})
      for (const File& file : *files) sent.insert(file.object.name);
    uploads_->give_up_late([&](const std::string& name) { return sent.contains(name); });
  }

  [[noreturn]] void refuse_other(const File& file) {
    if (uploads_) uploads_->refuse();
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
      uploads_->give_up_earlier(file.object.name);
    } else if (file.object.size > part_bytes(options_, file.object.size)) {
      queue.add(open_large(file, 1));
    } else {
      send_small(file, buffer, stop);
    }
  }

  /// For an object that exists: true if it has the file's bytes, or has them now instead of outdated ones. False if it
  /// no longer exists, also because it was a cut shard of this set. Throws Error{conflict} for other bytes.
  bool settle(const File& file, MutableBytes buffer, const std::stop_token& stop) {
    const auto found = store_.find(file.object.name);
    if (!found) return false;
    if (found->size != file.object.size && cut_.contains(file.object.name)) {
      store_.remove(file.object.name, stop);
      return false;
    }
    if (!is_same(file, *found, buffer, stop)) {
      const auto outdated = outdated_.find(file.object.name);
      if (outdated == outdated_.end() || outdated->second != found->size) refuse_other(file);
      replace(file, stop);
    }
    note_done(file, 0);
    return true;
  }

  /// In one request: readers see the old object or the new one.
  void replace(const File& file, const std::stop_token& stop) {
    std::vector<std::byte> bytes;
    bytes.reserve(file.object.size);
    const auto add = [&](Bytes piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); };
    if (source_.fetch(file.object, 0, file.object.size, add, stop) != io::Fetched::whole) throw_changed(file);
    Xxh3Stream hash;
    hash.update(bytes);
    check_hash(file, hash);
    const io::StoreChecks& checks = uploads_->checks();
    if (store_.put(file.object.name, bytes, io::proof_of(bytes, checks), true, stop) != io::Written::done)
      throw_lost(file);
    has_written_ = true;
    sent_ += bytes.size();
    note_verified(enum_name(checks.object));
  }

  /// Whether the object has the file's bytes, by its checksum, or its ETag for parts of our size. If neither proves
  /// anything, the object is read.
  bool is_same(const File& file, const io::ObjectInfo& found, MutableBytes buffer, const std::stop_token& stop) {
    if (found.size != file.object.size) return false;
    const bool is_read = !found.checksum && !uploads_->checks().versions_are_md5;
    const ChecksumKind kind = found.checksum ? found.checksum->kind
                              : is_read      ? ChecksumKind::xxhash128
                                             : ChecksumKind::md5;
    const bool is_in_parts = !found.checksum && found.version.find('-') != std::string::npos;
    ChecksumStream whole(kind);
    Xxh3Stream hash;
    std::vector<io::UploadPart> parts;
    for (std::uint64_t at = 0; at < found.size; at += part_bytes(options_, found.size)) {
      const Bytes block = read(file, at, buffer, stop);
      hash.update(block);
      whole.update(block);
      if (is_in_parts) parts.push_back({parts.size() + 1, block.size(), checksum_of(ChecksumKind::md5, block).digits});
    }
    check_hash(file, hash);
    const bool are_parts_ours = is_in_parts && found.version == io::version_of_parts(parts);
    if (is_read || (is_in_parts && !are_parts_ours)) {  // perhaps parts of another size
      note_verified(kByReading);
      return hash_at_target(found, stop) == hash.digest();
    }
    note_verified(enum_name(kind));
    if (are_parts_ours) return true;
    const std::string digits = whole.finish();
    return found.checksum ? found.checksum->digits == digits : found.version == io::md5_version(digits);
  }

  std::optional<Hash128> hash_at_target(const io::ObjectInfo& found, const std::stop_token& stop) {
    Xxh3Stream hash;
    const auto add = [&](Bytes piece) { hash.update(piece); };
    const bool is_whole = found.size == 0 || store_.fetch(found, 0, found.size, add, stop) == io::Fetched::whole;
    return is_whole ? std::optional(hash.digest()) : std::nullopt;
  }

  /// The block of the file at `at`, in `buffer`. Throws Error{io} if the file has changed.
  Bytes read(const File& file, std::uint64_t at, MutableBytes buffer, const std::stop_token& stop) {
    const std::uint64_t size = file.object.size;
    const auto block = buffer.first(static_cast<std::size_t>(std::min(part_bytes(options_, size), size - at)));
    const auto write = [next = block.begin()](Bytes piece) mutable { next = std::ranges::copy(piece, next).out; };
    if (block.empty() || source_.fetch(file.object, at, block.size(), write, stop) == io::Fetched::whole) return block;
    throw_changed(file);
  }

  [[noreturn]] void throw_changed(const File& file) const {
    const std::string path = source_.address_of(file.object.name);
    throw Error(ErrorCode::io, At{path}, "'{}' changed while it was uploaded; run the same command again", path);
  }

  void check_hash(const File& file, const Xxh3Stream& hash) {
    if (!file.hash || *file.hash == hash.digest()) return;
    uploads_->refuse();
    const std::string path = source_.address_of(file.object.name);
    throw Error(ErrorCode::corrupt, At{path}, "'{}' differs from its manifest; it is not uploaded; {}", path,
                staging::advice_for_source(path));
  }

  void send_small(const File& file, MutableBytes buffer, const std::stop_token& stop) {
    const Bytes bytes = read(file, 0, buffer, stop);
    Xxh3Stream hash;
    hash.update(bytes);
    check_hash(file, hash);
    const io::StoreChecks& checks = uploads_->checks();
    const io::Written written = put_new(file.object.name, bytes, io::proof_of(bytes, checks), stop);
    if (written != io::Written::done && settle(file, buffer, stop)) return;
    if (written != io::Written::done) throw_lost(file);
    has_written_ = true;
    note_verified(enum_name(checks.object));
    note_done(file, bytes.size());
  }

  /// One without an answer, because another file failed meanwhile, may have written the object.
  io::Written put_new(const std::string& name, Bytes bytes, const io::ObjectProof& proof, const std::stop_token& stop) {
    try {
      return store_.put(name, bytes, proof, false, stop);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled || error.code() == ErrorCode::network) has_written_ = true;
      throw;
    }
  }

  std::shared_ptr<PartedFile> open_large(const File& file, unsigned uploads) {
    const std::uint64_t block = part_bytes(options_, file.object.size);
    auto upload = uploads_->open(file.object.name, file.object.size, block);
    has_written_ = true;
    return std::shared_ptr<PartedFile>(new PartedFile{file, block, std::move(upload), uploads});
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
    const bool is_sent = large->upload->write(index, block, stop);
    if (is_sent) sent_ += block.size();
    context_.progress().bytes += block.size();
    if (--large->left == 0) finish(queue, large, buffer, stop);
  }

  void finish(UploadQueue& queue, const std::shared_ptr<PartedFile>& large, MutableBytes buffer,
              const std::stop_token& stop) {
    const File& file = large->file;
    queue.remove(large);
    check_hash(file, large->hash);
    const io::Written written = large->upload->finish(stop);
    if (written == io::Written::done) {
      note_verified(enum_name(uploads_->checks().part));
      ++context_.progress().items;
    } else if (!settle(file, buffer, stop)) {
      if (large->uploads == kMostUploads) throw_lost(file);
      queue.add(open_large(file, large->uploads + 1));
    }
  }

  [[noreturn]] void throw_lost(const File& file) const {
    const std::string address = store_.address_of(file.object.name);
    throw Error(ErrorCode::network, At{address},
                "'{}': other writes of this object ran at the same time; run the same command again", address);
  }

  void forget(const std::string& name) {
    if (remove_record(store_, name, context_.stop_token())) return;
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

  void note_verified(std::string_view how) {
    const std::scoped_lock lock(mutex_);
    verified_by_.insert(how);
  }

  /// A manifest makes a set of what is there.
  void check_complete() {
    std::map<std::string, std::uint64_t> sizes;
    for (const io::ObjectInfo& object : store_.list()) sizes.emplace(object.name, object.size);
    for (const auto* files : {&files_, &indexes_}) {
      for (const File& file : *files) {
        const auto found = sizes.find(file.object.name);
        if (found != sizes.end() && found->second == file.object.size) continue;
        const std::string address = store_.address_of(file.object.name);
        throw Error(ErrorCode::conflict, At{address},
                    "'{}' was changed or removed while it was uploaded; run the same command again", address);
      }
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
  StoreListing at_target_;     ///< when the upload began
  std::set<std::string> cut_;  ///< shards there that are not as long as the manifest there says
  /// Manifests there of the same sets when they had fewer shards, and the indexes that these list for whole sets: sizes
  /// by name.
  std::map<std::string, std::uint64_t> outdated_;
  std::optional<Uploads> uploads_;
  std::vector<std::unique_ptr<PrefixClaim>> claims_;
  std::vector<std::string> marks_;          ///< upload records that this command wrote
  std::vector<std::string> earlier_marks_;  ///< those of an earlier one
  std::atomic<bool> has_written_ = false;   ///< something that a later command can continue
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

/// By the names of the records of ours.
std::map<std::string, PartsRecord> parts_records(io::ObjectStore& store, const StoreListing& objects,
                                                 const std::stop_token& stop) {
  std::map<std::string, PartsRecord> records;
  for (const auto& [name, object] : objects) {
    if (object_of_record(name).empty()) continue;
    if (const auto record = read_parts_record(record_text(store, object, stop))) records.emplace(name, *record);
  }
  return records;
}

/// What --clean leaves.
struct Kept {
  std::optional<WriterRecord> writer;  ///< that may be alive
  std::uint64_t records = 0;           ///< if it is
  std::uint64_t uploads = 0;           ///< of the writer
  std::uint64_t recent = 0;            ///< uploads without a record
};

void warn_of_kept(io::ObjectStore& store, const Kept& kept, const UploadOptions& options, Context& context) {
  if (kept.writer) {
    context.warn(
        "writer_alive",
        "{} and {} in '{}' stay, because this command gave a sign of life in the last 2 minutes: {}. If it was "
        "killed, run the same command again 2 minutes after that",
        format_count(kept.uploads, "upload"), format_count(kept.records, "record"), store.location(),
        io::describe({kept.writer->host, kept.writer->process, kept.writer->started_at, kept.writer->writes}));
  }
  if (kept.recent > 0) {
    context.warn("uploads_recent",
                 "{} without a record of shardctl in '{}' stay{}, because they got a part in the last {}: they may be "
                 "those of another program. --older-than gives up younger ones",
                 format_count(kept.recent, "upload"), store.location(), kept.recent == 1 ? "s" : "",
                 format_duration(options.older_than_seconds));
  }
}

}  // namespace

UploadResult upload_to(io::ObjectStore& store, io::ObjectSource& source, const staging::StageRequest& wanted,
                       const UploadOptions& options, Context& context) {
  return UploadJob(store, source, wanted, options, context).run();
}

UploadResult clean_uploads(io::ObjectStore& store, const UploadOptions& options, Context& context) {
  const std::stop_token& stop = context.stop_token();
  UploadResult result;
  const StoreListing objects = list_records(store);
  const std::optional<WriterRecord> writer = live_writer(store, "", stop);
  std::map<std::string, PartsRecord> records = parts_records(store, objects, stop);
  const system::WallTime now = system::system_clock().now();
  std::uint64_t recent = 0;
  for (const io::OpenUpload& upload : store.uploads("", stop)) {
    const auto record = std::ranges::find(records, upload.id, [](const auto& known) { return known.second.upload_id; });
    const bool is_ours = record != records.end() || upload.name == kProbe;
    const bool is_recent =
        !is_ours && now - last_use(store, upload, stop) < system::Seconds(options.older_than_seconds);
    if (is_recent || (is_ours && writer)) {
      if (record != records.end()) records.erase(record);
      ++result.uploads_kept;
      recent += is_recent ? 1 : 0;
      continue;
    }
    store.abandon(upload, stop);
    result.aborted.push_back(upload.name);
  }
  for (const auto& [name, record] : records) store.remove(name, stop);
  for (const char* name : {kProbe, kWriterRecord, formats::kUploadRecord}) {
    if (!writer && objects.contains(name)) store.remove(name, stop);
  }
  warn_of_kept(store, {writer, objects.size() - records.size(), result.uploads_kept - recent, recent}, options,
               context);
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
  if (options.clean) return clean_uploads(*store, options, context);
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
