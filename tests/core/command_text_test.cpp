#include "core/command_text.hpp"

#include <doctest/doctest.h>

using namespace shardkit;

namespace {

enum class Color { red, green };
constexpr auto enum_names(Color) { return std::to_array<std::string_view>({"red", "green"}); }

struct Options {
  std::vector<std::string> paths;
  std::uint64_t threads = 4;
  std::optional<double> step_time;
  bool direct = false;
  Color color = Color::red;
  std::optional<std::string> preset;

  void describe(FieldList& v);
};

}  // namespace

void Options::describe(FieldList& v) {
  v.field({"PATH", "data", Role::positional}, paths);
  v.field({"threads", Unit::count, "threads"}, threads);
  v.field({"step-time", Unit::seconds, "step"}, step_time);
  v.field({"direct", "direct"}, direct);
  v.field({"color", "color"}, color);
  v.field({"preset", "preset"}, preset);
}

TEST_CASE("a command has its operands and the options that were changed") {
  Options options;
  CHECK(command_text("paint", options) == "paint");
  options.paths = {"a", "my photos"};
  options.threads = 4;  // as it is anyway
  options.step_time = 0.2;
  options.direct = true;
  options.color = Color::green;
  options.preset.emplace("x");
  const std::string text = command_text("paint", options);
  CHECK(text == "paint a 'my photos' --step-time 0.2 --direct --color green --preset x");
}

TEST_CASE("words come back from a shell as they went in") {
  CHECK(shell_word("/data/x-{000..146}.tar") == "'/data/x-{000..146}.tar'");
  CHECK(shell_word("/data/train") == "/data/train");
  CHECK(shell_word("it's $HOME") == "'it'\\''s $HOME'");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("a\n\x7f'\\.tar") == R"($'a\012\177\'\\.tar')");
  CHECK(shell_word("~user") == "'~user'");
}
