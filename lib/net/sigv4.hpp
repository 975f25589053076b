#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/http.hpp"
#include "system/clock.hpp"

/// AWS Signature Version 4 in the Authorization header, as "Authenticating Requests: Using the Authorization Header" of
/// the Amazon S3 API reference has it: the path is signed as it is sent, never encoded a second time or normalised.
/// That is S3's rule; for other services it holds where path segments need no encoding (STS: "/").
namespace shardkit::net {

/// A text that no message, log or result may hold: a key, a token, a password. It cannot be printed or compared by
/// accident; reveal() is the one way out, at the few places that send or sign. Its memory is wiped when it goes.
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

  std::vector<char, Wiping<char>> text_;  // not a string, which holds a short text in itself
};

/// Lower-case hexadecimal SHA-256 of `text`.
std::string sha256_hex(std::string_view text);

/// Whose signature.
struct SigningKey {
  std::string access_key_id;
  Secret secret_access_key;
  Secret session_token;  ///< empty for long-lived keys
};

struct SigningScope {
  std::string region;
  std::string service = "s3";
};

/// Adds X-Amz-Date, X-Amz-Content-Sha256 (of the body; for s3 alone), X-Amz-Security-Token and Authorization to the
/// headers of `request`, taking the place of those that an earlier attempt left. All headers there are signed, and
/// Host. The query of the URL must be canonical already (canonical_query()).
void sign_v4(HttpRequest& request, const SigningKey& key, const SigningScope& scope, system::WallTime time);

}  // namespace shardkit::net
