#include "net/credentials.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>

namespace shardkit::net {
namespace {

constexpr std::chrono::minutes kBeforeExpiry{5};
constexpr std::chrono::minutes kNextTry{1};

/// When to look for newer ones.
system::WallTime refresh_time(const Credentials& found, system::WallTime now) {
  if (!found.expires) return system::WallTime::max();
  if (*found.expires <= now) return now + kNextTry;  // a metadata service in trouble hands out its last ones
  return std::max<system::WallTime>(*found.expires - kBeforeExpiry, now + (*found.expires - now) / 2);
}

bool same_key(const Credentials& a, const Credentials& b) {
  return a.key.access_key_id == b.key.access_key_id && a.key.session_token.reveal() == b.key.session_token.reveal();
}

}  // namespace

std::shared_ptr<const Credentials> CredentialCache::get(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (current_ && clock_.now() < refresh_at_) return current_;
    if (!refreshing_) return refresh(lock, stop);
    if (usable()) return current_;
    const std::uint64_t failures = failures_;
    changed_.wait(lock, stop, [&] { return !refreshing_; });
    if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "interrupted while looking for credentials");
    if (failures_ != failures) throw Error(*failure_);
    if (current_) return current_;  // unless renew() has dropped them already
  }
}

void CredentialCache::renew(const Credentials& expired, const std::stop_token& stop) {
  {
    const std::scoped_lock lock(mutex_);
    if (current_ && same_key(*current_, expired)) current_.reset();
  }
  if (!same_key(*get(stop), expired)) return;
  throw Error(
      ErrorCode::denied,
      fmt::format("the credentials of {} have expired, and there are no newer ones; renew them", expired.source));
}

/// Called by the one thread that looks; `lock` is held before and after.
std::shared_ptr<const Credentials> CredentialCache::refresh(std::unique_lock<std::mutex>& lock,
                                                            const std::stop_token& stop) {
  refreshing_ = true;
  lock.unlock();
  std::shared_ptr<const Credentials> found;
  std::optional<Error> failure;
  try {
    found = find(stop);
  } catch (const Error& error) {
    failure.emplace(error);
  } catch (const std::exception& error) {  // the others must not wait for ever
    failure.emplace(ErrorCode::io, error.what());
  }
  lock.lock();
  refreshing_ = false;
  changed_.notify_all();
  if (found) {
    current_ = std::move(found);
    refresh_at_ = refresh_time(*current_, clock_.now());
  } else if (usable()) {
    refresh_at_ = clock_.now() + kNextTry;
  } else {
    ++failures_;
    failure_ = failure;
    throw Error(*failure);
  }
  return current_;
}

bool CredentialCache::usable() const { return current_ && (!current_->expires || clock_.now() < *current_->expires); }

std::shared_ptr<const Credentials> CredentialCache::find(const std::stop_token& stop) {
  std::string looked_at;
  for (const CredentialProvider& provider : chain_) {
    if (auto found = provider.find(stop)) return std::make_shared<const Credentials>(std::move(*found));
    looked_at += fmt::format("{}{}", looked_at.empty() ? "" : ", ", provider.name);
  }
  throw Error(ErrorCode::denied,
              fmt::format("no credentials for {2} were found (searched: {0}); set {1}_ACCESS_KEY_ID and "
                          "{1}_SECRET_ACCESS_KEY, choose a profile with --profile, or use --anonymous for public data",
                          looked_at, prefix_, prefix_ == "AWS" ? "S3" : "Google Cloud Storage"));
}

}  // namespace shardkit::net
