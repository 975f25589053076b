#include "cli/reports/steady_text.hpp"

#include <string>
#include <variant>

#include <fmt/format.h>

#include "core/units.hpp"

namespace shardkit {

void tell_steadiness(std::vector<FieldNode>& nodes, double seconds) {
  for (FieldNode& node : nodes) {
    if (node.name != "steady" || !std::holds_alternative<std::monostate>(node.value)) continue;
    node.kind = FieldKind::text;
    node.value = fmt::format("not known, only {} were measured", format_duration(seconds));
  }
}

}  // namespace shardkit
