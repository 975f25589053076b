#include "net/s3_store.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <ranges>
#include <utility>

#include <fmt/format.h>

#include "core/fields.hpp"
#include "core/text.hpp"
#include "net/aws_profile.hpp"
#include "net/aws_xml.hpp"
#include "system/clock.hpp"

namespace shardkit::net {
namespace {

/// Fits as one label of a host name below AWS's certificate.
bool is_host_label(const std::string& bucket) {
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyz0123456789-";
  return bucket.size() <= 63 && bucket.find_first_not_of(allowed) == std::string::npos && !bucket.starts_with('-') &&
         !bucket.ends_with('-');
}

Url parse_endpoint(const std::string& text) {
  if (!is_http_url(text)) {
    throw usage_error(
        "the endpoint (--endpoint-url, AWS_ENDPOINT_URL or endpoint_url of the profile) is not an http or https URL");
  }
  Url endpoint = parse_url(text);
  if (endpoint.query.empty() && endpoint.user.empty()) return endpoint;
  throw usage_error("the endpoint '{}' must not contain a login or query", endpoint.display());
}

/// Of AWS, whose partitions have domains of their own.
Url aws_endpoint(const S3Settings& settings, std::string_view service) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kDomains{{{"cn-", "amazonaws.com.cn"},
                                                                                   {"us-iso-", "c2s.ic.gov"},
                                                                                   {"us-isob-", "sc2s.sgov.gov"},
                                                                                   {"eusc-", "amazonaws.eu"},
                                                                                   {"", "amazonaws.com"}}};
  const auto domain =
      std::ranges::find_if(kDomains, [&](const auto& row) { return settings.region.starts_with(row.first); });
  Url url;
  url.scheme = "https";
  url.host = fmt::format("{}{}{}.{}.{}", service, settings.fips ? "-fips" : "", settings.dual_stack ? ".dualstack" : "",
                         settings.region, domain->second);
  return url;
}

/// That of the profile's services, else its own. Throws Error{usage} for services that are in no file.
std::string configured_endpoint(const AwsProfiles& profiles, const std::string& profile) {
  const std::string services = profiles.get(profile, "services");
  const std::string section = services_section(services);
  if (!services.empty() && !profiles.contains(section))
    throw usage_error("profile '{}' names {}, which is not in {}", profile, section, profiles.file_names());
  const std::string for_s3 = profiles.get(section, "s3.endpoint_url");
  return for_s3.empty() ? profiles.get(profile, "endpoint_url") : for_s3;
}

}  // namespace

S3Settings s3_settings(const S3Options& options, const CloudEnvironment& around) {
  const AwsProfiles profiles(around);
  const std::string profile = profile_name(options.profile, around.environment);
  const auto first_of = [&](const std::string& option, std::initializer_list<const char*> variables,
                            const std::string& configured) {
    if (!option.empty()) return option;
    for (const char* variable : variables) {
      if (const auto value = around.environment(variable)) return *value;
    }
    return configured;
  };
  const auto is_set = [&](const char* variable, const char* name) {
    return lower_case(first_of("", {variable}, profiles.get(profile, name))) == "true";
  };
  S3Settings settings;
  const auto region = first_of(options.region, {"AWS_REGION", "AWS_DEFAULT_REGION"}, profiles.get(profile, "region"));
  if (!region.empty()) settings.region = region;
  constexpr std::string_view kOfRegions = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  if (settings.region.find_first_not_of(kOfRegions) != std::string::npos)
    throw usage_error("the region '{}' is not the name of a region", settings.region);
  settings.authorities = profiles.get(profile, "ca_bundle");
  settings.requester_pays = options.requester_pays;
  settings.of_new_objects = options.of_new_objects;
  settings.virtual_hosts = options.virtual_hosts || profiles.get(profile, "s3.addressing_style") == "virtual";
  const bool ignores = is_set("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "ignore_configured_endpoint_urls");
  std::string endpoint = options.endpoint_url;
  if (!ignores) endpoint = first_of(endpoint, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}, "");
  if (!ignores && endpoint.empty()) endpoint = configured_endpoint(profiles, profile);
  if (!endpoint.empty()) settings.endpoint = parse_endpoint(endpoint);
  settings.fips = is_set("AWS_USE_FIPS_ENDPOINT", "use_fips_endpoint");
  settings.dual_stack = is_set("AWS_USE_DUALSTACK_ENDPOINT", "use_dualstack_endpoint") ||
                        lower_case(profiles.get(profile, "s3.use_dualstack_endpoint")) == "true";
  if (lower_case(profiles.get(profile, "s3.use_accelerate_endpoint")) == "true") {
    throw Error(ErrorCode::unsupported, "use_accelerate_endpoint is not supported; set it to false in the profile");
  }
  const std::string style = profiles.get(profile, "s3.addressing_style");
  if (style == "path" && !settings.endpoint) settings.endpoint = aws_endpoint(settings, "s3");
  return settings;
}

