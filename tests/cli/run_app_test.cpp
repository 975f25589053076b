#include <cerrno>
#include <filesystem>
#include <future>
#include <stdexcept>
#include <system_error>

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "cli/app.hpp"
#include "cli/fake_app.hpp"
#include "core/error.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using shardkit::Context;
using shardkit::Error;
using shardkit::ErrorCode;
using namespace shardkit_test;

namespace {

template <ErrorCode code>
FakeResult fail(const FakeOptions&, Context&) {
  throw Error(code, "it went wrong", "/data/x.tar", 512);
}

FakeResult find(const FakeOptions&, Context&) {
  FakeResult result;
  result.problems.push_back({"pax_header", 512});
  return result;
}

FakeResult run_out_of_memory(const FakeOptions&, Context&) { throw std::bad_alloc(); }
FakeResult throw_runtime_error(const FakeOptions&, Context&) { throw std::runtime_error("surprise"); }
FakeResult throw_something(const FakeOptions&, Context&) { throw 7; }

template <int number>
FakeResult throw_system_error(const FakeOptions&, Context&) {
  throw std::system_error(number, std::generic_category(), "cannot do it");
}

FakeResult warn(const FakeOptions& options, Context& context) {
  for (std::uint64_t i = 0; i < options.samples; ++i) context.warn("odd", "odd thing " + std::to_string(i));
  return {};
}

}  // namespace

TEST_CASE("every kind of failure has its exit code") {
  CHECK(run_fake(succeed, {"work", "x"}).exit_code == 0);
  CHECK(run_fake(find, {"work", "x"}).exit_code == 3);
  CHECK(run_fake(fail<ErrorCode::usage>, {"work", "x"}).exit_code == 2);
  CHECK(run_fake(fail<ErrorCode::io>, {"work", "x"}).exit_code == 1);
  CHECK(run_fake(fail<ErrorCode::network>, {"work", "x"}).exit_code == 1);
  CHECK(run_fake(fail<ErrorCode::in_use>, {"work", "x"}).exit_code == 1);
  CHECK(run_fake(fail<ErrorCode::not_found>, {"work", "x"}).exit_code == 4);
  CHECK(run_fake(fail<ErrorCode::denied>, {"work", "x"}).exit_code == 4);
  CHECK(run_fake(fail<ErrorCode::corrupt>, {"work", "x"}).exit_code == 4);
  CHECK(run_fake(fail<ErrorCode::conflict>, {"work", "x"}).exit_code == 4);
  CHECK(run_fake(fail<ErrorCode::unsupported>, {"work", "x"}).exit_code == 4);
  CHECK(run_fake(fail<ErrorCode::no_space>, {"work", "x"}).exit_code == 5);
  CHECK(run_fake(fail<ErrorCode::cancelled>, {"work", "x"}).exit_code == 130);
  CHECK(run_fake(run_out_of_memory, {"work", "x"}).exit_code == 5);
  CHECK(run_fake(throw_runtime_error, {"work", "x"}).exit_code == 1);
  CHECK(run_fake(throw_something, {"work", "x"}).exit_code == 1);
}

TEST_CASE("failures of the standard library's files and threads are reported as what they are") {
  CHECK(run_fake(throw_system_error<EACCES>, {"work", "x"}).exit_code == 4);
  CHECK(run_fake(throw_system_error<ENOSPC>, {"work", "x"}).exit_code == 5);
  const Ran no_threads = run_fake(throw_system_error<EAGAIN>, {"work", "x"});
  CHECK(no_threads.exit_code == 1);
  CHECK(no_threads.err.find("ulimit -u") != std::string::npos);
  CHECK(no_threads.err.find("internal") == std::string::npos);
}

TEST_CASE("a thread that a limit of memory refuses is out of memory") {
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_AS, &before) == 0);
  const rlimit finite{RLIM_INFINITY - 1, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_AS, &finite) == 0);
  const Ran no_memory = run_fake(throw_system_error<EAGAIN>, {"work", "x"});
  ::setrlimit(RLIMIT_AS, &before);
  CHECK(no_memory.exit_code == 5);
  CHECK(no_memory.err.find("ulimit -v") != std::string::npos);
}

TEST_CASE("a report is not written over another one") {
  const TempDir dir;
  const std::string file = dir.path("x");
  const Ran ran = run_fake(succeed, {"work", "x", "--json", file, "--prometheus", file});
  CHECK(ran.exit_code == 2);
  CHECK(ran.err.find("'" + file + "' is given by --json and by --prometheus") != std::string::npos);
}

TEST_CASE("a report is written neither over an operand nor over data, however it is spelled") {
  const TempDir dir;
  write_file(dir.path("list"), "text");
  write_file(dir.path("a.tar"), std::string("a.jpg\0\0", 7));
  std::filesystem::create_symlink("list", dir.path("link"));
  for (const std::string& report : {dir.path("list"), dir.path("./list"), dir.path("link"), dir.path("a.tar")}) {
    CAPTURE(report);
    const Ran ran = run_fake(succeed, {"work", dir.path("list"), "--json", report});
    CHECK(ran.exit_code == 2);
    CHECK(read_file(dir.path("list")) == "text");
    CHECK(read_file(dir.path("a.tar")).starts_with("a.jpg"));
  }
  const std::string result = dir.path("r");
  CHECK(run_fake(succeed, {"work", "x", "--json", result, "--prometheus", dir.path("./r")}).exit_code == 2);
  CHECK_FALSE(std::filesystem::exists(result));
  CHECK(run_fake(succeed, {"work", "x", "--json", ""}).exit_code == 2);
}

