#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "catalog/image_keys.hpp"
#include "catalog/image_table.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/json.hpp"
#include "dataset/sharding/scanned_source.hpp"

namespace shardkit::dataset {
namespace {

/// --group-by column:NAME: the table's value for each image.
SampleGroup group_by_column(const ScannedSource& source, const ShardingOptions& options, const std::string& column,
                            Context& ctx) {
  const std::string& table = options.metadata.empty() ? options.images.list : options.metadata;
  if (table.empty()) {
    throw Error(ErrorCode::usage, fmt::format("--group-by column:{} needs --list or --metadata", column));
  }
  const auto rows = std::make_shared<catalog::RowIndex>(source.images.inputs->add_named(table),
                                                        options.images.path_column, source.images, ctx);
  rows->table().require_column(column, "--group-by");
  return [rows, column](std::string_view, std::string_view path) {
    std::optional<std::string> group;
    for (const catalog::RowIndex::RowPosition& position : rows->find(path)) {
      const nlohmann::ordered_json row = rows->fields(path, position);
      const auto cell = row.find(column);
      if (cell == row.end()) break;
      const std::string text = json_text(*cell);
      if (group.value_or(text) != text) {
        throw Error(ErrorCode::usage,
                    fmt::format("--group-by: '{}' has several values of '{}' for '{}', another one in line {}",
                                rows->table().file(), column, path, position.line));
      }
      group = text;
    }
    if (group) return *group;
    throw Error(ErrorCode::usage,
                fmt::format("--group-by: '{}' has no '{}' for '{}'", rows->table().file(), column, path));
  };
}

}  // namespace

DividedSamples split_source(const ScannedSource& source, const ShardingOptions& options, const SplitRule& rule,
                            Context& ctx) {
  const SampleGroup group = rule.column.empty() ? rule.group : group_by_column(source, options, rule.column, ctx);
  std::vector<SplitFacts> facts;
  facts.reserve(source.scan.images());
  for (std::size_t c = 0; c < source.scan.classes.size(); ++c) {
    const catalog::ScannedClass& owner = source.scan.classes[c];
    for (const catalog::ScannedFile& file : owner.files) {
      const std::string key = catalog::image_key(source.scan, owner, file);
      facts.push_back({xxh3_64(as_bytes(group ? group(key, owner.path_of(file)) : key)), source.labels[c]});
    }
    ctx.throw_if_stopped();
  }
  SampleOrder order(facts.size());
  std::iota(order.begin(), order.end(), 0U);
  return split_samples(
      order, rule, [&](std::uint32_t sample) { return facts[sample]; }, ctx);
}

}  // namespace shardkit::dataset
