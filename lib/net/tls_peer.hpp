#pragma once

#include <string>
#include <vector>

namespace shardkit::net {

/// What the latest TLS handshake of a connection showed of its server, for errors.
struct TlsPeer {
  std::string host;                   ///< name or address that its certificate must have; set before the handshake
  std::vector<std::string> names;     ///< names and addresses of its certificate, the first few
  bool is_other = false;              ///< its certificate is not for `host`
  bool asks_for_certificate = false;  ///< of its clients
};

/// Lets connections of `context`, an SSL_CTX, fill `peer`, which outlives them. Their certificates are checked as
/// before.
void watch_tls(void* context, TlsPeer& peer);

}  // namespace shardkit::net
