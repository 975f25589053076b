#include <algorithm>
#include <set>

#include "core/error.hpp"
#include "dataset/bucket/upload_record.hpp"
#include "dataset/upload/upload.hpp"
#include "formats/manifest.hpp"
#include "system/clock.hpp"

namespace shardkit::dataset {
namespace {

/// When the upload began or got its last part.
system::WallTime last_use(io::ObjectStore& store, const io::OpenUpload& upload, const std::stop_token& stop) {
  system::WallTime last = system::parse_iso8601(upload.started_at).value_or(system::WallTime());
  for (const io::UploadPart& part : store.parts(upload, stop))
    last = std::max(last, system::parse_iso8601(part.written_at).value_or(last));
  return last;
}

}  // namespace

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

}  // namespace shardkit::dataset