S3Settings google_settings(const S3Options& options) {
  return {options.region.empty() ? "auto" : options.region,
          parse_endpoint(options.endpoint_url.empty() ? "https://storage.googleapis.com" : options.endpoint_url),
          "gs",
          options.virtual_hosts,
          false,
          options.of_new_objects};
}

Url s3_url(const S3Settings& settings, const std::string& bucket, const std::string& key) {
  const auto point = parse_access_point(bucket);
  Url url;
  if (settings.endpoint) {
    url = *settings.endpoint;
  } else {
    url = aws_endpoint(settings, point ? "s3-accesspoint" : "s3");
  }
  if (!url.path.ends_with('/')) url.path += '/';
  if (point || (is_host_label(bucket) && (!settings.endpoint || settings.virtual_hosts))) {
    url.host = fmt::format("{}.{}", point ? point->host_label : bucket, url.host);
  } else {
    url.path += percent_encode(bucket) + '/';
  }
  url.path += percent_encode_path(key);
  return url;
}

namespace {

constexpr std::size_t kLongestPage = 16UL << 20U;  // a thousand keys of 1024 bytes, each three characters, and more
constexpr int kMostRegions = 3;
constexpr const char* kChecksumType = "x-amz-checksum-type";
constexpr const char* kFullObject = "FULL_OBJECT";
constexpr const char* kComposite = "COMPOSITE";
constexpr std::int64_t kTolerableSkew = 2;  // seconds; less is no reason

/// The same address, in the form that is signed.
void make_canonical(Url& url) {
  QueryParameters parameters;
  for (const auto part : url.query | std::views::split('&')) {
    const std::string_view pair(part.begin(), part.end());
    const std::size_t equals = std::min(pair.find('='), pair.size());
    parameters.emplace_back(percent_decode(pair.substr(0, equals)),
                            percent_decode(pair.substr(std::min(equals + 1, pair.size()))));
  }
  url.query = canonical_query(parameters);
  url.path = percent_encode_path(percent_decode(url.path));
}

const char* remedy_for(const std::string& method, const S3ErrorBody& body, int status, bool is_anonymous) {
  if (body.code == "SignatureDoesNotMatch" || body.code == "InvalidAccessKeyId") {
    return "; the keys are wrong for this store";
  }
  if (body.code == "RequestTimeTooSkewed") return "; correct the clock of this machine";
  if (body.code == "InvalidObjectState") return "; it is archived and must be restored first";
  if (status == 403 && (method == "PUT" || method == "POST")) return "; these credentials may not write it";
  if (status == 403 && method == "DELETE") return "; these credentials may not delete objects";
  if (status == 403 && is_anonymous) return "; it may not be read without credentials (--anonymous), or does not exist";
  if (status == 403)
    return "; these credentials may not read it, or it does not exist and they may not list the bucket";
  if (status == 401) return "; the store needs credentials";
  return "";
}

/// A wrong region is corrected from the store's answer, a wrong clock by the store's clock. Redirects (AIStore's 307)
/// are followed here: another host gets neither signature nor token, only what its address contains.
class S3Store final : public RemoteStore, public io::ObjectStore {
 public:
  S3Store(S3Location folder, S3Settings settings, std::shared_ptr<CredentialCache> credentials, StoreAccess access)
      : RemoteStore(std::move(access)),
        bucket_(std::move(folder.bucket)),
        prefix_(std::move(folder.key)),
        bucket_address_(fmt::format("{}://{}", settings.scheme, bucket_)),
        credentials_(std::move(credentials)),
        settings_(std::move(settings)) {
    if (!prefix_.empty() && !prefix_.ends_with('/')) prefix_ += '/';
    location_ = prefix_.empty() ? bucket_address_ : address_of_key(prefix_.substr(0, prefix_.size() - 1));
    if (const auto point = parse_access_point(bucket_)) settings_.region = point->region;
  }

