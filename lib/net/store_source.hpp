#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "io/object_source.hpp"
#include "net/credentials.hpp"
#include "net/http_client.hpp"
#include "net/object_store.hpp"
#include "net/retry.hpp"
#include "net/s3_settings.hpp"

namespace shardkit {

struct StoreOptions {
  S3Options s3;
  HttpOptions http = http_options(process_environment());
  RetryOptions retry;
};

/// A store with what it stands on, and the key or prefix that its address named.
struct OpenStore {
  std::unique_ptr<Http> http;
  std::unique_ptr<CredentialCache> credentials;  ///< null: anonymous, or plain HTTP
  std::unique_ptr<ObjectStore> store;
  std::string key;
};

/// Opens s3://bucket/key or an http(s) URL, by this process's environment where `options` are silent. Nothing is sent
/// yet. Throws Error{usage} for other addresses.
OpenStore open_store(const std::string& address, const StoreOptions& options);

/// The objects below an address as a source: s3://bucket/train and s3://bucket/train/ are the folder "train/". Names
/// are relative to it. Objects whose names end in '/', which consoles make to show empty folders, are left out. What
/// waits ends when `stop` is requested.
std::unique_ptr<ObjectSource> open_store_source(const std::string& address, const StoreOptions& options,
                                                std::stop_token stop);

}  // namespace shardkit
