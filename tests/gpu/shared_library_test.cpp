#include "gpu/shared_library.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <doctest/doctest.h>

#include "support/errors.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

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

TEST_CASE("a missing library is named in one line") {
  const auto failure = failure_of([] {
    SharedLibrary("nvJPEG", {"libshardkit-absent.so.13", "libshardkit-absent.so.12"});
  });
  CHECK(failure == ErrorCode::unsupported);
  CHECK(failure.text == "no nvJPEG: libshardkit-absent.so.13 or libshardkit-absent.so.12 was not found");
}

TEST_CASE("if a library exists but cannot be loaded, the message has the loader's reason") {
  const TempDir folder;
  const std::string path = folder.path("libdamaged.so.1");
  write_file(path, "not a library");
  const auto failure = failure_of([&] { SharedLibrary("nvJPEG", {path, "libshardkit-absent.so.1"}); });
  CHECK(failure.text.starts_with("no nvJPEG: cannot load " + path + ": "));
  CHECK_FALSE(failure.says("\n"));
}

TEST_CASE("a library without a function that is needed is too old") {
  const SharedLibrary library("cuFile", {"libc.so.6"});
  const auto failure = failure_of([&] { library.need("cuFileDriverOpen"); });
  CHECK(failure == ErrorCode::unsupported);
  CHECK(failure.text == "cuFile is too old: libc.so.6 has no function cuFileDriverOpen");
}

TEST_CASE("a hint ends the message") {
  const auto failure = failure_of([] { SharedLibrary("NVML", {"libshardkit-absent.so.1"}, "; install it"); });
  CHECK(failure.text.ends_with("; install it"));
}

TEST_CASE("libraries of toolkits, wheels and conda are found beside the linker's path") {
  const TempDir dir;
  const auto make = [&](const std::string& path) {
    std::filesystem::create_directories(std::filesystem::path(dir.path(path)).parent_path());
    write_file(dir.path(path), "no library");
    return dir.path(path);
  };
  const std::string name = "libshardkit-test.so.13";
  struct Case {
    const char* variable;
    std::string value;
    std::string file;
  };
  const std::vector<Case> cases{
      {"CUDA_HOME", dir.path("toolkit"), make("toolkit/lib64/" + name)},
      {"PATH", dir.path("conda/bin") + ":/bin", make("conda/lib/" + name)},
      {"PATH", dir.path("venv/bin"), make("venv/lib/python3.12/site-packages/nvidia/cu13/lib/" + name)},
      {"HOME", dir.path("home"), make("home/.local/lib/python3.9/site-packages/nvidia/nvjpeg/lib/" + name)},
      {"PATH", "/bin:" + dir.path("debian/bin"), make("debian/lib/python3/dist-packages/nvidia/cu13/lib/" + name)}};
  for (const Case& one : cases) {
    const char* const before = std::getenv(one.variable);
    const std::string kept = before ? before : "";
    ::setenv(one.variable, one.value.c_str(), 1);
    const std::vector<std::string> found = with_toolkit_files({name, "libshardkit-absent.so.12"});
    before ? ::setenv(one.variable, kept.c_str(), 1) : ::unsetenv(one.variable);
    CHECK(found == std::vector<std::string>{name, one.file, "libshardkit-absent.so.12"});
  }
}
