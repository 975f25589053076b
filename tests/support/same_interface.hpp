#pragma once

#include <type_traits>

namespace shardkit_test {

template <class T>
concept Complete = requires {
  sizeof(T);
};

/// Whether values of both types are passed in the same way: scalars and classes of one size, pointers to such.
template <class A, class B>
constexpr bool same_value() {
  if constexpr (std::is_pointer_v<A> || std::is_pointer_v<B>) {
    if constexpr (std::is_pointer_v<A> && std::is_pointer_v<B>) {
      return same_value<std::remove_cv_t<std::remove_pointer_t<A>>, std::remove_cv_t<std::remove_pointer_t<B>>>();
    } else {
      return false;
    }
  } else if constexpr (Complete<A> && Complete<B> && !std::is_void_v<A> && !std::is_void_v<B>) {
    return sizeof(A) == sizeof(B) && std::is_class_v<A> == std::is_class_v<B>;
  } else {
    return true;  // void, and handles
  }
}

/// Whether a call of the one is a call of the other.
template <class Ours, class Theirs>
constexpr bool kSameCall = false;
template <class Result, class... Arguments, class TheirResult, class... TheirArguments>
requires(
    sizeof...(Arguments) ==
    sizeof...(TheirArguments)) constexpr bool kSameCall<Result (*)(Arguments...), TheirResult (*)(TheirArguments...)> =
    same_value<Result, TheirResult>() && (same_value<Arguments, TheirArguments>() && ...);

}  // namespace shardkit_test
