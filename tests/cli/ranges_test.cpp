#include <algorithm>
#include <cmath>
#include <sstream>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/app.hpp"
#include "cli/documents/documents.hpp"
#include "core/field_tree.hpp"
#include "programs.hpp"

using namespace shardkit::cli;
using shardkit::FieldKind;
using shardkit::FieldNode;

namespace {

/// Values just outside of a range that can be typed: no size, time or count is below 0.
std::vector<std::string> values_outside(const FieldNode& option) {
  const shardkit::Range& range = *option.field.range;
  const double step = option.kind == FieldKind::count ? 1 : 1e-3;
  std::vector<double> values;
  if (range.open || range.least > 0) values.push_back(range.open ? range.least : range.least - step);
  if (!std::isinf(range.most)) values.push_back(range.most + step);
  std::vector<std::string> texts;
  for (const double value : values) texts.push_back(fmt::format("{}", value));
  return texts;
}

/// A command line of `command` that is right but for what the test adds.
std::vector<std::string> least_arguments(const CommandDoc& doc) {
  std::vector<std::string> args;
  for (std::string_view name = doc.text.name; !name.empty();) {
    args.emplace_back(name.substr(0, name.find(' ')));
    name.remove_prefix(std::min(name.size(), args.back().size() + 1));
  }
  for (const FieldNode& option : doc.options) {
    if (option.field.role == shardkit::Role::positional) args.emplace_back("x");
  }
  return args;
}

}  // namespace

TEST_CASE("a number outside of its option's range is refused by every verb, with the option and the range") {
  std::size_t refused = 0;
  for (const App& app : {shardkit::apps::shardctl_app(), shardkit::apps::iobench_app()}) {
    for (const Command& command : app.commands) {
      const CommandDoc doc = document(command);
      for (const FieldNode& option : doc.options) {
        if (!option.field.range) continue;
        for (const std::string& value : values_outside(option)) {
          std::vector<std::string> args = least_arguments(doc);
          const bool is_time = option.unit == shardkit::Unit::seconds && !value.starts_with('-');
          args.push_back(fmt::format("{}={}{}", option.field.spelling(), value, is_time ? "s" : ""));
          CAPTURE(fmt::format("{} {}", app.name, fmt::join(args, " ")));
          std::ostringstream out;
          std::ostringstream err;
          CHECK(run_app(app, args, Console{out, err}) == 2);
          CHECK(err.str().find(fmt::format("{} must be {}, not ", option.field.spelling(),
                                           range_text(*option.field.range, option.unit))) != std::string::npos);
          ++refused;
        }
      }
    }
  }
  CHECK(refused > 100);
}

TEST_CASE("the names of options are words joined by dashes, as documents and messages write them") {
  for (const App& app : {shardkit::apps::shardctl_app(), shardkit::apps::iobench_app()}) {
    for (const Command& command : app.commands) {
      for (const FieldNode& option : document(command).options) {
        CAPTURE(fmt::format("{} {} --{}", app.name, command.text().name, option.field.name));
        CHECK(option.field.name.find('_') == std::string_view::npos);
      }
    }
  }
}
