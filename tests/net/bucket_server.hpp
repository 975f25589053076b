#pragma once

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "core/fields.hpp"
#include "core/hash.hpp"
#include "io/store_checks.hpp"
#include "net/http_client.hpp"
#include "net/remote_store.hpp"
#include "net/s3_fixture.hpp"
#include "net/s3_store.hpp"
#include "net/url.hpp"
#include "support/fake_clock.hpp"
#include "support/fault_server.hpp"
#include "system/clock.hpp"

namespace shardkit_test {

/// How a store breaks a request that writes.
enum class WriteFault {
  none,
  busy,          ///< 503 SlowDown
  dropped,       ///< no answer, nothing done
  lost,          ///< done, but no answer
  silent,        ///< done, but no answer and no end of the connection
  hung,          ///< the same, with nothing done
  failed_after,  ///< done, but 500
  error_in_200,  ///< not done; status 200 and an error in the body
  error_after,   ///< done; status 200 and an error in the body
  expired,       ///< ExpiredToken
  skewed,        ///< RequestTimeTooSkewed
  conflict,      ///< 409, and the upload is gone
  damaged,       ///< other bytes are stored, as the answer and the object show
  denied,        ///< 403
  other_part,    ///< other bytes of a part are stored, and the answer has their ETag
  shard_gone,    ///< done, after another program has removed the first shard
  late_begin,    ///< done, after another upload of the first shard has begun, without a record
  records_gone,  ///< done, after another upload has removed the records of uploads
};

/// What a store makes of If-None-Match.
enum class Conditions {
  work,
  unknown,              ///< 501
  ignored,              ///< objects are replaced
  ignored_for_uploads,  ///< those in parts; as in radosgw 16
};

/// A bucket, called "bucket", that can be written: whole objects, uploads in parts, conditions, checksums. Listings of
/// parts and uploads have two entries a page.
class BucketServer {
 public:
  struct Object {
    std::string bytes;
    std::string etag;
    std::string checksum_header = {};  ///< lines of headers
    shardkit::system::WallTime written_at = shardkit::system::WallTime();
  };

  /// What this store knows; to be set before the first request.
  std::set<std::string> checksums{"xxhash128", "crc64nvme"};
  Conditions conditions = Conditions::work;
  bool has_composite_checksums = false;  ///< of objects in parts; as in ministack, whatever type a client asks for
  bool has_own_etags = false;            ///< as of a store that encrypts
  bool repeats_pages = false;            ///< of open uploads
  shardkit::system::Seconds longest_answer{60};

  /// Decides about each request that writes. Empty: no faults.
  void set_fault(std::function<WriteFault(const ServedRequest&)> fault) {
    const std::scoped_lock lock(mutex_);
    fault_ = std::move(fault);
  }

  std::map<std::string, Object> objects() const {
    const std::scoped_lock lock(mutex_);
    return objects_;
  }
  /// Keys whose bytes a request has changed, without records of uploads.
  std::set<std::string> replaced() const {
    const std::scoped_lock lock(mutex_);
    return replaced_;
  }
  std::string bytes(const std::string& key) const { return objects().at(key).bytes; }
  void put(const std::string& key, const std::string& bytes, const std::string& etag = "") {
    const std::scoped_lock lock(mutex_);
    objects_[key] = {bytes,
                     fmt::format("\"{}\"", !etag.empty()   ? etag
                                           : has_own_etags ? "own"
                                                           : md5(bytes)),
                     "", clock_.now()};
  }
  void erase(const std::string& key) {
    const std::scoped_lock lock(mutex_);
    objects_.erase(key);
  }
  /// As a command does that is killed then.
  void leave_upload(const std::string& key) {
    const std::scoped_lock lock(mutex_);
    begin_upload(key, "");
  }
  std::size_t open_uploads() const {
    const std::scoped_lock lock(mutex_);
    return uploads_.size();
  }
  /// As another program would begin one.
  std::string begin(const std::string& key) {
    const std::scoped_lock lock(mutex_);
    return begin_upload(key, "");
  }
  FakeClock& clock() { return clock_; }
  std::vector<ServedRequest> requests() const { return server_.requests(); }
  /// So that a server of many tests needs no more and more memory.
  void forget_requests() { server_.forget_requests(); }
  std::string url() const { return server_.url(); }
  /// Requests of that method whose target contains `text`.
  std::size_t count(const std::string& method, const std::string& text) const {
    const auto all = requests();
    return static_cast<std::size_t>(std::ranges::count_if(all, [&](const ServedRequest& request) {
      return request.method == method && request.target.find(text) != std::string::npos;
    }));
  }