TEST_CASE("a file that an option writes is neither read by another option nor a report") {
  const TempDir dir;
  write_file(dir.path("rules"), "text");
  const Ran read = run_fake(succeed, {"work", "x", "--rules", dir.path("rules"), "--trace", dir.path("./rules")});
  CHECK(read.exit_code == 2);
  CHECK(read.err.find("is given by --trace and by --rules") != std::string::npos);
  const Ran report = run_fake(succeed, {"work", "x", "--trace", dir.path("t"), "--json", dir.path("t")});
  CHECK(report.exit_code == 2);
  CHECK(report.err.find("is given by --json and by --trace") != std::string::npos);
  CHECK(run_fake(succeed, {"work", "x", "--rules", dir.path("rules"), "--name", dir.path("rules")}).exit_code == 0);
}

TEST_CASE("a report replaces no file that the command itself made in its folder meanwhile") {
  const TempDir dir;
  std::filesystem::create_directory(dir.path("folder"));
  const auto make = [](const FakeOptions& options, Context&) -> FakeResult {
    write_file(options.name, "made by the work");
    return {};
  };
  for (const char* report : {"--json", "--prometheus"}) {
    CAPTURE(report);
    const std::string made = dir.path("folder/made");
    std::filesystem::remove(made);
    const Ran ran = run_fake(make, {"work", dir.path("folder"), "--name", made, report, made});
    CHECK(ran.exit_code != 0);
    CHECK(read_file(made) == "made by the work");
    const std::string apart = dir.path("folder/report");
    CHECK(run_fake(make, {"work", dir.path("folder"), "--name", made, report, apart}).exit_code == 0);
    std::filesystem::remove(apart);
  }
}

TEST_CASE("only --json goes to standard output; no report becomes a file of the name -") {
  const Ran ran = run_fake(succeed, {"work", "x", "--prometheus", "-"});
  CHECK(ran.exit_code == 2);
  CHECK(ran.err.find("--prometheus: give a file") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists("-"));
}

TEST_CASE("--json FILE writes into a pipe, keeps a link a link, and refuses a folder at once") {
  const TempDir dir;
  write_file(dir.path("old.json"), "old");
  std::filesystem::create_symlink("old.json", dir.path("link.json"));
  CHECK(run_fake(succeed, {"work", "x", "--json", dir.path("link.json")}).exit_code == 0);
  CHECK(std::filesystem::is_symlink(dir.path("link.json")));
  CHECK(read_file(dir.path("old.json")).starts_with("{"));

  REQUIRE(::mkfifo(dir.path("pipe").c_str(), 0600) == 0);
  auto reader = std::async(std::launch::async, [&] { return read_file(dir.path("pipe")); });
  CHECK(run_fake(succeed, {"work", "x", "--json", dir.path("pipe")}).exit_code == 0);
  CHECK(reader.get().starts_with("{"));
  CHECK(std::filesystem::is_fifo(dir.path("pipe")));

  const Ran ran = run_fake(succeed, {"work", "x", "--json", dir.path()});
  CHECK(ran.exit_code == 2);
  CHECK(ran.out.empty());
}

TEST_CASE("a report that cannot be written is one error, said before the work, and other reports are written") {
  const TempDir dir;
  const std::string metrics = dir.path("m.prom");
  for (const std::string& report : {dir.path("none/x.json"), dir.path()}) {
    const Ran ran = run_fake(succeed, {"work", "x", "--json", report, "--prometheus", metrics});
    CAPTURE(ran.err);
    CHECK(ran.exit_code != 0);
    CHECK(ran.err.find("error: ") == ran.err.rfind("error: "));
    CHECK(ran.err.find("--json") != std::string::npos);
    CHECK(std::filesystem::exists(metrics));
    std::filesystem::remove(metrics);
  }
}

TEST_CASE("an error names program, file and offset on standard error, and nothing goes to standard output") {
  const Ran ran = run_fake(fail<ErrorCode::corrupt>, {"work", "x"});
  CHECK(ran.err == "fake: error: it went wrong (in '/data/x.tar') (at offset 512)\n");
  CHECK(ran.out.empty());
}

TEST_CASE("without a verb the help goes to standard error and the exit code is that of wrong usage") {
  const Ran ran = run_fake(succeed, {});
  CHECK(ran.exit_code == 2);
  CHECK(ran.out.empty());
  CHECK(ran.err.find("Usage: fake VERB") != std::string::npos);
}

