#include "cli/parse.hpp"

#include <doctest/doctest.h>

#include "cli/app.hpp"
#include "cli/fake_app.hpp"
#include "core/error.hpp"
#include "programs.hpp"

using namespace shardkit_test;

namespace {

FakeOptions seen;

FakeResult remember(const FakeOptions& options, shardkit::Context&) {
  seen = options;
  return {};
}

/// The options as the verb sees them.
FakeOptions parsed(std::vector<std::string> args) {
  args.insert(args.begin(), "work");
  const Ran ran = run_fake(remember, args);
  REQUIRE_MESSAGE(ran.exit_code == 0, ran.err);
  return seen;
}

/// The first line on standard error of a command line that must be refused as wrong usage.
std::string refused(std::vector<std::string> args) {
  args.insert(args.begin(), "work");
  const Ran ran = run_fake(remember, args);
  CHECK(ran.exit_code == 2);
  CHECK(ran.out.empty());
  CHECK(ran.err.ends_with("\nrun 'fake work --help' for its options\n"));
  return ran.err.substr(0, ran.err.find('\n'));
}

}  // namespace

TEST_CASE("options keep their defaults when they are not given") {
  const FakeOptions options = parsed({"photos"});
  CHECK(options.source == "photos");
  CHECK(options.more.empty());
  CHECK_FALSE(options.size);
  CHECK(options.samples == 5000);
  CHECK(options.timeout == 90);
  CHECK(options.depth == Depth::structure);
  CHECK_FALSE(options.recheck);
}

TEST_CASE("sizes, times, counts, choices, lists and flags are read") {
  const FakeOptions options = parsed({"photos", "--size", "256MiB", "--timeout=5m", "--samples", "7", "--depth",
                                      "checksum", "--index", "dali,wids", "--recheck", "--headroom", "0.25"});
  CHECK(options.size == 256U << 20U);
  CHECK(options.timeout == 300);
  CHECK(options.samples == 7);
  CHECK(options.depth == Depth::checksum);
  CHECK(options.index == std::vector<std::string>{"dali", "wids"});
  CHECK(options.recheck);
  CHECK(options.ratio == 0.25);
}

TEST_CASE("a list may be given in pieces, and takes no operand along") {
  const FakeOptions options = parsed({"--index", "dali", "photos", "--index", "wids", "videos"});
  CHECK(options.index == std::vector<std::string>{"dali", "wids"});
  CHECK(options.source == "photos");
  CHECK(options.more == std::vector<std::string>{"videos"});
}

TEST_CASE("an option of one value is given once") {
  CHECK(refused({"photos", "--size", "1MiB", "--size=2MiB"}) ==
        "fake: error: --size: given 2 times, but accepts only one value");
  CHECK(refused({"photos", "-n", "a", "--name", "a", "-n", "b"}) ==
        "fake: error: --name: given 3 times, but accepts only one value");
}

TEST_CASE("an option has its one-letter alias") { CHECK(parsed({"photos", "-n", "train"}).name == "train"); }

TEST_CASE("operands may stand anywhere, and after -- whatever they look like") {
  CHECK(parsed({"a", "--recheck", "b", "c"}).more == std::vector<std::string>{"b", "c"});
  CHECK(parsed({"--", "--odd"}).source == "--odd");
  CHECK(parsed({"a", "--", "--recheck", "--"}).more == std::vector<std::string>{"--recheck", "--"});
  CHECK(parsed({"-"}).source == "-");
}

TEST_CASE("an operand is taken as it is: brackets, braces, commas, blanks and bytes that are not UTF-8") {
  CHECK(parsed({"x-{000000..000146}.tar"}).source == "x-{000000..000146}.tar");
  CHECK(parsed({"a", "b,c", "d e"}).more == std::vector<std::string>{"b,c", "d e"});
  CHECK(parsed({"\xff\xfe"}).source == "\xff\xfe");
  CHECK(parsed({"a", "[b,c]"}).more == std::vector<std::string>{"[b,c]"});
  CHECK(parsed({"a", "{}"}).more == std::vector<std::string>{"{}"});
  CHECK(parsed({"\"quoted\""}).source == "\"quoted\"");
}

