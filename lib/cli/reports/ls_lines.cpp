#include "cli/reports/ls_lines.hpp"

#include <fmt/format.h>

#include "cli/field_text.hpp"
#include "core/bytes.hpp"

namespace shardkit {

std::string ls_line(const LsRow& row, bool details) {
  const std::string shard = printable(row.shard);
  const std::string name = printable(row.name);
  if (!details) return fmt::format("{}\t{}\n", shard, name);
  const std::string label = row.label ? fmt::to_string(*row.label) : "-";
  return fmt::format("{}\t{}\t{}\t{}\t{}\n", shard, row.offset, row.size, label, name);
}

LsResult ls_to_output(const LsOptions& options, Context& ctx) {
  ByteSink* const output = ctx.output();
  return ls(options, ctx, [&](const LsRow& row) {
    if (output != nullptr) output->write(as_bytes(ls_line(row, options.long_)));
  });
}

}  // namespace shardkit