  const std::string& location() const override { return location_; }
  std::string address_of(const std::string& name) const override { return address_of_key(key_of(name)); }

  std::vector<io::ObjectInfo> list(const std::string& folder) override {
    const std::string prefix = folder_prefix(folder);
    std::vector<io::ObjectInfo> found;
    for_each_page(prefix, "", [&](S3Listing& page) {
      for (io::ObjectInfo& object : page.objects) {
        if (is_folder_mark(object) || !object.name.starts_with(prefix)) continue;
        object.name.erase(0, prefix_.size());
        found.push_back(std::move(object));
      }
    });
    std::ranges::sort(found, {}, &io::ObjectInfo::name);
    return found;
  }

  std::vector<std::string> names_in(const std::string& folder) override {
    const std::string prefix = folder_prefix(folder);
    std::vector<std::string> names;
    const auto add = [&](const std::string& key) {
      if (key.size() > prefix.size()) names.push_back(key.substr(prefix_.size()));
    };
    for_each_page(prefix, "/", [&](S3Listing& page) {
      for (const io::ObjectInfo& object : page.objects) add(object.name);
      for (const std::string& below : page.prefixes) add(below);
    });
    return names;
  }

  std::optional<io::ObjectInfo> find(const std::string& name) override { return look_up(name, stop()); }

  bool knows_checksums() const override { return bucket_address_.starts_with("s3:"); }

  io::Written put(const std::string& name, Bytes bytes, const io::ObjectProof& proof, bool may_replace,
                  const std::stop_token& stop) override {
    if (!may_replace && !keeps_whole_) {
      if (const auto there = written_before(name, proof, stop)) return *there;
    }
    return create(put_request(name, bytes, proof), name, proof, !may_replace, stop).written;
  }

  std::string begin(const std::string& name, ChecksumKind kind, const std::stop_token& stop) override {
    Request request(key_of(name), "POST", {{"uploads", ""}}, settings().of_new_objects);
    request.must_be_sent_once = true;
    if (kind == ChecksumKind::crc64nvme) {
      request.headers.add("x-amz-checksum-algorithm", "CRC64NVME");
      request.headers.add(kChecksumType, kFullObject);
    }
    unsigned attempts = 0;
    request.attempts = &attempts;
    const system::WallTime since = store_time();
    HttpHeaders headers;
    std::string id;
    try {
      id = ask(request, stop, &read_upload_id, &headers);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::denied || attempts > 1) abandon_lost({name, ""}, since);
      throw;
    }
    if (attempts > 1) abandon_lost({name, id}, since);
    checks_whole_ = headers.get(kChecksumType) != kComposite;
    return id;
  }

  std::optional<io::UploadPart> send(const io::OpenUpload& upload, std::uint64_t number, Bytes bytes,
                                     const Checksum& checksum, const std::stop_token& stop) override {
    Request request = of_upload(upload, "PUT");
    request.query.emplace_back("partNumber", fmt::format("{}", number));
    request.payload = bytes;
    add_checksum(request.headers, checksum);
    const Answer answer = persist(request, &ignore_body, stop);
    if (answer.response.status == 404 && answer.error) {
      if (find_upload(upload, stop)) throw Error(*answer.error);
      return std::nullopt;
    }
    if (answer.error) throw Error(*answer.error);
    const HttpHeaders& headers = answer.response.headers;
    return io::UploadPart{number, bytes.size(), std::string(headers.get("etag")), object_checksum(headers)};
  }

