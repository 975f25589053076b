#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/http.hpp"
#include "system/clock.hpp"

/// AWS Signature Version 4 in the Authorization header, as "Authenticating Requests: Using the Authorization Header" of
/// the Amazon S3 API reference defines it: the path is signed as it is sent, never encoded a second time or normalized.
/// This is S3's rule; for other services it is right if path segments need no encoding (STS: "/").
namespace shardkit::net {

/// A text that no message, log or result may contain: a key, a token, a password. It cannot be printed or compared by
/// accident; reveal() is the only access, at the few places that send or sign. The destructor wipes its memory.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string_view text) : text_(text.begin(), text.end()) {}

  bool empty() const { return text_.empty(); }
  std::string_view reveal() const { return {text_.data(), text_.size()}; }

 private:
  template <class T>
  struct Wiping : std::allocator<T> {
    void deallocate(T* memory, std::size_t count) {
      ::explicit_bzero(memory, count * sizeof(T));
      std::allocator<T>::deallocate(memory, count);
    }
  };

  std::vector<char, Wiping<char>> text_;  // not a string, which stores a short text inside the object
};

/// Lower-case hexadecimal SHA-256 of `text`.
std::string sha256_hex(std::string_view text);

/// The owner of a signature.
struct SigningKey {
  std::string access_key_id;
  Secret secret_access_key;
  Secret session_token;  ///< empty for long-lived keys
};

struct SigningScope {
  std::string region;
  std::string service = "s3";
};

/// Adds X-Amz-Date, X-Amz-Content-Sha256 (of the body, not of a payload; only for s3), X-Amz-Security-Token and
/// Authorization to the headers of `request`, and replaces those of an earlier attempt. Signs all headers there, and
/// Host. The query of the URL must already be canonical (canonical_query()).
void sign_v4(HttpRequest& request, const SigningKey& key, const SigningScope& scope, system::WallTime time);

}  // namespace shardkit::net