TEST_CASE("--help is a success and goes to standard output") {
  const Ran ran = run_fake(succeed, {"--help"});
  CHECK(ran.exit_code == 0);
  CHECK(ran.err.empty());
  CHECK(ran.out.find("work on a folder") != std::string::npos);
  CHECK(run_fake(succeed, {"work", "--help"}).exit_code == 0);
}

TEST_CASE("-h of the program is its help without a verb, which lists a group once") {
  const Ran ran = run_fake(succeed, {"-h"});
  CHECK(ran.exit_code == 0);
  CHECK(ran.out == run_fake(succeed, {}).err);
  CHECK(ran.out == R"(fake: pretend to work

Usage: fake VERB [operands] [options]

  work   work on a folder
  cache  ls, warm

Main options of a verb: fake VERB -h; all of them: fake VERB --help
)");
}

TEST_CASE("--version names the program, its version and its commit") {
  const Ran ran = run_fake(succeed, {"--version"});
  CHECK(ran.exit_code == 0);
  CHECK(ran.out.starts_with("fake 1."));
  CHECK(ran.out.ends_with(")\n"));
}

TEST_CASE("an unknown verb is wrong usage, with the nearest verb proposed") {
  const Ran ran = run_fake(succeed, {"wrok"});
  CHECK(ran.exit_code == 2);
  CHECK(ran.err.find("did you mean work?") != std::string::npos);
  CHECK(run_fake(succeed, {"rest"}).err.starts_with("fake: error: rest: this verb was removed; run work later\n"));
  CHECK(run_fake(succeed, {"cache", "fill"}).err.find("cache fill: this verb was removed; run cache warm\n") !=
        std::string::npos);
  CHECK(run_fake(succeed, {"--quiet", "work", "x"}).exit_code == 2);
}

TEST_CASE("without a verb, -v is not an option, but those that may be meant are named") {
  CHECK(run_fake(succeed, {"-v"}).err.starts_with("fake: error: -v: unknown option; did you mean --version?\n"));
  CHECK(run_fake(succeed, {"--verison"}).err.find("did you mean --version?") != std::string::npos);
  CHECK(run_fake(succeed, {"cache", "-v"}).err.starts_with("fake: error: cache -v: unknown option\n"));
  CHECK(run_fake(succeed, {"work", "x", "-qv"}).exit_code == 0);
}

TEST_CASE("a verb may have two words") {
  const Ran ran = run_fake(succeed, {"cache", "ls", "x"});
  CHECK(ran.exit_code == 0);
  CHECK(ran.out.find("5,000\n") != std::string::npos);
  CHECK(run_fake(succeed, {"cache ls", "x"}).exit_code == 2);
  const Ran wrong = run_fake(succeed, {"cache", "ls"});
  CHECK(wrong.exit_code == 2);
  CHECK(wrong.err == "fake: error: missing SRC\nrun 'fake cache ls --help' for its options\n");
}

TEST_CASE("a group alone, or with --help, shows its verbs") {
  const Ran alone = run_fake(succeed, {"cache"});
  CHECK(alone.exit_code == 2);
  CHECK(alone.out.empty());
  CHECK(alone.err == R"(Usage: fake cache VERB [operands] [options]

Verbs:
  cache ls    list what a cache holds
  cache warm  read a cache into memory

Options:
  -h, --help  show this help; after a verb, its own
)");
  const Ran asked = run_fake(succeed, {"cache", "--help"});
  CHECK(asked.exit_code == 0);
  CHECK(asked.out == alone.err);
  CHECK(asked.err.empty());
  CHECK(run_fake(succeed, {"cache", "ls", "--help"}).out.starts_with("Usage: fake cache ls SRC"));
}

TEST_CASE("an unknown verb of a group, or an unknown group, has the nearest one proposed") {
  CHECK(run_fake(succeed, {"cache", "lss"}).err ==
        "fake: error: cache lss: unknown verb; did you mean cache ls?\nrun 'fake cache --help' for the list of verbs; "
        "options go after the verb\n");
  CHECK(run_fake(succeed, {"cache", "--quiet"}).err.find("did you mean") == std::string::npos);
  CHECK(run_fake(succeed, {"cahce", "ls"}).err.find("cahce: unknown verb; did you mean cache?") != std::string::npos);
  CHECK(run_fake(succeed, {"ls", "x"}).exit_code == 2);
}

TEST_CASE("warnings go to standard error, twenty of them and a count") {
  const Ran few = run_fake(warn, {"work", "x", "--samples", "2"});
  CHECK(few.err == "fake: warning: odd thing 0\nfake: warning: odd thing 1\n");
  const Ran many = run_fake(warn, {"work", "x", "--samples", "1021"});
  CHECK(many.err.find("odd thing 19\n") != std::string::npos);
  CHECK(many.err.find("odd thing 20\n") == std::string::npos);
  CHECK(many.err.find("fake: warning: 1,001 more warnings; --json lists them\n") != std::string::npos);
}

TEST_CASE("a stop without a signal says how to go on") {
  const Ran ran = run_fake(fail<ErrorCode::cancelled>, {"work", "x"});
  CHECK(ran.err == "fake: stopped by SIGINT\nfake: run the same command again to continue\n");
}
