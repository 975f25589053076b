#include "net/tls.hpp"

#include <array>
#include <string_view>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include "core/error.hpp"

namespace shardkit::net {
namespace {

constexpr std::size_t kMostNames = 5;

std::string text_of(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

std::string address_of(const ASN1_OCTET_STRING* bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = ASN1_STRING_length(bytes) == 4 ? AF_INET : AF_INET6;
  return ::inet_ntop(family, ASN1_STRING_get0_data(bytes), text.data(), text.size()) != nullptr ? text.data() : "";
}

std::vector<std::string> names_of(const X509* certificate) {
  std::vector<std::string> names;
  const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> found(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
      &GENERAL_NAMES_free);
  for (int i = 0; found && i < sk_GENERAL_NAME_num(found.get()) && names.size() < kMostNames; ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(found.get(), i);
    if (name->type == GEN_DNS) names.push_back(text_of(name->d.dNSName));
    if (name->type == GEN_IPADD) names.push_back(address_of(name->d.iPAddress));
  }
  return names;
}

bool is_for(X509* certificate, std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return X509_check_host(certificate, host.data(), host.size(), 0, nullptr) == 1 ||
         X509_check_ip_asc(certificate, std::string(host).c_str(), 0) == 1;
}

int look_at_certificate(X509_STORE_CTX* context, void* user) noexcept {
  try {
    auto& peer = *static_cast<TlsPeer*>(user);
    X509* certificate = X509_STORE_CTX_get0_cert(context);
    if (certificate != nullptr) {
      peer.names = names_of(certificate);
      peer.is_other = !is_for(certificate, peer.host);
    }
  } catch (...) {  // without names the error is less clear
  }
  return X509_verify_cert(context);
}

/// The slot of a context in which its peer is kept.
int peer_slot() {
  static const int slot = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return slot;
}

/// Called when the server asks; we have none.
int note_request(SSL* connection, X509** /*certificate*/, EVP_PKEY** /*key*/) {
  auto* peer = static_cast<TlsPeer*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(connection), peer_slot()));
  if (peer != nullptr) peer->asks_for_certificate = true;
  return 0;
}

}  // namespace

Authorities find_authorities(const std::filesystem::path& root) {
  Authorities found;
  for (const char* file : {
           "etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Arch, Alpine
           "etc/pki/tls/certs/ca-bundle.crt",                   // RHEL, Rocky, Amazon
           "etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Fedora
           "etc/ssl/ca-bundle.pem",                             // SUSE
           "etc/ssl/cert.pem",                                  // Alpine without the package ca-certificates
       }) {
    if (::access((root / file).c_str(), R_OK) != 0) continue;
    found.file = root / file;
    break;
  }
  if (std::error_code ignored; std::filesystem::is_directory(root / "etc/ssl/certs", ignored)) {
    found.folder = root / "etc/ssl/certs";
  }
  return found;
}

std::shared_ptr<void> read_authorities(const HttpOptions& options) {
  const Authorities known = find_authorities();
  const std::string file = options.ca_file.empty() ? known.file.string() : options.ca_file;
  const std::string folder = options.ca_folder.empty() ? known.folder.string() : options.ca_folder;
  if (file.empty() && folder.empty()) {
    throw Error(ErrorCode::denied,
                "this host has no certificates of authorities; install its package ca-certificates, or name a PEM file "
                "in SSL_CERT_FILE");
  }
  const std::shared_ptr<X509_STORE> store(X509_STORE_new(), &X509_STORE_free);
  if (store == nullptr || (!file.empty() && X509_STORE_load_file(store.get(), file.c_str()) != 1) ||
      (!folder.empty() && X509_STORE_load_path(store.get(), folder.c_str()) != 1)) {
    throw Error(ErrorCode::denied, At{file},
                "cannot read the certificates of authorities in '{}'{} and '{}'{}; correct or unset what "
                "names them",
                file, options.ca_name.empty() ? "" : fmt::format(" ({})", options.ca_name), folder,
                options.ca_folder.empty() ? "" : " (SSL_CERT_DIR)");
  }
  X509_STORE_set_flags(store.get(), X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_PARTIAL_CHAIN);
  return store;
}

void set_up_tls(void* context, void* authorities, TlsPeer& peer) {
  auto* tls = static_cast<SSL_CTX*>(context);
  SSL_CTX_set1_cert_store(tls, static_cast<X509_STORE*>(authorities));
  SSL_CTX_set_cert_verify_callback(tls, &look_at_certificate, &peer);
  SSL_CTX_set_ex_data(tls, peer_slot(), &peer);
  SSL_CTX_set_client_cert_cb(tls, &note_request);
}

}  // namespace shardkit::net
