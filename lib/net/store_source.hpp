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
#include "net/object_store.hpp"
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

/// A store with its connections and credentials, and the key or prefix of its address.
struct OpenStore {
  std::shared_ptr<Http> http;
  std::shared_ptr<CredentialCache> credentials;  ///< null: anonymous, or plain HTTP
  std::unique_ptr<ObjectStore> store;
  std::string key;
};

class StoreOpener;

/// One kind of store: a row of the registry. A new store is a folder with its ObjectStore and one row.
struct StoreScheme {
  std::string_view name;  ///< "s3", in lower case
  bool is_web = false;    ///< paths are percent-encoded; a URL may contain a login and a query
  /// Throws Error{usage} for an address that is not valid. May be null: then only "scheme://bucket/key" is required.
  S3Location (*parse)(std::string_view address) = nullptr;
  OpenStore (*open)(StoreOpener& opener, const std::string& address) = nullptr;
};

/// The row for an address, by its scheme in any case; null for an unknown one.
const StoreScheme* find_store_scheme(std::string_view address);
/// Adds a row, or replaces the one with that name. Call it before other threads run.
void register_store_scheme(const StoreScheme& scheme);

/// Opens stores that share their connections and credentials: a thousand presigned URLs need no more of them than one.
/// The stores may outlive it. For one thread at a time.
class StoreOpener {
 public:
  explicit StoreOpener(StoreOptions options);

  /// Opens an address of a registered scheme, such as s3://bucket/key or an http(s) URL; options that are not given
  /// come from this process's environment. Sends nothing yet. Throws Error{usage} for other addresses.
  OpenStore open(const std::string& address);
  OpenStore open(const Url& url);

  /// From now on the token is sent to the server of this URL: the user named it. Without TLS only on this machine.
  void trust(const Url& url);

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

/// The objects below the address of `store` as a source: s3://bucket/train and s3://bucket/train/ are the folder
/// "train/". Names are relative to it; "" is the object at an http(s) URL itself. Objects whose names end in '/', which
/// consoles make to show empty folders, are left out. A request of `stop` ends waits.
std::unique_ptr<io::ObjectSource> store_source(OpenStore store, std::stop_token stop);

}  // namespace shardkit::net
