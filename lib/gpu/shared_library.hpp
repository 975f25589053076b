#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shardkit::gpu {

/// A library that is loaded when it is asked for, so that programs start where it is not installed. It stays loaded
/// until the process ends: vendors' libraries start threads of their own.
class SharedLibrary {
 public:
  /// Loads the first of `names` that is there, such as "libnvjpeg.so.13". Throws Error{unsupported} that says in one
  /// line which were tried and what the loader says of the last; `what` is what they are for, as in "nvJPEG".
  SharedLibrary(std::string_view what, const std::vector<std::string>& names);

  /// Which of them it is.
  const std::string& name() const { return name_; }

  /// The function called `symbol`, of type `Function*`. Throws Error{unsupported}: the library is too old.
  template <class Function>
  Function* function(const char* symbol) const {
    return reinterpret_cast<Function*>(address(symbol));
  }
  /// The same; null when the library has no such function.
  template <class Function>
  Function* find_function(const char* symbol) const {
    return reinterpret_cast<Function*>(find(symbol));
  }

 private:
  void* find(const char* symbol) const;
  void* address(const char* symbol) const;

  std::string what_;
  std::string name_;
  void* handle_ = nullptr;
};

}  // namespace shardkit::gpu