  /// A client, whose waits take no time.
  std::unique_ptr<shardkit::io::ObjectStore> store(const std::string& folder = {},
                                                   const shardkit::net::HttpHeaders& of_new_objects = {}) {
    shardkit::net::S3Settings settings;
    settings.endpoint = shardkit::net::parse_url(server_.url());
    settings.of_new_objects = of_new_objects;
    shardkit::net::RetryOptions retry;
    retry.clock = &clock_;
    retry.random = [] { return 0.5; };
    retry.longest_answer = longest_answer;
    retry.on_retry = [this](const shardkit::net::RetryEvent&) { ++retries; };
    auto credentials =
        std::make_shared<shardkit::net::CredentialCache>(shardkit::net::CredentialChain{numbered_keys(true)}, clock_);
    return shardkit::net::s3_store({"bucket", folder}, settings, std::move(credentials),
                                   {std::make_shared<shardkit::net::HttpPool>(shardkit::net::HttpOptions{}), retry});
  }

  std::atomic<int> retries = 0;

 private:
  struct Upload {
    std::string key;
    std::string checksum;  ///< kind
    shardkit::system::WallTime begun_at;
    std::map<std::uint64_t, Object> parts = {};
  };
  struct Reply {
    int status = 200;
    std::string headers = {};
    std::string body = {};
  };

  static std::string md5(std::string_view bytes) {
    return shardkit::checksum_of(shardkit::ChecksumKind::md5, shardkit::as_bytes(bytes)).digits;
  }
  static Reply error(int status, const std::string& code, const std::string& headers = {}) {
    return {status, headers, fmt::format("<Error><Code>{}</Code></Error>", code)};
  }
  static std::string query_value(const std::string& target, const std::string& name) {
    for (std::size_t at = target.find('?'); at < target.size();) {
      const std::size_t end = std::min(target.find('&', at + 1), target.size());
      const std::string pair = target.substr(at + 1, end - at - 1);
      if (pair.starts_with(name + "=")) return shardkit::net::percent_decode(pair.substr(name.size() + 1));
      at = end;
    }
    return "";
  }
  static bool has(const ServedRequest& request, const std::string& name) {
    return request.target.find("?" + name + "=") != std::string::npos ||
           request.target.find("&" + name + "=") != std::string::npos;
  }

  /// The checksums of a request, or an error for a wrong one.
  std::optional<Reply> take_checksums(const ServedRequest& request, Object& object) const {
    for (const auto kind : {shardkit::ChecksumKind::xxhash128, shardkit::ChecksumKind::crc64nvme}) {
      const std::string name(shardkit::enum_name(kind));
      const std::string value = request.header("x-amz-checksum-" + name);
      if (value.empty() || !checksums.contains(name)) continue;
      const auto right = shardkit::checksum_of(kind, shardkit::as_bytes(std::string_view(object.bytes)));
      if (value != shardkit::net::base64_of(right)) return error(400, "BadDigest");
      object.checksum_header = fmt::format("x-amz-checksum-{}: {}\r\n", name, value);
    }
    const std::string sent = request.header("content-md5");
    const shardkit::Checksum right{shardkit::ChecksumKind::md5, md5(object.bytes)};
    if (!sent.empty() && sent != shardkit::net::base64_of(right)) return error(400, "BadDigest");
    object.etag = fmt::format("\"{}\"", has_own_etags ? md5(object.bytes + "secret") : md5(object.bytes));
    return std::nullopt;
  }

  Reply put_object(const std::string& key, const ServedRequest& request) {
    if (const auto refusal = condition(key, request, false)) return *refusal;
    Object object{request.body, "", "", clock_.now()};
    if (const auto wrong = take_checksums(request, object)) return *wrong;
    write(key, object);
    return {200, fmt::format("ETag: {}\r\n{}", object.etag, object.checksum_header)};
  }

