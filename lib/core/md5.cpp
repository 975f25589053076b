#include "core/md5.hpp"

#include <array>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "core/error.hpp"

namespace shardkit {

struct Md5Stream::State {
  State() : context(EVP_MD_CTX_new()) {}
  ~State() { EVP_MD_CTX_free(context); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  EVP_MD_CTX* context;
};

Md5Stream::Md5Stream() : state_(std::make_unique<State>()) {
  if (EVP_DigestInit_ex(state_->context, EVP_md5(), nullptr) == 1) return;
  throw Error(ErrorCode::unsupported, "this system's OpenSSL does not allow MD5, which wids indexes are made of");
}

Md5Stream::~Md5Stream() = default;

void Md5Stream::update(Bytes bytes) { EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()); }

std::string Md5Stream::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_DigestFinal_ex(state_->context, digest.data(), &size);
  std::string text;
  for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

}  // namespace shardkit