  std::vector<io::UploadPart> parts(const io::OpenUpload& upload, const std::stop_token& stop) override {
    return find_upload(upload, stop).value_or(std::vector<io::UploadPart>());
  }

  io::Written finish(const io::OpenUpload& upload, const std::vector<io::UploadPart>& parts,
                     const io::ObjectProof& proof, const std::stop_token& stop) override {
    Outcome outcome;
    if (const auto there = written_before(upload.name, proof, stop)) {
      outcome.written = *there;
    } else {
      outcome = create(finish_request(upload, parts, proof), upload.name, proof, true, stop);
    }
    if (!outcome.is_accepted) abandon(upload, {});
    return outcome.written;
  }

  bool keeps_objects(const std::string& name, Bytes bytes, const std::stop_token& stop) override {
    // Another process may remove the object between two requests: one refusal is proof.
    const io::ObjectProof proof{bytes.size(), checksum_of(ChecksumKind::md5, bytes)};
    for (int i = 0; i < 2 && !keeps_whole_; ++i) keeps_whole_ = is_refused(put_request(name, bytes, proof), stop);
    bool keeps_parted = false;
    for (int i = 0; i < 2 && keeps_whole_ && !keeps_parted; ++i) {
      // The answer is waited for: without it the upload would stay open.
      const io::OpenUpload upload{name, begin(name, ChecksumKind::md5, {})};
      try {
        const auto part = send(upload, 1, bytes, *proof.checksum, stop);
        keeps_parted = part && is_refused(finish_request(upload, {*part}, {}), stop);
      } catch (const Error&) {
        abandon(upload, {});
        throw;
      }
      abandon(upload, {});
    }
    return keeps_parted;
  }

  std::optional<system::Seconds> age_of(const std::string& name, const std::stop_token& stop) override {
    const Answer answer = persist(
        Request(key_of(name), "HEAD"), [](const HttpResponse&) { return BodyWriter(); }, stop);
    const auto now = system::parse_http_date(answer.response.headers.get("date"));
    const auto written = system::parse_http_date(answer.response.headers.get("last-modified"));
    if (answer.error || !now || !written) return std::nullopt;
    return *now - *written;
  }

  void abandon(const io::OpenUpload& upload, const std::stop_token& stop) override {
    erase(of_upload(upload, "DELETE"), stop);
  }

  void remove(const std::string& name, const std::stop_token& stop) override {
    erase(Request(key_of(name), "DELETE"), stop);
  }

  std::vector<io::OpenUpload> uploads(const std::string& name, const std::stop_token& stop) override {
    std::vector<io::OpenUpload> found;
    const std::string prefix = key_of(name);
    for (S3Uploads page;;) {
      Request request("", "GET", {{"uploads", ""}, {"encoding-type", "url"}});
      if (!prefix.empty()) request.query.emplace_back("prefix", prefix);
      if (!page.next_key.empty()) request.query.emplace_back("key-marker", page.next_key);
      if (!page.next_id.empty()) request.query.emplace_back("upload-id-marker", page.next_id);
      S3Uploads next = ask(request, stop, &read_uploads);
      for (io::OpenUpload& upload : next.uploads) {
        if (!upload.name.starts_with(prefix) || (!name.empty() && upload.name != prefix)) continue;
        upload.name.erase(0, prefix_.size());
        found.push_back(std::move(upload));
      }
      if (next.next_key.empty()) return found;
      if (next.next_key == page.next_key && next.next_id == page.next_id) refuse_same_page();
      page = std::move(next);
    }
  }

 private:
  std::string key_of(const std::string& name) const override { return prefix_ + name; }
  std::string address_of_key(const std::string& key) const { return bucket_address_ + '/' + key; }
  std::string folder_prefix(const std::string& folder) const {
    return folder.empty() ? prefix_ : prefix_ + folder + '/';
  }

  static BodyWriter ignore_body(const HttpResponse& /*head*/) {
    return [](Bytes) {};
  }

  static void add_checksum(HttpHeaders& headers, const Checksum& checksum) {
    const bool is_md5 = checksum.kind == ChecksumKind::md5;
    headers.add(is_md5 ? "Content-MD5" : fmt::format("x-amz-checksum-{}", enum_name(checksum.kind)),
                base64_of(checksum));
  }

