#include "system/host.hpp"

#include <fstream>
#include <string_view>

#include <sys/utsname.h>

#include "system/limits.hpp"

namespace shardkit::system {
namespace {

/// PRETTY_NAME of os-release(5); the kernel's name where there is none.
std::string os_name(const std::string& kernel_name) {
  constexpr std::string_view kKey = "PRETTY_NAME=";
  std::ifstream file("/etc/os-release");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kKey)) continue;
    line.erase(0, kKey.size());
    if (line.size() >= 2 && line.front() == '"' && line.back() == '"') line = line.substr(1, line.size() - 2);
    return line;
  }
  return kernel_name;
}

}  // namespace

HostInfo this_host() {
  HostInfo host;
  utsname name{};
  if (uname(&name) == 0) {
    host.hostname = name.nodename;
    host.kernel = name.release;
  }
  host.os = os_name(name.sysname);
  host.cpus = usable_threads();
  host.memory = usable_memory();
  return host;
}

}  // namespace shardkit::system
