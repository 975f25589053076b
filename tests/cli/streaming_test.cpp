// Verbs that write to standard output while they work.

#include <cerrno>
#include <sstream>
#include <streambuf>

#include <doctest/doctest.h>

#include "cli/app.hpp"
#include "cli/fake_app.hpp"
#include "cli/output_files.hpp"
#include "core/error.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using shardkit::as_bytes;
using shardkit::Context;
using namespace shardkit_test;

namespace {

shardkit::cli::App streaming_app(Behavior behavior) {
  return {.name = "fake",
          .summary = "pretend to work",
          .commands = {shardkit::cli::make_command(
              {.name = "stream", .summary = "write as it works", .description = "Writes as it works.", .streams = true},
              behavior,
              [](const FakeOptions&, const FakeResult&) { return shardkit::cli::Answer{.headline = "3 lines"}; })}};
}

Ran run_streaming(Behavior behavior, const std::vector<std::string>& args) {
  std::ostringstream out;
  std::ostringstream err;
  const int exit_code = shardkit::cli::run_app(streaming_app(behavior), args, {out, err});
  return {exit_code, out.str(), err.str()};
}

FakeResult stream(const FakeOptions&, Context& context) {
  FakeResult result;
  result.samples = context.keeps_result() ? 1 : 0;
  if (context.output() == nullptr) return result;
  for (int i = 0; i < 3; ++i) context.output()->write(as_bytes("line\n"));
  return result;
}

FakeResult stream_and_fail(const FakeOptions& options, Context& context) {
  stream(options, context);
  throw shardkit::Error(shardkit::ErrorCode::corrupt, "it went wrong");
}

FakeResult stream_much(const FakeOptions&, Context& context) {
  const std::string piece(100'000, 'x');
  for (int i = 0; i < 1000; ++i) context.output()->write(as_bytes(piece));
  return {};
}

/// Takes some bytes and then fails as a pipe without a reader does, or as a full disk.
class FailingBuffer final : public std::streambuf {
 public:
  explicit FailingBuffer(int error_number) : error_number_(error_number) {}

 protected:
  std::streamsize xsputn(const char*, std::streamsize count) override {
    taken_ += count;
    if (taken_ < 250'000) return count;
    errno = error_number_;
    return 0;
  }

 private:
  int error_number_;
  std::streamsize taken_ = 0;
};

shardkit::cli::App live_app(Behavior behavior) {
  return {.name = "fake",
          .summary = "pretend to work",
          .commands = {shardkit::cli::make_command({.name = "stream",
                                                    .summary = "write as things happen",
                                                    .description = "Writes as things happen.",
                                                    .live = true},
                                                   behavior)}};
}

Ran run_live(const std::vector<std::string>& args) {
  std::ostringstream out;
  std::ostringstream err;
  const int exit_code = shardkit::cli::run_app(live_app(stream), args, {out, err});
  return {exit_code, out.str(), err.str()};
}

Ran run_into(int error_number) {
  FailingBuffer buffer(error_number);
  std::ostream out(&buffer);
  std::ostringstream err;
  const std::vector<std::string> args{"stream", "x"};
  const int exit_code = shardkit::cli::run_app(streaming_app(stream_much), args, {out, err});
  return {exit_code, "", err.str()};
}

}  // namespace

TEST_CASE("the answer of a verb whose output is data goes to standard error, without a terminal only with --verbose") {
  CHECK(run_streaming(stream, {"stream", "x"}).err.empty());
  const Ran verbose = run_streaming(stream, {"stream", "x", "-v"});
  CHECK(verbose.out == "line\nline\nline\n");
  CHECK(verbose.err.starts_with("fake: 3 lines"));
}

TEST_CASE("what is streamed is all that goes to standard output, and the result is not kept") {
  const Ran ran = run_streaming(stream, {"stream", "x"});
  CHECK(ran.exit_code == 0);
  CHECK(ran.out == "line\nline\nline\n");
}

TEST_CASE("with --json - there is no output to stream to, and the result is kept") {
  const Ran ran = run_streaming(stream, {"stream", "x", "--json", "-"});
  CHECK(ran.out.find("line\n") == std::string::npos);
  CHECK(ran.out.starts_with("{"));
  CHECK(ran.out.find("\"samples\": 1") != std::string::npos);
}

TEST_CASE("with --json FILE both are there") {
  const TempDir dir;
  const Ran ran = run_streaming(stream, {"stream", "x", "--json", dir.path("r.json")});
  CHECK(ran.out == "line\nline\nline\n");
  CHECK(read_file(dir.path("r.json")).find("\"samples\": 1") != std::string::npos);
}

TEST_CASE("what was streamed before a failure gets out") {
  const Ran ran = run_streaming(stream_and_fail, {"stream", "x"});
  CHECK(ran.exit_code == 4);
  CHECK(ran.out == "line\nline\nline\n");
  CHECK(ran.err.find("it went wrong") != std::string::npos);
}

TEST_CASE("a reader that went away ends the verb quietly, a full disk does not") {
  const Ran closed = run_into(EPIPE);
  CHECK(closed.exit_code == 0);
  CHECK(closed.err.empty());
  const Ran full = run_into(ENOSPC);
  CHECK(full.exit_code == 5);
  CHECK(full.err.find("standard output") != std::string::npos);
}

TEST_CASE("a verb that does not stream is lent no output") {
  const auto expect_none = [](const FakeOptions&, Context& context) {
    FakeResult result;
    result.text = context.output() == nullptr ? "none" : "some";
    return result;
  };
  CHECK(run_fake(expect_none, {"work", "x"}).out.find("none") != std::string::npos);
}

TEST_CASE("a live verb's report follows its lines, and with --json - the envelope stands alone") {
  const Ran ran = run_live({"stream", "x"});
  CHECK(ran.exit_code == 0);
  CHECK(ran.out.starts_with("line\nline\nline\nsamples:"));
  const Ran json = run_live({"stream", "x", "--json", "-"});
  CHECK(json.out.find("line\n") == std::string::npos);
  CHECK(json.out.starts_with("{"));
}

TEST_CASE("lines that are waited for get out one by one, others are gathered") {
  std::ostringstream out;
  shardkit::cli::OutputStream live(out, shardkit::cli::OutputStream::Pace::at_once);
  live.write(as_bytes("line\n"));
  CHECK(out.str() == "line\n");
  shardkit::cli::OutputStream gathered(out);
  gathered.write(as_bytes("more\n"));
  CHECK(out.str() == "line\n");
  gathered.flush();
  CHECK(out.str() == "line\nmore\n");
}
