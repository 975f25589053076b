#include "dataset/convert/image_rules.hpp"

#include <string>

#include <fmt/format.h>

#include "core/error.hpp"
#include "formats/tsv.hpp"

namespace shardkit {
namespace {

[[noreturn]] void refuse(const std::string& name) {
  throw Error(ErrorCode::corrupt, fmt::format("the plan has no valid option {}; make it again", name));
}

/// The value that an option has in the plan, as the enum.
template <class E>
E choice(const PlanHead& head, const std::string& name) {
  const auto found = head.options.find(name);
  for (std::size_t i = 0; found != head.options.end() && i < EnumNames<E>::names.size(); ++i) {
    if (EnumNames<E>::names[i] == found->second) return static_cast<E>(i);
  }
  refuse(name);
}

std::uint64_t number(const PlanHead& head, const std::string& name, std::uint64_t most) {
  const auto found = head.options.find(name);
  std::uint64_t value = 0;
  if (found == head.options.end() || !parse_number(found->second, value) || value == 0 || value > most) refuse(name);
  return value;
}

}  // namespace

ImageRules image_rules(const PlanHead& head) {
  ImageRules rules{choice<Validate>(head, "validate"), choice<OnBad>(head, "on_bad"), {}};
  if (head.options.contains("resize")) {
    rules.resize = ResizeOptions{static_cast<std::uint32_t>(number(head, "resize", kLargestResize)),
                                 static_cast<int>(number(head, "quality", 100))};
  }
  return rules;
}

}  // namespace shardkit
