#include <map>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/json_fields.hpp"
#include "core/text.hpp"
#include "report/page.hpp"

namespace shardkit::report {
namespace {

using Json = nlohmann::json;

/// Ends of words in which names and paths are looked for.
constexpr std::string_view kBetweenWords = " \t\n'\"`,;()[]{}=<>|";

/// Names and paths by what stands for them.
class Redaction {
 public:
  explicit Redaction(const Json& envelope) {
    for (const std::string_view path : {"host.hostname", "host.node"}) {
      const auto name = text_at(envelope, path);
      if (name && !name->empty()) stand_in(*name, "host");
    }
  }

  std::string of(std::string_view text) {
    std::string out;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find_first_of(kBetweenWords), text.size());
      out += word(std::string(text.substr(0, end)));
      out += text.substr(end, end < text.size() ? 1 : 0);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
  }

 private:
  const std::string& stand_in(const std::string& name, std::string_view kind) {
    const auto [at, is_new] = names_.try_emplace(name);
    if (is_new) at->second = fmt::format("{}-{}", kind, names_.size());
    return at->second;
  }

  /// A path has a slash, but so have rates ("GB/s"), kernel names ("GNU/Linux") and shared memory.
  static bool is_path(std::string_view word) {
    const std::size_t slash = word.find('/');
    if (slash == std::string_view::npos || word.starts_with("/dev/shm") || word == "/") return false;
    if (word.starts_with('/') || word.starts_with('.') || word.starts_with('~') || is_url(word)) return true;
    return word.find("/s") != word.size() - 2 && word != "GNU/Linux" && word != "/";
  }

  std::string word(const std::string& word) {
    const auto known = names_.find(word);
    if (known != names_.end()) return known->second;
    const std::string_view bare = std::string_view(word).substr(0, word.find_last_not_of(".:") + 1);
    if (names_.contains(std::string(bare))) return names_.at(std::string(bare)) + word.substr(bare.size());
    return is_path(bare) ? stand_in(std::string(bare), "path") + word.substr(bare.size()) : word;
  }

  std::map<std::string, std::string> names_;
};

void redact(Json& json, Redaction& redaction) {
  if (json.is_string()) json = redaction.of(json.get<std::string>());
  if (!json.is_structured()) return;
  for (Json& item : json) redact(item, redaction);
}

}  // namespace

Json redacted(const Json& envelope) {
  Json copy = envelope;
  Redaction redaction(envelope);
  for (auto& [name, value] : copy.items()) {
    if (name != "schema") redact(value, redaction);
  }
  return copy;
}

}  // namespace shardkit::report
