#pragma once

#include <array>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "io/object_source.hpp"
#include "net/credentials.hpp"
#include "net/http_client.hpp"
#include "net/remote_store.hpp"
#include "net/retry.hpp"
#include "net/s3_store.hpp"
#include "net/url.hpp"

namespace shardkit::net {

struct StoreOptions {
  S3Options s3;
  HttpOptions http = http_options(system::process_environment());
  RetryOptions retry;
  Secret token;  ///< bearer token for the web servers that StoreOpener::trust() names; may be empty
};

/// The bearer token in SHARDKIT_TOKEN; empty without it. Throws Error{usage} if it is not one word.
Secret bearer_token(const system::EnvironmentLookup& environment);

class StoreOpener;

/// One kind of store: a row of the table in store_opener.cpp. A new store is an io::ObjectSource and one row.
struct StoreScheme {
  std::string_view name;  ///< "s3", in lower case
  bool is_web = false;    ///< paths are percent-encoded; a URL may contain a login and a query
  /// Of buckets. Throws Error{usage} for an address that is not valid.
  S3Location (*parse)(std::string_view address) = nullptr;
  std::unique_ptr<io::ObjectSource> (*open)(StoreOpener& opener, const std::string& address,
                                            const std::stop_token& stop) = nullptr;
  /// Null for a store that is only read.
  std::unique_ptr<io::ObjectStore> (*open_to_write)(StoreOpener& opener, const std::string& address,
                                                    const std::stop_token& stop) = nullptr;
};

/// The row for an address, by its scheme in any case; null for an unknown one.
const StoreScheme* find_store_scheme(std::string_view address);

/// Opens stores that share their connections and credentials: a thousand presigned URLs need no more of them than one.
/// The stores may outlive it. For one thread at a time.
class StoreOpener {
 public:
  explicit StoreOpener(StoreOptions options);

  /// The objects below s3://bucket/prefix or an http(s) URL, whose own object has the name ""; options that are not
  /// given come from this process's environment. A request of `stop` ends waits. Sends nothing yet. Throws Error{usage}
  /// for other addresses.
  std::unique_ptr<io::ObjectSource> open(const std::string& address, const std::stop_token& stop = {});
  std::unique_ptr<io::ObjectSource> open(const Url& url, const std::stop_token& stop = {});

  /// The same, to write there. Throws Error{usage} also for stores that are only read.
  std::unique_ptr<io::ObjectStore> open_to_write(const std::string& address, const std::stop_token& stop = {});

  /// From now on the token is sent to the server of this URL: the user named it. Without TLS only on this machine.
  void trust(const Url& url);

  /// Buckets that are opened from now on have certificates of these authorities, unless a variable names others.
  void use_authorities(const std::string& file);

  const StoreOptions& options() const { return options_; }
  const std::shared_ptr<Http>& http() const { return http_; }
  /// AWS's, or Google's, searched for on the first call; null for anonymous access.
  std::shared_ptr<CredentialCache> credentials(const CloudEnvironment& around, bool is_google);

 private:
  StoreOptions options_;
  std::shared_ptr<Http> http_;
  std::array<std::shared_ptr<CredentialCache>, 2> credentials_;  ///< AWS's and Google's
  std::vector<Url> trusted_;
};

}  // namespace shardkit::net
