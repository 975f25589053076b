#include "dataset/bucket/object_upload.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <thread>
#include <utility>

#include "core/error.hpp"
#include "formats/manifest.hpp"

namespace shardkit::dataset {
namespace {

constexpr std::string_view kProbeText = "shardkit";

}  // namespace

void clean_up(const std::function<void(const std::stop_token& stop)>& work) {
  constexpr std::chrono::seconds kPatience{2};
  std::stop_source late;
  const std::jthread timer([&](const std::stop_token& done) {
    std::mutex mutex;
    std::condition_variable_any ended;
    std::unique_lock lock(mutex);
    if (!ended.wait_for(lock, done, kPatience, [&] { return done.stop_requested(); })) late.request_stop();
  });
  try {
    work(late.get_token());
  } catch (const Error&) {  // the error that made this necessary counts
  }
}

io::StoreChecks probe_store(io::ObjectStore& store, const StoreListing& objects, Context& context) {
  const std::stop_token& stop = context.stop_token();
  require_key_fits(store, kProbe);
  const auto abandon_probes = [&store](const std::stop_token& until) {
    for (const io::OpenUpload& upload : store.uploads(kProbe, until)) store.abandon(upload, until);
  };
  if (objects.contains(kProbe)) abandon_probes(stop);  // of a command that was killed
  io::StoreChecks checks;
  try {
    checks = io::find_checks(store, kProbe, as_bytes(kProbeText), stop);
    checks.keeps_objects = store.keeps_objects(kProbe, as_bytes(kProbeText), stop);
  } catch (const Error&) {
    clean_up([&](const std::stop_token& until) {
      abandon_probes(until);
      remove_record(store, kProbe, until);
    });
    throw;
  }
  remove_record(store, kProbe, {});
  if (!checks.keeps_objects) {
    context.warn(
        "store_without_conditions",
        "this store replaces an object even if the request forbids it, so nothing keeps two commands that write "
        "different data to '{}' at the same moment apart: run one at a time",
        store.location());
  }
  return checks;
}

Uploads::Uploads(io::ObjectStore& store, const io::StoreChecks& checks, const StoreListing& objects, Context& context)
    : store_(store), checks_(checks), context_(context) {
  const std::string_view folder = formats::kUploadsFolder;
  for (auto at = objects.lower_bound(formats::kUploadsFolder); at != objects.end() && at->first.starts_with(folder);
       ++at) {
    const std::string object = object_of_record(at->first);
    if (!object.empty()) records_.emplace(object, at->second);
  }
  list_open();
}

/// Also those of a command that could not write a record any more.
void Uploads::list_open() {
  open_.clear();
  try {
    for (io::OpenUpload& upload : store_.uploads("", context_.stop_token()))
      open_.emplace(std::move(upload.name), std::move(upload.id));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::denied && error.code() != ErrorCode::unsupported) throw;
  }
}

std::unique_ptr<ObjectUpload> Uploads::open(const std::string& name, std::uint64_t bytes, std::uint64_t part_bytes) {
  return std::make_unique<ObjectUpload>(*this, name, PartsRecord{"", bytes, part_bytes, checks_.part});
}

std::vector<Uploads::Earlier> Uploads::earlier(const std::string& name) const {
  std::vector<Earlier> found;
  const auto add = [&](const io::ObjectInfo& object) {
    const auto record = read_parts_record(record_text(store_, object, context_.stop_token()));
    if (record) found.push_back({object.name, *record});
    return record.has_value();
  };
  const auto [first, last] = records_.equal_range(name);
  for (auto at = first; at != last; ++at) add(at->second);
  const auto [first_id, last_id] = open_.equal_range(name);
  for (auto at = first_id; at != last_id; ++at) {
    const auto is_this = [&](const Earlier& other) { return other.record.upload_id == at->second; };
    if (std::ranges::any_of(found, is_this)) continue;
    // A command that runs beside this one has perhaps written it since the listing.
    const auto record = store_.find(parts_record_name(name, at->second));
    if (!record || !add(*record)) found.push_back({"", {at->second}});
  }
  return found;
}

void Uploads::give_up_earlier(const std::string& name) {
  for (const Earlier& upload : earlier(name)) give_up(name, upload);
}

void Uploads::give_up_late(const std::function<bool(const std::string& name)>& is_complete) {
  const auto before = open_;
  list_open();
  const auto is_known = [&](const std::string& id) {
    return std::ranges::any_of(before, [&](const auto& upload) { return upload.second == id; });
  };
  for (const auto& [name, id] : open_) {
    const bool is_left = name == kProbe ? is_known(id)  // a live command asks for less than a second
                                        : is_complete(name) && !store_.find(parts_record_name(name, id));
    if (is_left) give_up(name, {"", {id}});
  }
}

void Uploads::give_up(const std::string& name, const Earlier& earlier) {
  store_.abandon({name, earlier.record.upload_id}, context_.stop_token());
  if (!earlier.record_name.empty()) forget(earlier.record_name, context_.stop_token());
}

void Uploads::forget(const std::string& record_name, const std::stop_token& stop) {
  if (remove_record(store_, record_name, stop) || has_warned_.exchange(true)) return;
  context_.warn("record_kept", "'{}' may not be deleted: the upload has finished, but its record stays",
                store_.address_of(record_name));
}

ObjectUpload::ObjectUpload(Uploads& uploads, std::string name, PartsRecord wanted)
    : uploads_(uploads), store_(uploads.store_), checks_(uploads.checks_), upload_{std::move(name), ""} {
  for (const Uploads::Earlier& earlier : uploads_.earlier(upload_.name)) {
    if (upload_.id.empty() && earlier.record.fits(wanted) && resume(earlier)) continue;
    uploads_.give_up(upload_.name, earlier);
  }
  if (upload_.id.empty()) begin(std::move(wanted));
}

