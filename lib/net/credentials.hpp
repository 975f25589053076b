#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "net/sigv4.hpp"
#include "system/clock.hpp"

namespace shardkit::net {

/// A key to sign with, and its expiry.
struct Credentials {
  SigningKey key;
  std::optional<system::WallTime> expires;
  std::string source;  ///< source for messages: "the environment", "profile 'x'", ...
};

/// One possible source of credentials.
struct CredentialProvider {
  std::string name;  ///< for messages: "the environment"
  /// Empty if this source is not configured. Throws Error if it is but does not work: a chain must not continue with
  /// other credentials than the intended ones. No error contains a secret.
  std::function<std::optional<Credentials>(const std::stop_token& stop)> find;
};

using CredentialChain = std::vector<CredentialProvider>;

/// The current credentials: from the first provider that has some, kept, and replaced five minutes before they expire
/// (at half their lifetime if it is shorter). One thread renews them while the others continue with the old ones, or
/// wait if these have expired. Thread-safe.
class CredentialCache {
 public:
  /// `prefix`: of the variables that the message names if there are none.
  CredentialCache(CredentialChain chain, system::Clock& clock, std::string prefix = "AWS")
      : chain_(std::move(chain)), clock_(clock), prefix_(std::move(prefix)) {}

  /// Throws Error{denied} if no provider has any, the Error of a failed provider, Error{cancelled}. A failure to renew
  /// valid credentials is ignored, and tried again a minute later.
  std::shared_ptr<const Credentials> get(const std::stop_token& stop);

  /// The store reports that these have expired: looks for others. Throws Error{denied} if there are only the same.
  void renew(const Credentials& expired, const std::stop_token& stop);

 private:
  std::shared_ptr<const Credentials> find(const std::stop_token& stop);
  std::shared_ptr<const Credentials> refresh(std::unique_lock<std::mutex>& lock, const std::stop_token& stop);
  bool usable() const;

  CredentialChain chain_;
  system::Clock& clock_;
  const std::string prefix_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::shared_ptr<const Credentials> current_;
  system::WallTime refresh_at_{};
  bool refreshing_ = false;
  std::uint64_t failures_ = 0;
  std::optional<Error> failure_;
};

}  // namespace shardkit::net
