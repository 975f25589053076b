#include "bench/store/store_patience.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "catalog/object_place.hpp"

namespace shardkit {
namespace {

constexpr unsigned kMostUnanswered = 3;
constexpr Seconds kLeastWait{1};

/// The operand that the error is about, by the server that it names, else the first one; without login and query.
std::string concerned(const Error& error, const std::vector<std::string>& operands) {
  std::vector<ObjectPlace> places;
  for (const std::string& operand : operands) {
    if (is_address(operand)) places.push_back(parse_place(operand));
  }
  if (places.empty()) return operands.front();
  const auto of_store = [&](const ObjectPlace& place) { return error.path().starts_with(place.store()); };
  const auto found = std::ranges::find_if(places, of_store);
  return (found == places.end() ? places.front() : *found).display();
}

/// What happened, without the address in front: it may be of a file that only we look for.
std::string reason_of(const Error& error) {
  const std::string text = error.what();
  const std::string address = fmt::format("'{}': ", error.path());
  return text.starts_with(address) ? text.substr(address.size()) : text;
}

}  // namespace

StorePatience::StorePatience(double budget, Clock& clock)
    : clock_(clock), budget_(budget), end_(clock.monotonic() + budget_) {}

void StorePatience::apply(StoreOptions& options) {
  const Seconds most = std::max(budget_ / 4, kLeastWait);  // one silent server does not take the whole budget
  options.http.connect_timeout = std::min(options.http.connect_timeout, most);
  options.http.stall.window = std::min(options.http.stall.window, most);
  options.retry.may_retry = [this](const RetryEvent& event) { return may_retry(event); };
}

bool StorePatience::may_retry(const RetryEvent& event) const {
  if (!finding_) return true;
  if (!event.answered && event.failures >= kMostUnanswered) return false;
  return clock_.monotonic() + event.wait < end_;
}

Error unreachable(const Error& error, const std::vector<std::string>& operands) {
  const std::string address = concerned(error, operands);
  const std::string reason = is_address(address) ? reason_of(error) : error.what();
  return {error.code(),
          fmt::format("'{}' cannot be read: {}; check the address, and that its server runs and answers this machine",
                      address, reason),
          address};
}

}  // namespace shardkit
