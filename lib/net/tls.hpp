#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "net/http_client.hpp"

namespace shardkit::net {

/// Where a host keeps the certificates of the authorities that it trusts. A path is empty if the host has none there.
struct Authorities {
  std::filesystem::path file;    ///< PEM
  std::filesystem::path folder;  ///< hashed, as c_rehash makes it
};

/// Distributions have them at different paths, and a program that runs on all of them looks at each. `root` is for
/// tests.
Authorities find_authorities(const std::filesystem::path& root = "/");

/// The certificates that `options` name, else those of the host, as an X509_STORE for all connections: libcurl would
/// read them for each. Throws Error{denied}.
std::shared_ptr<void> read_authorities(const HttpOptions& options);

/// What the latest TLS handshake of a connection showed of its server, for errors.
struct TlsPeer {
  std::string host;                   ///< name or address that its certificate must have; set before the handshake
  std::vector<std::string> names;     ///< names and addresses of its certificate, the first few
  bool is_other = false;              ///< its certificate is not for `host`
  bool asks_for_certificate = false;  ///< of its clients
};

/// Lets connections of `context`, an SSL_CTX, trust `authorities` and fill `peer`. Both outlive them.
void set_up_tls(void* context, void* authorities, TlsPeer& peer);

}  // namespace shardkit::net
