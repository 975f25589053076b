#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "core/hash.hpp"

using namespace shardkit;

namespace {

std::string md5(std::string_view text) {
  Md5Stream stream;
  stream.update(as_bytes(text));
  return stream.finish();
}

}  // namespace

TEST_CASE("MD5 gives the digests of RFC 1321") {
  CHECK(md5("") == "d41d8cd98f00b204e9800998ecf8427e");
  CHECK(md5("abc") == "900150983cd24fb0d6963f7d28e17f72");
  CHECK(md5("abcdefghijklmnopqrstuvwxyz") == "c3fcd3d76192e4007dfb496cca67e13b");
}

TEST_CASE("pieces of any length give the digest of the whole") {
  const std::string text(1000, 'x');
  for (const std::size_t piece : {1, 63, 64, 65, 999}) {
    Md5Stream stream;
    for (std::size_t at = 0; at < text.size(); at += piece)
      stream.update(as_bytes(text).subspan(at).first(std::min(piece, text.size() - at)));
    CHECK(stream.finish() == md5(text));
  }
}
