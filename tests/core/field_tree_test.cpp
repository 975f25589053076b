#include "core/field_tree.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"

using namespace shardkit;

namespace {

struct Options {
  std::uint64_t threads = 4;
  std::optional<std::uint64_t> block;
  double share = 1;
  std::optional<double> wait;
  std::uint64_t any = 0;

  void describe(FieldVisitor& v) {
    v.field(Field{"threads", Unit::count, "so many"}.from(1, 4096), threads);
    v.field(Field{"block", Unit::bytes, "so large"}.from(512, 1U << 30U), block);
    v.field(Field{"share", Unit::ratio, "so much"}.above(0, 1), share);
    v.field(Field{"wait", Unit::seconds, "so long"}.from(0.1, 3600), wait);
    v.field({"any", Unit::count, "no limit"}, any);
  }
};

/// What check_ranges() says of the default options after `change`; empty when it accepts them.
template <class Change>
std::string complaint(Change change) {
  Options options;
  change(options);
  try {
    check_ranges(options);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::usage);
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a value outside of its field's range is refused with the option and the range") {
  CHECK(complaint([](Options& o) { o.threads = 0; }) == "--threads must be from 1 to 4096");
  CHECK(complaint([](Options& o) { o.threads = 4097; }) == "--threads must be from 1 to 4096");
  CHECK(complaint([](Options& o) { o.block = 511; }) == "--block must be from 512 to 1GiB");
  CHECK(complaint([](Options& o) { o.share = 0; }) == "--share must be more than 0 and at most 1");
  CHECK(complaint([](Options& o) { o.wait = 4000; }) == "--wait must be from 100ms to 1h");
}

TEST_CASE("both ends of a range are accepted, and so is what was not given") {
  CHECK(complaint([](Options&) {}).empty());
  CHECK(complaint([](Options& o) { o.threads = 1; }).empty());
  CHECK(complaint([](Options& o) { o.threads = 4096; }).empty());
  CHECK(complaint([](Options& o) { o.wait = 0.1; }).empty());
  CHECK(complaint([](Options& o) { o.any = ~0ULL; }).empty());
}

TEST_CASE("a range without a largest value says its least one") {
  CHECK(range_text({1}, Unit::count) == "at least 1");
  CHECK(range_text({10}, Unit::seconds) == "at least 10s");
  CHECK(range_text({.least = 0, .open = true}, Unit::seconds) == "more than 0s");
}
