#include "formats/brace_pattern.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"

using namespace shardkit;
using namespace shardkit::formats;
using Names = std::vector<std::string>;

TEST_CASE("text without braces stands for itself") { CHECK(expand_braces("a/b.tar") == Names{"a/b.tar"}); }

TEST_CASE("ranges count up and down and keep the padding of either end") {
  CHECK(expand_braces("x-{0..2}.tar") == Names{"x-0.tar", "x-1.tar", "x-2.tar"});
  CHECK(expand_braces("{2..0}") == Names{"2", "1", "0"});
  CHECK(expand_braces("{08..11}") == Names{"08", "09", "10", "11"});
  CHECK(expand_braces("{8..010}") == Names{"008", "009", "010"});
  CHECK(expand_braces("{7..7}") == Names{"7"});
}

TEST_CASE("the published form of shard names gives all 147 of them") {
  const auto names = expand_braces("imagenet-train-{000000..000146}.tar");
  CHECK(names.size() == 147);
  CHECK(names.back() == "imagenet-train-000146.tar");
}

TEST_CASE("lists, several groups and groups within groups multiply out, the last fastest") {
  CHECK(expand_braces("{a,b}-{0..1}") == Names{"a-0", "a-1", "b-0", "b-1"});
  CHECK(expand_braces("{a{1..2},b}") == Names{"a1", "a2", "b"});
  CHECK(expand_braces("{,x}") == Names{"", "x"});
}

TEST_CASE("braces with neither range nor list stand for themselves") {
  CHECK(expand_braces("{abc}") == Names{"{abc}"});
  CHECK(expand_braces("{}") == Names{"{}"});
  CHECK(expand_braces("{a..}") == Names{"{a..}"});
  CHECK(expand_braces("{0..10..5}") == Names{"{0..10..5}"});
}

TEST_CASE("a lone brace and too many names are usage errors") {
  CHECK_THROWS_WITH_AS(expand_braces("x-{0..2.tar"), doctest::Contains("without its '}'"), Error);
  CHECK_THROWS_WITH_AS(expand_braces("x-0..2}.tar"), doctest::Contains("without its '{'"), Error);
  CHECK_THROWS_WITH_AS(expand_braces("{0..99}", 99), doctest::Contains("more than 99"), Error);
  CHECK(expand_braces("{0..98}", 99).size() == 99);
  CHECK_THROWS_AS(expand_braces("{0..999999999999}"), Error);
  CHECK_THROWS_AS(expand_braces("{0..999}{0..999}{0..999}"), Error);
  CHECK_THROWS_AS(expand_braces(std::string(50'000, '{') + std::string(50'000, '}')), Error);
}

TEST_CASE("names that count up become ranges, the others stay, in order") {
  CHECK(collapse_names({"s-08.tar", "s-09.tar", "s-10.tar"}) == Names{"s-{08..10}.tar"});
  CHECK(collapse_names({"s-0.tar", "s-2.tar", "s-3.tar"}) == Names{"s-0.tar", "s-{2..3}.tar"});
  CHECK(collapse_names({"s-9.tar", "s-10.tar"}) == Names{"s-9.tar", "s-10.tar"});
  CHECK(collapse_names({"1.tar", "0.tar"}) == Names{"1.tar", "0.tar"});
  CHECK(collapse_names({"p0/s0", "p0/s1", "p1/s1", "p2/s1"}) == Names{"p0/s{0..1}", "p{1..2}/s1"});
  CHECK(collapse_names({"a1x", "a2y", "b", "c"}) == Names{"a1x", "a2y", "b", "c"});
  CHECK(collapse_names({}) == Names{});
  const std::string nines(40, '9');
  CHECK(collapse_names({"0" + nines, "1" + std::string(40, '0')}) ==
        Names{"{0" + nines + "..1" + std::string(40, '0') + "}"});
}

TEST_CASE("ranges stand for the names that they were made of") {
  const Names names{"a-1", "a-2", "a-3", "b-07", "b-08", "c"};
  Names again;
  for (const std::string& pattern : collapse_names(names)) {
    for (std::string& name : expand_braces(pattern)) again.push_back(std::move(name));
  }
  CHECK(again == names);
}