  void write(const std::string& key, const Object& object) {
    const auto before = objects_.find(key);
    if (before != objects_.end() && before->second.bytes != object.bytes &&
        key.find("/.shardkit/uploads/") == std::string::npos)
      replaced_.insert(key);
    objects_[key] = object;
  }

  std::optional<Reply> condition(const std::string& key, const ServedRequest& request, bool is_upload) const {
    if (request.header("if-none-match").empty()) return std::nullopt;
    if (conditions == Conditions::unknown) return error(501, "NotImplemented");
    const bool is_ignored =
        conditions == Conditions::ignored || (is_upload && conditions == Conditions::ignored_for_uploads);
    return !is_ignored && objects_.contains(key) ? std::optional(error(412, "PreconditionFailed")) : std::nullopt;
  }

  std::string begin_upload(const std::string& key, const std::string& checksum) {
    const std::string id = fmt::format("upload+{}", ++last_id_);
    uploads_[id] = {key, checksum, clock_.now()};
    return id;
  }

  Reply begin(const std::string& key, const ServedRequest& request) {
    const std::string id = begin_upload(key, request.header("x-amz-checksum-algorithm"));
    return {200, keeps_checksum(uploads_[id]) ? fmt::format("x-amz-checksum-type: {}\r\n", checksum_type()) : "",
            fmt::format("<InitiateMultipartUploadResult><UploadId>{}</UploadId>"
                        "</InitiateMultipartUploadResult>",
                        id)};
  }

  bool keeps_checksum(const Upload& upload) const {
    return !upload.checksum.empty() && checksums.contains("crc64nvme");
  }
  const char* checksum_type() const { return has_composite_checksums ? "COMPOSITE" : "FULL_OBJECT"; }

  Reply put_part(Upload& upload, const ServedRequest& request) {
    Object part{request.body, "", "", clock_.now()};
    if (const auto wrong = take_checksums(request, part)) return *wrong;
    upload.parts[std::stoull(query_value(request.target, "partNumber"))] = part;
    return {200, fmt::format("ETag: {}\r\n", part.etag)};
  }

  Reply finish(const std::string& id, const ServedRequest& request) {
    const Upload& upload = uploads_.at(id);
    if (const auto refusal = condition(upload.key, request, true)) return *refusal;
    Object object{"", "", "", clock_.now()};
    std::vector<shardkit::io::UploadPart> parts;
    for (const auto& [number, part] : upload.parts) {
      if (request.body.find(fmt::format("<PartNumber>{}</PartNumber><ETag>{}</ETag>", number, part.etag)) ==
          std::string::npos)
        continue;
      object.bytes += part.bytes;
      parts.push_back({number, part.bytes.size(), part.etag});
    }
    object.etag = has_own_etags ? "\"own-1\"" : shardkit::io::version_of_parts(parts);
    if (keeps_checksum(upload)) {
      const auto crc =
          shardkit::checksum_of(shardkit::ChecksumKind::crc64nvme, shardkit::as_bytes(std::string_view(object.bytes)));
      const std::string right =
          has_composite_checksums ? fmt::format("AAAAAAAAAAA=-{}", parts.size()) : shardkit::net::base64_of(crc);
      const std::string sent = request.header("x-amz-checksum-crc64nvme");
      if (!sent.empty() && sent != right) return error(400, "BadDigest");
      object.checksum_header =
          fmt::format("x-amz-checksum-crc64nvme: {}\r\nx-amz-checksum-type: {}\r\n", right, checksum_type());
    }
    write(upload.key, object);
    uploads_.erase(id);
    return {200, "", "<CompleteMultipartUploadResult/>"};
  }

