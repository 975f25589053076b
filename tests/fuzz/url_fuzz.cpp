// URLs: what parses reads back from its own text, shows no secret, and holds nothing that could split a request;
// encodings turn back.

#include <string>

#include "fuzz/fuzz.hpp"
#include "net/http.hpp"
#include "net/url.hpp"
#include "system/clock.hpp"

using namespace shardkit;
using namespace shardkit::net;
using namespace shardkit::system;

namespace {

void promise_one_line(std::string_view text) {
  for (const char c : text) fuzz::promise(static_cast<unsigned char>(c) > 0x20 && c != 0x7f);
}

void promise_sound(const Url& url) {
  fuzz::promise((url.scheme == "http" || url.scheme == "https") && !url.host.empty() && url.path.starts_with('/'));
  promise_one_line(url.text());
  Url open = url;
  open.user.clear();
  open.password.clear();
  fuzz::promise(parse_url(url.text()) == open);
  fuzz::promise(url.display().find('?') == std::string::npos || url.display().ends_with("?..."));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(fuzz::bytes_of(data, size));
  const Url base = parse_url("https://user:password@host:8443/folder/file?query");
  fuzz::may_fail_with({ErrorCode::usage}, [&] { promise_sound(parse_url(text)); });
  fuzz::may_fail_with({ErrorCode::usage}, [&] { promise_sound(resolve_location(base, text)); });
  fuzz::may_fail_with({ErrorCode::usage, ErrorCode::unsupported}, [&] {
    const S3Location location = parse_s3_location(text);
    fuzz::promise(parse_s3_location("s3://" + location.bucket + "/" + location.key) == location);
  });
  fuzz::promise(percent_decode(percent_encode(text)) == text);
  fuzz::promise(percent_decode(percent_encode_path(text)) == text);
  fuzz::promise(form_decode(percent_encode(text)) == text);
  promise_one_line(canonical_query({{std::string(text), std::string(text)}}));
  if (const auto range = parse_content_range(text)) fuzz::promise(range->first <= range->last);
  parse_iso8601(text);
  parse_http_date(text);
  return 0;
}
