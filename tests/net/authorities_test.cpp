#include <initializer_list>

#include <doctest/doctest.h>

#include "net/tls.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
namespace fs = std::filesystem;

namespace {

/// The file found in a host that has these files.
fs::path found_in(std::initializer_list<const char*> files) {
  const TempDir host;
  for (const char* file : files) write_file(host.path(file), "certificates");
  const fs::path found = net::find_authorities(host.path()).file;
  return found.empty() ? found : found.lexically_relative(host.path());
}

}  // namespace

TEST_CASE("the certificates of authorities are found on each distribution") {
  for (const char* file :
       {"etc/ssl/certs/ca-certificates.crt", "etc/pki/tls/certs/ca-bundle.crt",
        "etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "etc/ssl/ca-bundle.pem", "etc/ssl/cert.pem"}) {
    CHECK(found_in({file}) == file);
  }
  CHECK(found_in({"etc/ssl/cert.pem", "etc/ssl/certs/ca-certificates.crt"}) == "etc/ssl/certs/ca-certificates.crt");
}

TEST_CASE("a host without certificates of authorities has none") {
  CHECK(found_in({}).empty());
  CHECK(found_in({"etc/ssl/openssl.cnf"}).empty());
  const TempDir host;
  CHECK(net::find_authorities(host.path()).folder.empty());
  fs::create_directories(host.path("etc/ssl/certs"));
  CHECK(net::find_authorities(host.path()).folder == host.path("etc/ssl/certs"));
}