  Reply list_parts(const Upload& upload, const ServedRequest& request) const {
    const std::string marker = query_value(request.target, "part-number-marker");
    std::string body;
    int entries = 0;
    std::uint64_t last = 0;
    for (const auto& [number, part] : upload.parts) {
      if (!marker.empty() && number <= std::stoull(marker)) continue;
      if (++entries > 2) break;
      last = number;
      const std::size_t value = part.checksum_header.find("crc64nvme: ");
      const std::string crc = value == std::string::npos
                                  ? ""
                                  : part.checksum_header.substr(value + 11, part.checksum_header.size() - value - 13);
      body += fmt::format(
          "<Part><PartNumber>{}</PartNumber><Size>{}</Size><ETag>{}</ETag><ChecksumCRC64NVME>{}"
          "</ChecksumCRC64NVME><LastModified>{}</LastModified></Part>",
          number, part.bytes.size(), part.etag, crc, shardkit::system::rfc3339(part.written_at));
    }
    return {200, "",
            fmt::format(
                "<ListPartsResult>{}<IsTruncated>{}</IsTruncated><NextPartNumberMarker>{}"
                "</NextPartNumberMarker>{}</ListPartsResult>",
                body, entries > 2, last,
                keeps_checksum(upload) && !has_composite_checksums ? "<ChecksumType>FULL_OBJECT</ChecksumType>" : "")};
  }

  Reply list_uploads(const ServedRequest& request) const {
    const std::string after = repeats_pages ? "" : query_value(request.target, "upload-id-marker");
    const std::string prefix = query_value(request.target, "prefix");
    std::string body;
    int entries = 0;
    std::string last_key;
    std::string last_id;
    for (const auto& [id, upload] : uploads_) {
      if (id <= after || !upload.key.starts_with(prefix)) continue;
      if (++entries > 2) break;
      last_key = upload.key;
      last_id = id;
      body += fmt::format("<Upload><Key>{}</Key><UploadId>{}</UploadId><Initiated>{}</Initiated></Upload>",
                          shardkit::net::percent_encode(upload.key), id, shardkit::system::rfc3339(upload.begun_at));
    }
    return {200, "",
            fmt::format("<ListMultipartUploadsResult><EncodingType>url</EncodingType>{}<IsTruncated>{}"
                        "</IsTruncated><NextKeyMarker>{}</NextKeyMarker><NextUploadIdMarker>{}"
                        "</NextUploadIdMarker></ListMultipartUploadsResult>",
                        body, entries > 2, shardkit::net::percent_encode(last_key), last_id)};
  }

  Reply list(const ServedRequest& request) const {
    const std::string prefix = query_value(request.target, "prefix");
    const std::string delimiter = query_value(request.target, "delimiter");
    std::string body;
    std::set<std::string> folders;
    for (auto at = objects_.lower_bound(prefix); at != objects_.end() && at->first.starts_with(prefix); ++at) {
      const auto& [key, object] = *at;
      const std::size_t end = delimiter.empty() ? std::string::npos : key.find(delimiter, prefix.size());
      if (end != std::string::npos) {
        folders.insert(key.substr(0, end + 1));
        continue;
      }
      body += fmt::format("<Contents><Key>{}</Key><Size>{}</Size><ETag>{}</ETag></Contents>",
                          shardkit::net::percent_encode(key), object.bytes.size(), object.etag);
    }
    for (const std::string& folder : folders)
      body +=
          fmt::format("<CommonPrefixes><Prefix>{}</Prefix></CommonPrefixes>", shardkit::net::percent_encode(folder));
    return {200, "",
            fmt::format("<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>"
                        "{}</ListBucketResult>",
                        body)};
  }

  static std::string http_date(shardkit::system::WallTime time) {
    return fmt::format("{:%a, %d %b %Y %H:%M:%S GMT}", fmt::gmtime(shardkit::system::WallTime::clock::to_time_t(time)));
  }

  Reply get(const std::string& key, const ServedRequest& request) const {
    const auto found = objects_.find(key);
    if (found == objects_.end()) return error(404, "NoSuchKey");
    const Object& object = found->second;
    const std::string headers =
        fmt::format("ETag: {}\r\n{}Last-Modified: {}\r\nDate: {}\r\n", object.etag, object.checksum_header,
                    http_date(object.written_at), http_date(clock_.now()));
    std::size_t first = 0;
    std::size_t last = 0;
    if (std::sscanf(request.header("range").c_str(), "bytes=%zu-%zu", &first, &last) != 2 ||
        last >= object.bytes.size())
      return {200, headers, object.bytes};
    return {206, fmt::format("{}Content-Range: bytes {}-{}/{}\r\n", headers, first, last, object.bytes.size()),
            object.bytes.substr(first, last - first + 1)};
  }

