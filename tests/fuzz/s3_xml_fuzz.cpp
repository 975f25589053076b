// XML of S3 and STS: a listing is read or refused as corrupt, errors and grants are read or not there; messages stay
// short and on one line.

#include "fuzz/fuzz.hpp"
#include "net/aws_xml.hpp"

using namespace shardkit;
using namespace shardkit::io;
using namespace shardkit::net;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(fuzz::bytes_of(data, size));
  fuzz::may_fail_with({ErrorCode::corrupt}, [&] {
    const S3Listing listing = read_listing(text, "fuzz");
    for (const ObjectInfo& object : listing.objects) fuzz::promise(!object.name.empty());
  });
  const S3ErrorBody error = read_error_body(text);
  for (const std::string& part : {error.code, error.message, error.region}) {
    fuzz::promise(part.size() <= 300);
    for (const char c : part) fuzz::promise(static_cast<unsigned char>(c) >= 0x20);
  }
  read_sts_grant(text);
  return 0;
}
