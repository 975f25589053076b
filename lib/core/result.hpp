#pragma once

#include <utility>
#include <variant>

#include "core/error.hpp"

namespace shardkit {

/// A value, or the Error that stands in its place. For items (a sample, an object) whose failure is an everyday
/// outcome; where the whole command cannot go on, throw the Error instead.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit on purpose

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  /// The value; throws the Error when there is none.
  T& value() & {
    if (!has_value()) throw std::get<1>(state_);
    return std::get<0>(state_);
  }
  const T& value() const& {
    if (!has_value()) throw std::get<1>(state_);
    return std::get<0>(state_);
  }
  T&& value() && { return std::move(value()); }

  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(value()); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  /// The error; only when !has_value().
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

}  // namespace shardkit