  Reply perform(const std::string& key, const ServedRequest& request) {
    if (request.method == "GET" && key.empty())
      return has(request, "list-type") ? list(request) : list_uploads(request);
    if (has(request, "uploadId")) {
      const std::string id = query_value(request.target, "uploadId");
      const auto upload = uploads_.find(id);
      if (upload == uploads_.end()) return error(404, "NoSuchUpload");
      if (request.method == "PUT") return put_part(upload->second, request);
      if (request.method == "POST") return finish(id, request);
      if (request.method == "GET") return list_parts(upload->second, request);
      uploads_.erase(upload);
      return {204};
    }
    if (request.method == "POST") return begin(key, request);
    if (request.method == "PUT") return put_object(key, request);
    if (request.method == "DELETE") return objects_.erase(key), Reply{204};
    return get(key, request);
  }

  /// `is_finish`: of a request that makes an object of parts.
  Reply faulty(WriteFault fault, const std::string& key, const ServedRequest& request, bool is_finish) {
    switch (fault) {
      case WriteFault::busy:
        return error(503, "SlowDown");
      case WriteFault::expired:
        return error(400, "ExpiredToken");
      case WriteFault::skewed:
        return error(403, "RequestTimeTooSkewed", "Date: Wed, 15 Nov 2023 00:00:00 GMT\r\n");
      case WriteFault::denied:
        return error(403, "AccessDenied");
      case WriteFault::error_in_200:
        return is_finish ? error(200, "InternalError") : error(500, "InternalError");
      case WriteFault::conflict:
        if (is_finish) uploads_.erase(query_value(request.target, "uploadId"));
        return error(409, "ConditionalRequestConflict");
      case WriteFault::damaged: {
        Reply reply = perform(key, request);
        if (objects_.contains(key) && !objects_[key].bytes.empty()) {
          objects_[key].bytes.pop_back();
          objects_[key].etag = "\"damaged\"";
          objects_[key].checksum_header.clear();
        }
        reply.headers = "ETag: \"damaged\"\r\n";
        return reply;
      }
      case WriteFault::other_part: {
        ServedRequest other = request;
        other.body += "!";
        for (const char* name : {"content-md5", "x-amz-checksum-crc64nvme"}) other.headers.erase(name);
        return perform(key, other);
      }
      case WriteFault::shard_gone:
        objects_.erase("set/shard-000000.tar");
        return perform(key, request);
      case WriteFault::late_begin:
        begin_upload("set/shard-000000.tar", "");
        return perform(key, request);
      case WriteFault::records_gone:
        std::erase_if(objects_, [](const auto& object) {
          return object.first.find("/.shardkit/uploads/") < object.first.size();
        });
        return perform(key, request);
      case WriteFault::failed_after:
        perform(key, request);
        return error(500, "InternalError");
      case WriteFault::error_after:
        return perform(key, request).status == 200 && is_finish ? error(200, "InternalError")
                                                                : error(500, "InternalError");
      default:
        return perform(key, request);
    }
  }

  void handle(const ServedRequest& request, ServerConnection& connection) {
    Reply reply;
    WriteFault fault = WriteFault::none;
    {
      const std::scoped_lock lock(mutex_);
      const std::string key = shardkit::net::percent_decode(request.path()).substr(8);  // behind "/bucket/"
      const bool is_write = request.method != "GET" && request.method != "HEAD";
      if (is_write && fault_) fault = fault_(request);
      if (fault != WriteFault::dropped && fault != WriteFault::hung)
        reply = faulty(fault, key, request, request.method == "POST" && has(request, "uploadId"));
    }
    if (fault == WriteFault::dropped || fault == WriteFault::lost) return connection.reset();
    if (fault == WriteFault::silent || fault == WriteFault::hung) return connection.stall();
    connection.answer_head(reply.status, reply.headers, reply.body.size());
    if (request.method != "HEAD") connection.send(reply.body);
  }

  mutable std::mutex mutex_;
  std::map<std::string, Object> objects_;
  std::set<std::string> replaced_;
  std::map<std::string, Upload> uploads_;
  int last_id_ = 10;
  std::function<WriteFault(const ServedRequest&)> fault_;
  mutable FakeClock clock_;
  FaultServer server_{
      [this](const ServedRequest& request, ServerConnection& connection) { handle(request, connection); }};
};

}  // namespace shardkit_test
