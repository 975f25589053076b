#include <ostream>
#include <type_traits>
#include <utility>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "net/sigv4.hpp"

using namespace shardkit;
using namespace shardkit::net;

namespace {

template <class T>
concept Printable = requires(std::ostream& out, const T& value) {
  out << value;
};

}  // namespace

TEST_CASE("a secret cannot be printed, formatted or turned into text by accident") {
  CHECK_FALSE(Printable<Secret>);
  CHECK_FALSE(fmt::is_formattable<Secret>::value);
  CHECK_FALSE(std::is_convertible_v<Secret, std::string>);
  CHECK_FALSE(std::is_convertible_v<std::string, Secret>);
}

TEST_CASE("a secret that was moved from holds nothing") {
  for (const char* text : {"short", "long enough that it cannot lie within the object itself"}) {
    Secret first{std::string(text)};
    Secret second(std::move(first));
    CHECK(first.empty());  // NOLINT(bugprone-use-after-move): that is what is tested
    CHECK(second.reveal() == text);
    first = std::move(second);
    CHECK(second.empty());  // NOLINT(bugprone-use-after-move)
    CHECK(first.reveal() == text);
    const Secret copy = first;
    CHECK(copy.reveal() == first.reveal());
  }
}
