#include "bench/run/run_hints.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace shardkit {
namespace {

struct Wording {
  std::string_view pipeline;
  std::string_view run;
};

constexpr std::array kWordings{
    Wording{"--workers", "--threads"},  // run's workers are processes of the loader it advises
    Wording{"more --readers, ", ""},
    Wording{"--pinned on, --normalize gpu or a smaller --dtype", "a smaller --dtype"},
};
/// Settings that run does not have, or means otherwise.
constexpr std::array<std::string_view, 5> kForeign{"--decode", "--normalize", "--pinned", "--prefetch", "--readers"};

bool is_foreign(const std::string& advice) {
  return std::ranges::any_of(kForeign,
                             [&](std::string_view option) { return advice.find(option) != std::string::npos; });
}

}  // namespace

std::vector<std::string> in_words_of_run(std::vector<std::string> advice) {
  for (std::string& line : advice) {
    for (const Wording& wording : kWordings) {
      const std::size_t at = line.find(wording.pipeline);
      if (at != std::string::npos) line.replace(at, wording.pipeline.size(), wording.run);
    }
  }
  std::erase_if(advice, is_foreign);
  return advice;
}

}  // namespace shardkit
