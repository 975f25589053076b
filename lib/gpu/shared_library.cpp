#include "gpu/shared_library.hpp"

#include <algorithm>
#include <cstdlib>

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <glob.h>

#include "core/error.hpp"
#include "system/probe.hpp"

namespace shardkit::gpu {
namespace {

/// The loader's error of the previous call, on one line.
std::string loader_text() {
  const char* const text = ::dlerror();
  std::string line = text ? text : "no reason given";
  std::ranges::replace(line, '\n', ' ');
  return line;
}

/// Folders with lib or lib64 in them that may have libraries of CUDA, for ::glob; some do not exist.
std::vector<std::string> toolkit_folders() {
  std::vector<std::string> folders;
  if (const char* const toolkit = std::getenv("CUDA_HOME")) folders.emplace_back(toolkit);
  const char* const path = std::getenv("PATH");
  for (const std::string_view programs : system::split(path ? path : "", ':')) {
    if (programs.ends_with("/bin")) folders.emplace_back(programs.substr(0, programs.size() - 4));
  }
  folders.insert(folders.end(), {"/usr/local/cuda", "/usr/local", "/opt/conda", "~/.local"});
  return folders;
}

}  // namespace

SharedLibrary::SharedLibrary(std::string_view what, const std::vector<std::string>& names, std::string_view hint)
    : what_(what) {
  std::string why;  // of a library that exists
  for (const std::string& name : names) {
    handle_ = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    name_ = name;
    if (handle_) return;
    std::string text = loader_text();
    if (!text.starts_with(name + ": ") || !text.ends_with("No such file or directory")) why = std::move(text);
  }
  throw Error(
      ErrorCode::unsupported,
      fmt::format("no {}: {}{}", what_,
                  why.empty() ? fmt::format("{} was not found", fmt::join(names, " or ")) : "cannot load " + why,
                  hint));
}

SharedLibrary::Function SharedLibrary::want(const char* symbol) const { return {::dlsym(handle_, symbol)}; }

SharedLibrary::Function SharedLibrary::need(const char* symbol) const {
  const Function found = want(symbol);
  if (found.address) return found;
  throw Error(ErrorCode::unsupported, fmt::format("{} is too old: {} has no function {}", what_, name_, symbol));
}

std::vector<std::string> with_toolkit_files(const std::vector<std::string>& names) {
  std::vector<std::string> all;
  for (const std::string& name : names) {
    all.push_back(name);
    for (const std::string& folder : toolkit_folders()) {
      // Wheels: nvidia/cu13/lib, before CUDA 13 nvidia/nvjpeg/lib.
      const std::string pattern = folder + "/{lib64,lib,lib/python3*/{site,dist}-packages/nvidia/*/lib}/" + name;
      ::glob_t found{};
      if (::glob(pattern.c_str(), GLOB_BRACE | GLOB_TILDE, nullptr, &found) == 0) {
        all.insert(all.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
      }
      ::globfree(&found);
    }
  }
  return all;
}

}  // namespace shardkit::gpu
