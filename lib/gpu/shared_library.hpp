#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shardkit::gpu {

/// A library that is loaded on demand, so that programs start without it. It stays loaded until the process ends,
/// because vendor libraries start threads.
class SharedLibrary {
 public:
  /// Loads the first existing one of `names`, such as "libnvjpeg.so.13". Throws Error{unsupported} with the names and
  /// the loader's error for the last one, in one line; `what` is what they are for, as in "nvJPEG". `hint` ends it.
  SharedLibrary(std::string_view what, const std::vector<std::string>& names, std::string_view hint = {});

  /// Name of the loaded one.
  const std::string& name() const { return name_; }

  /// A function of the library, for a pointer of its type; null if the library lacks it.
  struct Function {
    void* address;
    template <class Type>
    operator Type*() const {  // NOLINT: implicit on purpose
      return reinterpret_cast<Type*>(address);
    }
  };

  /// The function called `symbol`. Throws Error{unsupported}: the library is too old.
  Function need(const char* symbol) const;
  /// The same; null if the library has no such function.
  Function want(const char* symbol) const;

 private:
  std::string what_;
  std::string name_;
  void* handle_ = nullptr;
};

/// The names, for SharedLibrary, each with the files of that name that are in the usual folders of CUDA toolkits and of
/// Python environments: below CUDA_HOME, beside programs in PATH, and below /usr/local/cuda, /opt/conda and ~/.local.
std::vector<std::string> with_toolkit_files(const std::vector<std::string>& names);

}  // namespace shardkit::gpu
