#include "net/authorities.hpp"

#include <unistd.h>

namespace shardkit::net {

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

}  // namespace shardkit::net
