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

  void describe(FieldList& v) {
    v.field({"threads", Unit::count, "so many", 'j', between(1, 4096)}, threads);
    v.field({"block", Unit::bytes, "so large", between(512, 1U << 30U)}, block);
    v.field({"share", Unit::ratio, "so much", above(0, 1)}, share);
    v.field({"wait", Unit::seconds, "so long", between(0.1, 3600)}, wait);
    v.field({"any", Unit::count, "no limit"}, any);
  }
};

struct Topics {
  bool first = false;
  bool second = false;
  bool third = false;

  void describe(FieldList& v) {
    v.field({"first", "before any topic"}, first);
    v.topic("Shards");
    v.field({"second", "in a topic"}, second);
    v.field({"third", "in the same"}, third);
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

TEST_CASE("a topic lasts until the next one") {
  Topics options;
  const auto tree = field_tree([&](FieldList& v) { options.describe(v); });
  CHECK(tree[0].topic.empty());
  CHECK(tree[1].topic == "Shards");
  CHECK(tree[2].topic == "Shards");
}

TEST_CASE("a value outside of its field's range is refused with the option and the range") {
  CHECK(complaint([](Options& o) { o.threads = 0; }) == "-j, --threads must be from 1 to 4096, not 0");
  CHECK(complaint([](Options& o) { o.threads = 4097; }) == "-j, --threads must be from 1 to 4096, not 4097");
  CHECK(complaint([](Options& o) { o.block = 511; }) == "--block must be from 512 to 1GiB, not 511");
  CHECK(complaint([](Options& o) { o.share = 0; }) == "--share must be more than 0 and at most 1, not 0");
  CHECK(complaint([](Options& o) { o.wait = 4000; }) == "--wait must be from 100ms to 1h, not 4000s");
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

TEST_CASE("the plan keeps the options that are part of it and have a value") {
  struct Shaping {
    std::optional<std::uint64_t> size;
    std::optional<std::uint64_t> shards;
    std::vector<std::string> classes;
    bool sort = false;
    bool drop_bad = false;
    std::uint64_t threads = 4;
    void describe(FieldList& v) {
      v.field({"min-size", Unit::bytes, "least bytes", kPlanned}, size);
      v.field({"shards", Unit::count, "so many", kPlanned}, shards);
      v.field({"class", "which", kPlanned}, classes);
      v.field({"sort", "by key", kPlanned}, sort);
      v.field({"drop-bad", "without bad ones", kPlanned}, drop_bad);
      v.field({"threads", Unit::count, "how fast"}, threads);
    }
  };
  Shaping options;
  CHECK(planned_texts(options).empty());
  options.size = 1U << 20U;
  options.classes = {"cat", "dog"};
  options.drop_bad = true;
  CHECK(planned_texts(options) ==
        std::map<std::string, std::string>{{"min_size_bytes", "1048576"}, {"class", "cat,dog"}, {"drop_bad", "yes"}});
}
