#include "cli/termination_message.hpp"

#include <algorithm>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/text.hpp"

namespace shardkit::cli {
namespace {

constexpr std::size_t kMostBytes = 4096;

/// Each byte that is not UTF-8 becomes U+FFFD.
std::string as_utf8(std::string_view text) {
  std::string out;
  while (true) {
    const std::size_t bad = find_invalid_utf8(text);
    out += text.substr(0, bad);
    if (bad == std::string_view::npos) return out;
    out += "\xef\xbf\xbd";
    text.remove_prefix(bad + 1);
  }
}

/// The longest start of valid UTF-8 that has at most `most` bytes and no half character.
std::string_view cut(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80) --most;
  return text.substr(0, most);
}

std::string message(std::string_view end, std::string_view go_on) {
  const std::string last = go_on.empty() ? std::string() : std::string(go_on) + "\n";
  return std::string(cut(as_utf8(end), kMostBytes - std::min(last.size() + 1, kMostBytes))) + "\n" + last;
}

}  // namespace

void write_termination_message(const std::string& path, std::string_view end, std::string_view go_on) {
  if (path.empty()) return;
  const std::string text = message(end, go_on);
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return;
  struct stat info {};
  if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && ::ftruncate(fd, 0) == 0) {
    [[maybe_unused]] const auto written = ::write(fd, text.data(), text.size());
  }
  ::close(fd);
}

}  // namespace shardkit::cli
