#pragma once

#include <memory>
#include <string>

#include "core/bytes.hpp"

namespace shardkit {

/// Streaming MD5 (RFC 1321), for formats of others that ask for it. It protects from accidents only, and costs more
/// than XXH3 by far. Throws Error{unsupported} where the system's OpenSSL forbids it (FIPS mode).
class Md5Stream {
 public:
  Md5Stream();
  ~Md5Stream();
  Md5Stream(const Md5Stream&) = delete;
  Md5Stream& operator=(const Md5Stream&) = delete;

  void update(Bytes bytes);
  /// 32 lower-case hexadecimal digits, as md5sum prints them. Nothing may follow.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace shardkit