  Request of_upload(const io::OpenUpload& upload, const char* method) const {
    return Request(key_of(upload.name), method, {{"uploadId", upload.id}});
  }

  Request put_request(const std::string& name, Bytes bytes, const io::ObjectProof& proof) const {
    Request request(key_of(name), "PUT", {}, settings().of_new_objects);
    request.payload = bytes;
    if (proof.checksum) add_checksum(request.headers, *proof.checksum);
    return request;
  }

  Request finish_request(const io::OpenUpload& upload, const std::vector<io::UploadPart>& parts,
                         const io::ObjectProof& proof) const {
    Request request = of_upload(upload, "POST");
    request.may_take_long = true;
    request.time_limit = retry().longest_answer;
    request.body = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
    for (const io::UploadPart& part : parts) {
      const bool has_crc = proof.checksum && part.checksum;
      request.body += fmt::format(
          "<Part><PartNumber>{}</PartNumber><ETag>{}</ETag>{}</Part>", part.number, part.version,
          has_crc ? fmt::format("<ChecksumCRC64NVME>{}</ChecksumCRC64NVME>", base64_of(*part.checksum)) : "");
    }
    request.body += "</CompleteMultipartUpload>";
    if (proof.checksum && checks_whole_) {
      add_checksum(request.headers, *proof.checksum);
      request.headers.add(kChecksumType, kFullObject);
    }
    return request;
  }

  /// Whether the store refuses it because the object exists.
  bool is_refused(Request request, const std::stop_token& stop) {
    request.headers.set("If-None-Match", "*");
    const Answer answer = persist(request, &ignore_body, stop);
    if (answer.error && answer.verdict.code == ErrorCode::denied) throw Error(*answer.error);
    return answer.response.status == 412;
  }

  /// What there is under the name of an object that must be new; empty: nothing.
  std::optional<io::Written> written_before(const std::string& name, const io::ObjectProof& proof,
                                            const std::stop_token& stop) {
    const auto found = look_up(name, stop);
    if (!found) return std::nullopt;
    return io::compare(*found, proof) == io::Evidence::same ? io::Written::done : io::Written::exists;
  }

  system::WallTime store_time() const { return retry().clock->now() + std::chrono::seconds(skew_seconds_); }

  /// Uploads of the same object that attempts since then began, and whose ids were lost.
  void abandon_lost(const io::OpenUpload& known, system::WallTime since) {
    constexpr std::chrono::seconds kTolerance{5};  // of the clocks
    for (int tries = 0; tries < 2; ++tries) {
      try {
        for (const io::OpenUpload& upload : uploads(known.name, {})) {
          const auto started = system::parse_iso8601(upload.started_at);
          if (upload.id != known.id && started && *started + kTolerance >= since) abandon(upload, {});
        }
        return;
      } catch (const Error&) {  // once more; --clean finds them later
      }
    }
  }

  /// An empty object that a console made to show a folder.
  static bool is_folder_mark(const io::ObjectInfo& object) { return object.size == 0 && object.name.ends_with('/'); }

  [[noreturn]] void refuse_same_page() const {
    throw Error(ErrorCode::corrupt, At{bucket_address_}, "'{}': the store sent the same page of its listing again",
                bucket_address_);
  }

  /// By HEAD. A refusal is repeated with GET for the reason, which HEAD cannot contain.
  std::optional<io::ObjectInfo> look_up(const std::string& name, const std::stop_token& stop) {
    Request request(key_of(name), "HEAD");
    if (knows_checksums()) request.headers.add("x-amz-checksum-mode", "ENABLED");
    const Answer answer = persist(
        request, [](const HttpResponse&) { return BodyWriter(); }, stop);
    if (answer.response.status == 404) return std::nullopt;
    if (answer.error) throw Error(*answer.error);
    if (const auto size = answer.response.content_length()) return info_in(answer.response, name, *size);
    const std::string address = address_of(name);
    throw Error(ErrorCode::corrupt, At{address}, "'{}': the store does not report its size", address);
  }

