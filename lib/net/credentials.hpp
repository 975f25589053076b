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

/// A key to sign with, and how long it is good.
struct Credentials {
  SigningKey key;
  std::optional<system::WallTime> expires;
  std::string source;  ///< where it was found, for messages: "the environment", "profile 'x'", ...
};

/// One place where credentials may be found.
struct CredentialProvider {
  std::string name;  ///< for messages: "the environment"
  /// Empty when nothing of this kind is set up here. Throws Error when it is and does not work: a chain must not go on
  /// to other credentials than those that were meant. No text of an error holds a secret.
  std::function<std::optional<Credentials>(const std::stop_token& stop)> find;
};

using CredentialChain = std::vector<CredentialProvider>;

/// The credentials in force: found by the first provider that has some, kept, and replaced five minutes before they
/// expire (at half their life when it is shorter). One thread looks while the others go on with the old ones, or wait
/// when these are of no use any more. Thread-safe.
class CredentialCache {
 public:
  CredentialCache(CredentialChain chain, system::Clock& clock) : chain_(std::move(chain)), clock_(clock) {}

  /// Throws Error{denied} when no provider has any, Error of the provider that failed, Error{cancelled}. A failure to
  /// replace credentials that are still good is let pass, and tried again a minute later.
  std::shared_ptr<const Credentials> get(const std::stop_token& stop);

  /// The store says that these have expired: looks for others. Throws Error{denied} when there are none but the same.
  void renew(const Credentials& expired, const std::stop_token& stop);

 private:
  std::shared_ptr<const Credentials> find(const std::stop_token& stop);
  std::shared_ptr<const Credentials> refresh(std::unique_lock<std::mutex>& lock, const std::stop_token& stop);
  bool usable() const;

  CredentialChain chain_;
  system::Clock& clock_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::shared_ptr<const Credentials> current_;
  system::WallTime refresh_at_{};
  bool refreshing_ = false;
  std::uint64_t failures_ = 0;
  std::optional<Error> failure_;
};

}  // namespace shardkit::net