ObjectUpload::~ObjectUpload() {
  if (is_open_ && uploads_.is_refused_) clean_up([this](const std::stop_token& stop) { give_up(stop); });
}

/// False if the store has no parts of it: then it may have forgotten the upload.
bool ObjectUpload::resume(const Uploads::Earlier& earlier) {
  for (io::UploadPart& part : store_.parts({upload_.name, earlier.record.upload_id}, uploads_.context_.stop_token()))
    known_.emplace(part.number, std::move(part));
  if (known_.empty()) return false;
  upload_.id = earlier.record.upload_id;
  record_name_ = earlier.record_name;
  return true;
}

/// Also after a stop: nothing else knows the id.
void ObjectUpload::begin(PartsRecord record) {
  upload_.id = store_.begin(upload_.name, checks_.part, {});
  record_name_ = parts_record_name(upload_.name, upload_.id);
  record.upload_id = upload_.id;
  const std::string text = to_text(record);
  try {
    store_.put(record_name_, as_bytes(text), io::proof_of(as_bytes(text), checks_), true, {});
  } catch (const Error&) {
    clean_up([this](const std::stop_token& stop) { give_up(stop); });
    throw;
  }
}

/// Whether the store has the part; takes it over.
bool ObjectUpload::has(std::uint64_t number, const Checksum& checksum, std::uint64_t size) {
  const std::scoped_lock lock(mutex_);
  const auto known = known_.find(number);
  if (known == known_.end() || known->second.size != size) return false;
  io::UploadPart part = known->second;
  const bool is_same = checksum.kind == ChecksumKind::md5 ? io::md5_of_version(part.version) == checksum.digits
                                                          : part.checksum == checksum;
  part.checksum = checksum;
  if (is_same) written_.insert_or_assign(number, std::move(part));
  return is_same;
}

/// Whether the store's answer fits what it was sent.
bool ObjectUpload::is_sent_well(const io::UploadPart& part, const Checksum& checksum) const {
  if (part.version.empty()) return false;
  if (checksum.kind == ChecksumKind::md5 && checks_.versions_are_md5)
    return io::md5_of_version(part.version) == checksum.digits;
  return !part.checksum || part.checksum->kind != checksum.kind || *part.checksum == checksum;
}

bool ObjectUpload::write(std::uint64_t index, Bytes block, const std::stop_token& stop) {
  constexpr int kMostTries = 4;
  const Checksum checksum = checksum_of(checks_.part, block);
  if (has(index + 1, checksum, block.size())) return false;
  std::optional<io::UploadPart> part;
  for (int tries = 0;; ++tries) {
    part = store_.send(upload_, index + 1, block, checksum, stop);
    if (!part || is_sent_well(*part, checksum)) break;
    if (tries + 1 < kMostTries) continue;
    const std::string address = store_.address_of(upload_.name);
    throw Error(ErrorCode::corrupt, At{address},
                "'{}': the store reports another checksum of part {} than it was sent, {} times; run the same command "
                "again",
                address, index + 1, kMostTries);
  }
  const std::scoped_lock lock(mutex_);
  if (!part) {
    is_lost_ = true;
    const bool is_md5 = checksum.kind == ChecksumKind::md5;
    part = io::UploadPart{index + 1, block.size(), is_md5 ? io::md5_version(checksum.digits) : ""};
  }
  part->checksum = checksum;
  written_.insert_or_assign(index + 1, *std::move(part));
  return true;
}

/// A CRC of the whole is put together from those of the parts.
io::ObjectProof ObjectUpload::proof() const {
  io::ObjectProof proof;
  std::uint64_t crc = 0;
  for (const auto& [number, part] : written_) {
    proof.size += part.size;
    std::uint64_t next = 0;
    if (part.checksum && parse_hex(part.checksum->digits, next)) crc = combine_crc64nvme(crc, next, part.size);
  }
  if (checks_.part == ChecksumKind::crc64nvme) proof.checksum = Checksum{checks_.part, to_hex(crc)};
  if (checks_.versions_are_md5) proof.version = io::version_of_parts(parts());
  return proof;
}

std::vector<io::UploadPart> ObjectUpload::parts() const {
  std::vector<io::UploadPart> parts;
  for (const auto& [number, part] : written_) parts.push_back(part);
  return parts;
}

io::Written ObjectUpload::finish(const std::stop_token& stop) {
  io::Written written = io::Written::lost;
  if (!is_lost_) written = store_.finish(upload_, parts(), proof(), stop);
  is_open_ = false;
  uploads_.forget(record_name_, stop);
  return written != io::Written::done && is_there(stop) ? io::Written::done : written;
}

/// Whether the store has an object with these bytes, whoever wrote it. Without a proof its bytes are read.
bool ObjectUpload::is_there(const std::stop_token& stop) {
  const auto found = store_.find(upload_.name);
  if (!found) return false;
  const io::Evidence evidence = io::compare(*found, proof());
  if (evidence != io::Evidence::none) return evidence == io::Evidence::same;
  std::uint64_t at = 0;
  for (const auto& [number, part] : written_) {
    ChecksumStream checksum(checks_.part);
    const auto add = [&](Bytes piece) { checksum.update(piece); };
    if (store_.fetch(*found, at, part.size, add, stop) != io::Fetched::whole) return false;
    if (!part.checksum || checksum.finish() != part.checksum->digits) return false;
    at += part.size;
  }
  return true;
}

void ObjectUpload::give_up(const std::stop_token& stop) {
  is_open_ = false;
  store_.abandon(upload_, stop);
  uploads_.forget(record_name_, stop);
}

}  // namespace shardkit::dataset
