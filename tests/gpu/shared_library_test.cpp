#include "gpu/shared_library.hpp"

#include <doctest/doctest.h>

#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::gpu;
using namespace shardkit_test;

TEST_CASE("the first library that is there is loaded, and its functions are found") {
  const SharedLibrary library("the C library", {"libshardkit-absent.so.1", "libc.so.6"});
  CHECK(library.name() == "libc.so.6");
  std::size_t (*const length)(const char*) = library.need("strlen");
  CHECK(length("four") == 4);
  CHECK(library.want("shardkit_has_no_such_function").address == nullptr);
}

TEST_CASE("a library that is not there is named, with what the loader says, in one line") {
  const auto failure = failure_of([] {
    SharedLibrary("nvJPEG", {"libshardkit-absent.so.13", "libshardkit-absent.so.12"});
  });
  CHECK(failure == ErrorCode::unsupported);
  CHECK(failure.says("nvJPEG is not available: cannot load libshardkit-absent.so.13, libshardkit-absent.so.12"));
  CHECK(failure.says("No such file"));
  CHECK_FALSE(failure.says("\n"));
}

TEST_CASE("a library without a function that is needed is too old") {
  const SharedLibrary library("cuFile", {"libc.so.6"});
  const auto failure = failure_of([&] { library.need("cuFileDriverOpen"); });
  CHECK(failure == ErrorCode::unsupported);
  CHECK(failure.text == "cuFile is too old: libc.so.6 has no function cuFileDriverOpen");
}
