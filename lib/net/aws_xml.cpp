#include "net/aws_xml.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "core/error.hpp"
#include "core/text.hpp"
#include "net/url.hpp"
#include "net/remote_store.hpp"

namespace shardkit::net {
namespace {

/// Blanks within texts belong to keys; entities are resolved; a document type, which could define its own, is not read.
/// Line ends stay as they are: radosgw's token is a raw key, which may contain a carriage return.
constexpr unsigned kParse = pugi::parse_cdata | pugi::parse_escapes | pugi::parse_ws_pcdata_single;

constexpr std::size_t kLongestMessage = 300;

class Document {
 public:
  explicit Document(std::string_view xml)
      : parsed_(document_.load_buffer(xml.data(), xml.size(), kParse, pugi::encoding_utf8)) {}

  const char* fault() const { return parsed_ ? nullptr : parsed_.description(); }
  /// The outermost element, when it is called so.
  pugi::xml_node root(const char* name) const {
    const pugi::xml_node node = document_.document_element();
    return fault() == nullptr && std::strcmp(node.name(), name) == 0 ? node : pugi::xml_node();
  }

 private:
  pugi::xml_document document_;
  pugi::xml_parse_result parsed_;
};

std::string text_of(const pugi::xml_node& parent, const char* name) { return parent.child_value(name); }

[[noreturn]] void refuse(const std::string& url, std::string_view what) {
  throw Error(ErrorCode::corrupt, At{url}, "'{}' did not answer with a listing of objects: {}", url, what);
}

io::ObjectInfo read_object(const pugi::xml_node& entry, bool is_encoded, const std::string& url) {
  const std::string key = text_of(entry, "Key");
  if (key.empty()) refuse(url, "an object has no Key");
  const std::string name = is_encoded ? form_decode(key) : key;
  const auto size = parse_count(text_of(entry, "Size"));
  if (!size) refuse(url, fmt::format("the object '{}' has no Size", name));
  return {name, *size, version_of_etag(text_of(entry, "ETag"))};
}

/// One line without control characters, for messages.
std::string printable(std::string text) {
  if (text.size() > kLongestMessage) text.resize(kLongestMessage);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return text;
}

/// The outermost element of an answer, which must be called `name`.
pugi::xml_node root_of(const Document& document, const char* name, const std::string& url) {
  if (document.fault() != nullptr) refuse(url, document.fault());
  const pugi::xml_node root = document.root(name);
  if (!root) refuse(url, fmt::format("the element {} is missing", name));
  return root;
}

/// Whether more pages follow.
bool is_truncated(const pugi::xml_node& root, const std::string& url) {
  const std::string text = text_of(root, "IsTruncated");
  if (text != "true" && text != "false") refuse(url, "IsTruncated is missing");
  return text == "true";
}

constexpr const char* kNoToken = "it is not the last page but has no token for the next one";

}  // namespace

S3Listing read_listing(std::string_view xml, const std::string& url) {
  const Document document(xml);
  const pugi::xml_node root = root_of(document, "ListBucketResult", url);
  const bool is_encoded = text_of(root, "EncodingType") == "url";
  S3Listing listing;
  for (const pugi::xml_node& entry : root.children("Contents")) {
    listing.objects.push_back(read_object(entry, is_encoded, url));
  }
  for (const pugi::xml_node& entry : root.children("CommonPrefixes")) {
    const std::string prefix = text_of(entry, "Prefix");
    listing.prefixes.push_back(is_encoded ? form_decode(prefix) : prefix);
  }
  if (!is_truncated(root, url)) return listing;
  listing.next_token = text_of(root, "NextContinuationToken");  // never encoded, even with EncodingType
  if (listing.next_token.empty()) refuse(url, kNoToken);
  return listing;
}

std::string read_upload_id(std::string_view xml, const std::string& url) {
  const Document document(xml);
  std::string id = text_of(root_of(document, "InitiateMultipartUploadResult", url), "UploadId");
  if (id.empty()) refuse(url, "UploadId is missing");
  return id;
}

S3Parts read_parts(std::string_view xml, const std::string& url) {
  const Document document(xml);
  const bool is_of_moto = static_cast<bool>(document.root("ListPartsResponse"));
  const pugi::xml_node root = root_of(document, is_of_moto ? "ListPartsResponse" : "ListPartsResult", url);
  S3Parts page;
  page.checksum_type = text_of(root, "ChecksumType");
  for (const pugi::xml_node& entry : root.children("Part")) {
    const auto number = parse_count(text_of(entry, "PartNumber"));
    const auto size = parse_count(text_of(entry, "Size"));
    if (!number || !size) refuse(url, "a part has no PartNumber or Size");
    const auto checksum = first_checksum([&](std::string_view kind) {
      std::string name = "Checksum";
      std::ranges::transform(kind, std::back_inserter(name), [](char c) { return c >= 'a' ? c - 'a' + 'A' : c; });
      return std::string_view(entry.child_value(name.c_str()));
    });
    page.parts.push_back({*number, *size, text_of(entry, "ETag"), checksum, text_of(entry, "LastModified")});
  }
  if (!is_truncated(root, url)) return page;
  page.next_marker = text_of(root, "NextPartNumberMarker");
  if (page.next_marker.empty()) refuse(url, kNoToken);
  return page;
}

S3Uploads read_uploads(std::string_view xml, const std::string& url) {
  const Document document(xml);
  const pugi::xml_node root = root_of(document, "ListMultipartUploadsResult", url);
  const bool is_encoded = text_of(root, "EncodingType") == "url";
  const auto key_in = [&](const pugi::xml_node& node, const char* name) {
    return is_encoded ? form_decode(text_of(node, name)) : text_of(node, name);
  };
  S3Uploads page;
  for (const pugi::xml_node& entry : root.children("Upload"))
    page.uploads.push_back({key_in(entry, "Key"), text_of(entry, "UploadId"), text_of(entry, "Initiated")});
  if (!is_truncated(root, url)) return page;
  page.next_key = key_in(root, "NextKeyMarker");
  page.next_id = text_of(root, "NextUploadIdMarker");
  if (page.next_key.empty()) refuse(url, kNoToken);
  return page;
}

S3ErrorBody read_error_body(std::string_view xml) {
  const Document document(xml);
  pugi::xml_node error = document.root("Error");
  if (!error) error = document.root("ErrorResponse").child("Error");  // STS
  return {printable(text_of(error, "Code")), printable(text_of(error, "Message")), printable(text_of(error, "Region"))};
}

std::optional<Credentials> read_sts_grant(std::string_view xml) {
  const Document document(xml);
  for (const char* action : {"AssumeRole", "AssumeRoleWithWebIdentity"}) {
    const pugi::xml_node found = document.root(fmt::format("{}Response", action).c_str())
                                     .child(fmt::format("{}Result", action).c_str())
                                     .child("Credentials");
    const Credentials granted{{text_of(found, "AccessKeyId"), Secret(text_of(found, "SecretAccessKey")),
                               Secret(text_of(found, "SessionToken"))},
                              system::parse_iso8601(text_of(found, "Expiration")),
                              {}};
    if (!granted.key.access_key_id.empty() && !granted.key.secret_access_key.empty()) return granted;
  }
  return std::nullopt;
}

}  // namespace shardkit::net