  /// Its parts; empty if it no longer exists.
  std::optional<std::vector<io::UploadPart>> find_upload(const io::OpenUpload& upload, const std::stop_token& stop) {
    std::vector<io::UploadPart> found;
    for (std::string marker;;) {
      Request request = of_upload(upload, "GET");
      if (!marker.empty()) request.query.emplace_back("part-number-marker", marker);
      S3Parts page;
      try {
        page = ask(request, stop, &read_parts);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::not_found) throw;
        return std::nullopt;
      }
      std::ranges::move(page.parts, std::back_inserter(found));
      if (page.checksum_type == kFullObject) checks_whole_ = true;
      if (page.next_marker.empty() || page.next_marker == marker) return found;
      marker = page.next_marker;
    }
  }

  void erase(const Request& request, const std::stop_token& stop) {
    const Answer answer = persist(request, &ignore_body, stop);
    if (answer.error && answer.response.status != 404) throw Error(*answer.error);
  }

  /// What came of a request that creates an object; `is_accepted`: the store made an object of it.
  struct Outcome {
    io::Written written = io::Written::done;
    bool is_accepted = false;
  };

  /// Sends a request that creates an object until it is certain what came of it: the answer may be lost, and one with
  /// status 200 may contain an error. Then the object itself decides. A store without conditions gets none.
  Outcome create(Request request, const std::string& name, const io::ObjectProof& proof, bool must_be_new,
                 const std::stop_token& stop) {
    using io::Evidence, io::Written;
    const bool is_upload = request.method == "POST";
    bool may_be_ours = false;  // an attempt failed that the store may have carried out
    for (Attempts attempts(retry(), stop);;) {
      const bool has_condition = must_be_new && has_conditions_;
      if (has_condition) request.headers.set("If-None-Match", "*");
      std::string text;
      Answer answer = attempt(request, collect_body(text, kLongestPage), stop);
      const int status = answer.response.status;
      if (has_condition && status == 501) {
        has_conditions_ = false;
        request.headers.remove("If-None-Match");
        continue;
      }
      if (!answer.error) take_error(request, text, answer);
      if (!answer.error && !is_upload &&
          io::compare(info_in(answer.response, name, proof.size), proof) == Evidence::same)
        return {Written::done, true};
      if (is_certain(answer, is_upload)) throw Error(*answer.error);
      if (status == 409 && is_upload) return {Written::lost};
      const auto found = look_up(name, stop);
      const Evidence evidence = found ? io::compare(*found, proof) : Evidence::other;
      if (evidence == Evidence::same || (evidence == Evidence::none && (!answer.error || (may_be_ours && status != 0))))
        return {Written::done, !answer.error};
      may_be_ours = may_be_ours || (answer.verdict.remedy == RetryDecision::retry && !answer.verdict.throttled);
      if (status == 412) return {Written::exists};
      if (status == 404) return {found ? Written::exists : Written::lost};
      if (!answer.error && !must_be_new) return {Written::exists, true};  // replaced by another process
      if (!answer.error) refuse_other_bytes(name);
      if (status == 409) answer.verdict = {RetryDecision::retry, ErrorCode::conflict, false};
      try_again(attempts, answer);
    }
  }

  static io::ObjectInfo info_in(const HttpResponse& response, const std::string& name, std::uint64_t size) {
    return {name, size, object_version(response.headers), object_checksum(response.headers)};
  }

  /// Whether a refusal says that nothing was written, and nothing will be.
  static bool is_certain(const Answer& answer, bool is_upload) {
    const int status = answer.response.status;
    return answer.error && answer.verdict.remedy == RetryDecision::fatal && status != 409 && status != 412 &&
           !(status == 404 && is_upload);
  }

  [[noreturn]] void refuse_other_bytes(const std::string& name) const {
    const std::string address = address_of(name);
    throw Error(ErrorCode::corrupt, At{address},
                "'{}': the store accepted the object but reports another size or checksum; run the same command again",
                address);
  }

  /// An error in the body of a success.
  void take_error(const Request& request, const std::string& text, Answer& answer) const {
    const S3ErrorBody body = read_error_body(text);
    if (body.code.empty()) return;
    answer.verdict = judge(answer.response.status, body.code);
    answer.error = error_of(request, answer.response.status, body, answer.verdict);
  }

  /// What `read` makes of the body of a success. A body that is broken, or contains an error, is requested again like a
  /// failed request.
  template <class Parsed>
  Parsed ask(const Request& request, const std::stop_token& stop,
             Parsed (*read)(std::string_view text, const std::string& url), HttpHeaders* headers = nullptr) {
    for (Attempts attempts(retry(), stop);;) {
      std::string text;
      Answer answer = persist(request, collect_body(text, kLongestPage), stop);
      if (answer.error) throw Error(*answer.error);
      if (headers != nullptr) *headers = answer.response.headers;
      try {
        return read(text, bucket_address_);
      } catch (const Error& broken) {
        answer.verdict = {RetryDecision::retry, ErrorCode::corrupt, false};
        answer.error = broken;
        take_error(request, text, answer);
      }
      attempts.failed(*answer.error, answer.verdict);
    }
  }

  /// By ListObjectsV2, a thousand keys a page, in the order of their bytes. With a `delimiter`, keys that contain it
  /// after the prefix are grouped into prefixes.
  void for_each_page(const std::string& prefix, const std::string& delimiter,
                     const std::function<void(S3Listing&)>& each) {
    for (std::string token;;) {
      Request request("");
      request.query = {{"list-type", "2"}, {"encoding-type", "url"}};  // XML cannot contain every key
      if (!prefix.empty()) request.query.emplace_back("prefix", prefix);
      if (!delimiter.empty()) request.query.emplace_back("delimiter", delimiter);
      if (!token.empty()) request.query.emplace_back("continuation-token", token);
      S3Listing listing = ask(request, stop(), &read_listing);
      each(listing);
      if (listing.next_token.empty()) return;
      if (listing.next_token == token) refuse_same_page();
      token = std::move(listing.next_token);
    }
  }

  RemoteStore::Answer attempt(const Request& request, const HeadHandler& on_success,
                              const std::stop_token& stop) override {
    if (request.attempts != nullptr) ++*request.attempts;
    for (int regions = 0;; ++regions) {
      Exchange result;
      try {
        result = exchange(request, on_success, stop);
      } catch (const Error& error) {
        return unanswered(error);
      }
      const int status = result.response.status;
      if (status >= 200 && status < 300) return {std::move(result.response), {}, {}};
      const S3ErrorBody body = reason_of(result, request, stop);
      if (regions < kMostRegions && take_region(result.response, body, result.region)) continue;
      AnswerVerdict verdict = judge(status, body.code);
      if (verdict.remedy == RetryDecision::refresh_credentials) {
        if (result.credentials)
          credentials_->renew(*result.credentials, stop);
        else
          verdict.remedy = RetryDecision::fatal;
      }
      if (verdict.remedy == RetryDecision::correct_clock && !take_clock(result.response, result.skew_seconds))
        verdict.remedy = RetryDecision::fatal;
      Error error = error_of(request, status, body, verdict);
      return {std::move(result.response), verdict, std::move(error)};
    }
  }

  /// A response with the settings of its request.
  struct Exchange {
    HttpResponse response;
    std::string body;  ///< of a response that is not a success
    std::shared_ptr<const Credentials> credentials;
    std::string region;
    std::int64_t skew_seconds = 0;  ///< of the store's clock, as assumed for it
  };
  Exchange exchange(const Request& request, const HeadHandler& on_success, const std::stop_token& stop) {
    Exchange result;
    const S3Settings settings = this->settings();
    result.region = settings.region;
    result.skew_seconds = skew_seconds_;
    try {
      if (credentials_) result.credentials = credentials_->get(stop);
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("'{}': {}", address_of_key(request.key), error.what()),
                  address_of_key(request.key));
    }
    HttpRequest message = request;
    message.url = s3_url(settings, bucket_, request.key);
    message.url.query = canonical_query(request.query);
    if (settings.requester_pays) message.headers.add("x-amz-request-payer", "requester");
    const auto complete = [&](HttpRequest& next, bool own_host) {
      if (own_host && result.credentials) sign(next, result);
      // Not signed, because Google changes it on the way. Without it, it unpacks what is stored with gzip.
      if (settings.scheme == "gs") next.headers.add("Accept-Encoding", "gzip");
    };
    const auto is_of_this_region = [&](const HttpResponse& response) {
      const std::string_view region = response.headers.get("x-amz-bucket-region");
      return region.empty() || region == settings.region;
    };
    result.response =
        send_following(std::move(message), by_status(on_success, result.body), complete, is_of_this_region, stop);
    return result;
  }

  void sign(HttpRequest& request, const Exchange& with) const {
    make_canonical(request.url);
    sign_v4(request, with.credentials->key, {with.region, "s3"},
            retry().clock->now() + std::chrono::seconds(with.skew_seconds));
  }

  /// The store's error text. A response to HEAD has no body: one to GET has.
  S3ErrorBody reason_of(const Exchange& result, const Request& request, const std::stop_token& stop) {
    const int status = result.response.status;
    if (request.method != "HEAD" || (status != 400 && status != 403)) return read_error_body(result.body);
    Request by_get(request.key, "GET", request.query, request.headers);
    by_get.headers.set("Range", range_header(0, 1));
    try {
      return read_error_body(exchange(
                                 by_get, [](const HttpResponse&) { return BodyWriter(); }, stop)
                                 .body);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::network) throw;
      return {};
    }
  }

  Error error_of(const Request& request, int status, const S3ErrorBody& body, const AnswerVerdict& verdict) const {
    const std::string name = request.key.empty() ? bucket_address_ : address_of_key(request.key);
    const S3Settings now = settings();
    const std::string at = now.endpoint ? fmt::format(" at '{}'", now.endpoint->display()) : "";
    return Error(verdict.code,
                 fmt::format("'{}'{}: status {}{}{}{}{}{}", name, at, status, body.code.empty() ? "" : " ", body.code,
                             body.message.empty() ? "" : ": ", body.message,
                             remedy_for(request.method, body, status, !credentials_)),
                 name);
  }

  /// True if the response names another region, which is then used.
  bool take_region(const HttpResponse& response, const S3ErrorBody& body, const std::string& used) {
    std::string region(response.headers.get("x-amz-bucket-region"));
    if (region.empty()) region = body.region;
    constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyz0123456789-";
    if (region.empty() || region == used || region.find_first_not_of(allowed) != std::string::npos) return false;
    const std::scoped_lock lock(mutex_);
    settings_.region = region;
    return true;
  }

  /// True if the store's clock differs from the one a request assumed; another request may have corrected it meanwhile.
  bool take_clock(const HttpResponse& response, std::int64_t used) {
    const auto date = system::parse_http_date(response.headers.get("date"));
    if (!date) return false;
    const auto skew = std::chrono::duration_cast<std::chrono::seconds>(*date - retry().clock->now()).count();
    skew_seconds_ = skew;
    return std::abs(skew - used) > kTolerableSkew;
  }

  S3Settings settings() const {
    const std::scoped_lock lock(mutex_);
    return settings_;
  }

  const std::string bucket_;
  std::string prefix_;  ///< of all keys; empty, or ends with '/'
  const std::string bucket_address_;
  std::string location_;
  const std::shared_ptr<CredentialCache> credentials_;
  mutable std::mutex mutex_;
  S3Settings settings_;
  std::atomic<bool> has_conditions_ = true;     ///< the store does not refuse If-None-Match
  std::atomic<bool> keeps_whole_ = false;       ///< a PUT with If-None-Match was refused
  std::atomic<bool> checks_whole_ = false;      ///< it compares an object of parts with the checksum of all its bytes
  std::atomic<std::int64_t> skew_seconds_ = 0;  ///< offset of the store's clock
};

}  // namespace

std::unique_ptr<io::ObjectStore> s3_store(S3Location folder, S3Settings settings,
                                          std::shared_ptr<CredentialCache> credentials, StoreAccess access) {
  return std::make_unique<S3Store>(std::move(folder), std::move(settings), std::move(credentials), std::move(access));
}

}  // namespace shardkit::net
