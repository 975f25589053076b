#include "net/secret.hpp"

#include <utility>

#include <openssl/crypto.h>

namespace shardkit {

Secret::~Secret() { wipe(); }

Secret& Secret::operator=(const Secret& other) {
  if (this == &other) return *this;
  wipe();
  text_ = other.text_;
  return *this;
}

// A short text lies in the object itself, where a move would leave its bytes.
Secret::Secret(Secret&& other) noexcept : text_(std::move(other.text_)) { other.wipe(); }

Secret& Secret::operator=(Secret&& other) noexcept {
  if (this == &other) return *this;
  wipe();
  text_ = std::move(other.text_);
  other.wipe();
  return *this;
}

void Secret::wipe() {
  text_.resize(text_.capacity());
  OPENSSL_cleanse(text_.data(), text_.size());
  text_.clear();
}

}  // namespace shardkit
