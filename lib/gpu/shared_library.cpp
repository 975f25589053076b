#include "gpu/shared_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.hpp"

namespace shardkit::gpu {
namespace {

/// The loader's error of the previous call, on one line.
std::string loader_text() {
  const char* const text = ::dlerror();
  std::string line = text ? text : "no reason given";
  for (char& c : line) {
    if (c == '\n') c = ' ';
  }
  return line;
}

}  // namespace

SharedLibrary::SharedLibrary(std::string_view what, const std::vector<std::string>& names) : what_(what) {
  std::string why;
  for (const std::string& name : names) {
    handle_ = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    name_ = name;
    if (handle_) return;
    why = loader_text();
  }
  throw Error(ErrorCode::unsupported,
              fmt::format("{} is not available: cannot load {} ({})", what_, fmt::join(names, ", "), why));
}

SharedLibrary::Function SharedLibrary::want(const char* symbol) const { return {::dlsym(handle_, symbol)}; }

SharedLibrary::Function SharedLibrary::need(const char* symbol) const {
  const Function found = want(symbol);
  if (found.address) return found;
  throw Error(ErrorCode::unsupported, fmt::format("{} is too old: {} has no function {}", what_, name_, symbol));
}

}  // namespace shardkit::gpu
