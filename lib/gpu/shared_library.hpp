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

  /// A function of the library, for a pointer of its type; null where the library lacks it.
  struct Function {
    void* address;
    template <class Type>
    operator Type*() const {  // NOLINT: implicit on purpose
      return reinterpret_cast<Type*>(address);
    }
  };

  /// The function called `symbol`. Throws Error{unsupported}: the library is too old.
  Function need(const char* symbol) const;
  /// The same; null when the library has no such function.
  Function want(const char* symbol) const;

 private:
  std::string what_;
  std::string name_;
  void* handle_ = nullptr;
};

}  // namespace shardkit::gpu
