#include "core/error.hpp"

#include <cerrno>
#include <memory>

#include <doctest/doctest.h>
#include <sys/resource.h>

using namespace shardkit;

TEST_CASE("a failed system call has the code that decides whether a retry helps") {
  const auto code = [](int error_number) { return system_error(error_number, "open", "/x").code(); };
  CHECK(code(ENOENT) == ErrorCode::not_found);
  CHECK(code(ENOTDIR) == ErrorCode::not_found);
  CHECK(code(EACCES) == ErrorCode::denied);
  CHECK(code(EPERM) == ErrorCode::denied);
  CHECK(code(EROFS) == ErrorCode::denied);
  CHECK(code(ENOSPC) == ErrorCode::no_space);
  CHECK(code(EDQUOT) == ErrorCode::no_space);
  CHECK(code(EFBIG) == ErrorCode::no_space);
  CHECK(code(ENOSYS) == ErrorCode::unsupported);
  CHECK(code(EEXIST) == ErrorCode::conflict);
  CHECK(code(ENOMEM) == ErrorCode::out_of_memory);
  CHECK(code(EIO) == ErrorCode::io);
  CHECK(code(EMFILE) == ErrorCode::io);
  CHECK(code(ESTALE) == ErrorCode::io);
  CHECK(code(ETIMEDOUT) == ErrorCode::io);
  CHECK(code(ENOTCONN) == ErrorCode::io);
}

TEST_CASE("a file that is too large is not a lack of space: the file system or a limit of this process refuses it") {
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  const rlim_t before = limit.rlim_cur;
  const auto text = [&](rlim_t most) {
    limit.rlim_cur = most;
    ::setrlimit(RLIMIT_FSIZE, &limit);
    return std::string(system_error(EFBIG, "write to", "/x").what());
  };
  CHECK(text(1U << 20U).ends_with("raise the limit of file sizes with 'ulimit -f unlimited'"));
  CHECK((limit.rlim_max != RLIM_INFINITY ||
         text(RLIM_INFINITY).find("cannot hold a file of this size") != std::string::npos));
  text(before);
}

TEST_CASE("its text says what was tried, on what, and why it failed") {
  const Error error = system_error(ENOENT, "open", "/data/x.tar");
  CHECK(std::string(error.what()) == "cannot open '/data/x.tar': No such file or directory");
  CHECK(error.path() == "/data/x.tar");
  CHECK_FALSE(error.offset());
}

TEST_CASE("a fault of a file is a fact beside the text, so that messages can group the files that have it") {
  const Error error(ErrorCode::corrupt, At{"/data/x.jpg"}, Fault{"lacks a field: mask.png", " (looked for 'x.png')"});
  CHECK(std::string(error.what()) == "'/data/x.jpg' lacks a field: mask.png (looked for 'x.png')");
  CHECK(error.path() == "/data/x.jpg");
  CHECK(error.fault().text == "lacks a field: mask.png");
  CHECK(error.fault().details == " (looked for 'x.png')");
  CHECK(system_error(ENOENT, "open", "/x").fault().text.empty());
}

TEST_CASE("every code has a name of its own") {
  CHECK(error_code_name(ErrorCode::usage) == "usage");
  CHECK(error_code_name(ErrorCode::not_found) == "not_found");
  CHECK(error_code_name(ErrorCode::denied) == "denied");
  CHECK(error_code_name(ErrorCode::io) == "io");
  CHECK(error_code_name(ErrorCode::network) == "network");
  CHECK(error_code_name(ErrorCode::in_use) == "in_use");
  CHECK(error_code_name(ErrorCode::corrupt) == "corrupt");
  CHECK(error_code_name(ErrorCode::conflict) == "conflict");
  CHECK(error_code_name(ErrorCode::no_space) == "no_space");
  CHECK(error_code_name(ErrorCode::unsupported) == "unsupported");
  CHECK(error_code_name(ErrorCode::cancelled) == "cancelled");
}

TEST_CASE("a result is a value or the error in its place") {
  Result<int> good = 7;
  CHECK(good);
  CHECK(*good == 7);
  *good = 8;
  CHECK(good.value() == 8);
  const Result<int> bad = Error(ErrorCode::corrupt, "torn", "/x", 512);
  CHECK_FALSE(bad);
  CHECK(bad.error().offset() == 512);
  CHECK_THROWS_WITH_AS((void)bad.value(), "torn", Error);
}

TEST_CASE("a result gives away a value that only moves") {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(3);
  const std::unique_ptr<int> taken = std::move(result).value();
  CHECK(*taken == 3);
}

TEST_CASE("too few open files are an error that says which limit to raise") {
  CHECK(std::string(system_error(EMFILE, "open", "/x").what()).find("ulimit -n") != std::string::npos);
  CHECK(std::string(system_error(ENFILE, "open", "/x").what()).find("fs.file-max") != std::string::npos);
  CHECK(system_error(EMFILE, "open", "/x").code() == ErrorCode::io);
}

TEST_CASE("a quota that is used up is an error that says so, because the disk may have space") {
  CHECK(std::string(system_error(EDQUOT, "write", "/x").what()).find("raise the quota") != std::string::npos);
}