TEST_CASE("a misspelled option is named together with the one that was meant") {
  CHECK(refused({"photos", "--sampels", "7"}) == "fake: error: --sampels: unknown option; did you mean --samples?");
  CHECK(refused({"--sampels=7"}) == "fake: error: --sampels: unknown option; did you mean --samples?");
  CHECK(refused({"photos", "--colour=1"}) == "fake: error: --colour: this option was removed; set NO_COLOR");
  CHECK(refused({"photos", "--speed", "3"}) == "fake: error: --speed: this option was removed; use --timeout");
  CHECK(refused({"photos", "--utterly-different"}) == "fake: error: --utterly-different: unknown option");
}

TEST_CASE("a name that other verbs give to an option of this purpose is answered with the option") {
  for (const char* name : {"--budget", "--duration"}) {
    const std::string start = std::string("fake: error: ") + name;
    CHECK(refused({"photos", name, "3s"}) == start + ": unknown option; did you mean --timeout?");
    CHECK(refused({"photos", std::string(name) + "=3s"}) == start + ": unknown option; did you mean --timeout?");
  }
  CHECK(refused({"photos", "--readers", "dali"}) == "fake: error: --readers: unknown option; did you mean --index?");
}

TEST_CASE("a unit that stands apart from its size is not an operand") {
  CHECK(refused({"x", "--size", "50", "MB"}) == "fake: error: --size: write 50MB without a blank");
  CHECK(refused({"x", "--size", "50", "gib", "y"}) == "fake: error: --size: write 50gib without a blank");
  CHECK(parsed({"x", "--size", "5000", "7MB"}).more == std::vector<std::string>{"7MB"});
  CHECK(parsed({"x", "--size", "5000", "m"}).more == std::vector<std::string>{"m"});
  CHECK(parsed({"x", "--samples", "50", "MB"}).more == std::vector<std::string>{"MB"});
}

TEST_CASE("a missing operand is named") {
  CHECK(refused({}) == "fake: error: missing SRC");
  CHECK(refused({"--samples", "7"}) == "fake: error: missing SRC");
}

TEST_CASE("of two operands it is the second that is missing when one is given") {
  std::ostringstream out;
  std::ostringstream err;
  const std::vector<std::string> args{"convert", "photos"};
  CHECK(shardkit::cli::run_app(shardkit::apps::shardctl_app(), args, {out, err}) == 2);
  CHECK(err.str().starts_with("shardctl: error: missing DST\n"));
}

TEST_CASE("a value or an operand that is missing is named") {
  CHECK(refused({"x", "--size"}) == "fake: error: --size: the value is missing");
  CHECK(refused({"x", "--size=", "y"}) == "fake: error: --size: the value is missing");
  CHECK(refused({"x", "--size="}) == "fake: error: --size: the value is missing");
  CHECK(refused({"x", "--quiet=yes"}) == "fake: error: --quiet: it takes no value");
}

TEST_CASE("a value that does not fit is refused with what was expected") {
  CHECK(refused({"x", "--size", "big"}) ==
        "fake: error: --size: 'big' is not a size: expected a number and a unit (examples: 1000, 256MiB, 1.5G)");
  CHECK(refused({"x", "--size", "10"}).find("--size: 10 B? write 10KiB, 10MiB or 10GiB") != std::string::npos);
  CHECK(refused({"x", "--size", "-1"}).find("'-1' is not a size") != std::string::npos);
  CHECK(refused({"x", "--timeout", "soon"}).find("'soon' is not a duration") != std::string::npos);
  CHECK(refused({"x", "--samples", "-1"}) == "fake: error: --samples: '-1' is not a whole number (digits only)");
  CHECK(refused({"x", "--samples", "1.5"}) ==
        "fake: error: --samples: '1.5' is not a whole number: close a shard after N samples");
  CHECK(refused({"x", "--samples", "99999999999999999999"}).find("too large") != std::string::npos);
  CHECK(refused({"x", "--samples", ""}).find("is not a whole number") != std::string::npos);
  CHECK(refused({"x", "--headroom", "nan"}) == "fake: error: --headroom: 'nan' is not a number");
  CHECK(refused({"x", "--depth", "deep"}) == "fake: error: --depth must be structure or checksum, not 'deep'");
}

TEST_CASE("an option without its value, or given twice, is refused") {
  CHECK(refused({"x", "--samples"}).find("--samples") != std::string::npos);
  CHECK(refused({"x", "--samples", "1", "--samples", "2"}).find("--samples") != std::string::npos);
  CHECK(refused({"x", "--recheck=false"}).find("recheck") != std::string::npos);
}
