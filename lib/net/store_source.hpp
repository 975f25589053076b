#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

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
};

/// A store with what it stands on, and the key or prefix that its address named.
struct OpenStore {
  std::shared_ptr<Http> http;
  std::shared_ptr<CredentialCache> credentials;  ///< null: anonymous, or plain HTTP
  std::unique_ptr<ObjectStore> store;
  std::string key;
};

class StoreOpener;

/// One kind of store: a row of the registry. Another store is a folder with its ObjectStore and one row.
struct StoreScheme {
  std::string_view name;  ///< "s3", in lower case
  bool is_web = false;    ///< paths are percent-encoded; a login and a query may belong to them
  /// Throws Error{usage} for an address that is not valid. May be null: only "scheme://bucket/key" is asked for.
  void (*check)(std::string_view address) = nullptr;
  OpenStore (*open)(StoreOpener& opener, const std::string& address) = nullptr;
};

/// The row for an address, by its scheme in any case; null for an unknown one.
const StoreScheme* find_store_scheme(std::string_view address);
/// Adds a row, or replaces the one of that name. Before other threads run.
void register_store_scheme(const StoreScheme& scheme);

/// Opens stores that share their connections and credentials: a thousand presigned URLs cost no more of them than one.
/// The stores may outlive it. One thread at a time.
class StoreOpener {
 public:
  explicit StoreOpener(StoreOptions options);

  /// Opens an address of a registered scheme, such as s3://bucket/key or an http(s) URL, by this process's environment
  /// where the options are silent. Nothing is sent yet. Throws Error{usage} for other addresses.
  OpenStore open(const std::string& address);
  OpenStore open(const Url& url);

  const StoreOptions& options() const { return options_; }
  const std::shared_ptr<Http>& http() const { return http_; }
  /// AWS's, found when first asked for; null when anonymous.
  const std::shared_ptr<CredentialCache>& credentials(const CloudSurroundings& around);

 private:
  StoreOptions options_;
  std::shared_ptr<Http> http_;
  std::shared_ptr<CredentialCache> credentials_;
};

/// The objects below the address of `store` as a source: s3://bucket/train and s3://bucket/train/ are the folder
/// "train/". Names are relative to it; "" is the object at an http(s) URL itself. Objects whose names end in '/', which
/// consoles make to show empty folders, are left out. What waits ends when `stop` is requested.
std::unique_ptr<io::ObjectSource> store_source(OpenStore store, std::stop_token stop);

}  // namespace shardkit::net
