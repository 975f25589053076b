// Our scanner against GNU tar and libarchive, on the same archives: what GNU tar and Python write in every dialect.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <archive.h>
#include <archive_entry.h>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support/files.hpp"
#include "support/process.hpp"
#include "support/scanned_tar.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::formats;
using namespace shardkit::test;
using shardkit_test::Exit;
namespace fs = std::filesystem;

namespace {

Exit run_shell(const std::string& command) { return shardkit_test::Process({"sh", "-c", command}).finish(); }
std::string output_of(const std::string& command) { return run_shell(command).output; }

/// One line per member: where its record starts, its type, size and name, and for files their content.
struct Listing {
  std::vector<std::string> lines;
  std::vector<std::string> contents;
};

std::string line_of(std::uint64_t offset, char type, std::uint64_t size, std::string name, const std::string& target) {
  // Readers differ in whether a folder's name keeps its slash.
  if (name.ends_with('/')) name.pop_back();
  return fmt::format("{} {} {} {}{}", offset, type, size, name, target.empty() ? "" : " -> " + target);
}

Listing list_with_ours(const std::string& archive) {
  const ScannedTar tar = scan(archive);
  CHECK(tar.findings.empty());
  CHECK(same(tar, feed(archive, 1000)));
  Listing listing;
  for (std::size_t i = 0; i < tar.entries.size(); ++i) {
    const TarEntry& entry = tar.entries[i];
    constexpr std::string_view kTypes = "fdhl?";
    listing.lines.push_back(line_of(entry.record_offset, kTypes[static_cast<std::size_t>(entry.type)], entry.size,
                                    entry.name, entry.link_target));
    listing.contents.push_back(tar.contents[i]);
  }
  return listing;
}

char type_of(archive_entry* entry) {
  if (archive_entry_hardlink(entry) != nullptr) return 'h';
  switch (archive_entry_filetype(entry)) {
    case AE_IFREG:
      return 'f';
    case AE_IFDIR:
      return 'd';
    case AE_IFLNK:
      return 'l';
    default:
      return '?';
  }
}

std::string target_of(archive_entry* entry) {
  const char* hard = archive_entry_hardlink(entry);
  const char* symbolic = archive_entry_symlink(entry);
  return hard != nullptr ? hard : symbolic != nullptr ? symbolic : "";
}

Listing list_with_libarchive(const std::string& archive) {
  Listing listing;
  struct archive* reader = archive_read_new();
  archive_read_support_format_tar(reader);
  REQUIRE(archive_read_open_memory(reader, archive.data(), archive.size()) == ARCHIVE_OK);
  archive_entry* entry = nullptr;
  while (true) {
    const int status = archive_read_next_header(reader, &entry);
    if (status == ARCHIVE_EOF) break;
    REQUIRE(status >= ARCHIVE_WARN);
    const char type = type_of(entry);
    const auto size = type == 'f' ? static_cast<std::uint64_t>(archive_entry_size(entry)) : 0;
    listing.lines.push_back(line_of(static_cast<std::uint64_t>(archive_read_header_position(reader)), type, size,
                                    archive_entry_pathname(entry), target_of(entry)));
    std::string content(size, '\0');
    if (size > 0) REQUIRE(archive_read_data(reader, content.data(), size) == static_cast<la_ssize_t>(size));
    listing.contents.push_back(content);
  }
  archive_read_free(reader);
  return listing;
}

/// A tree with what names, links and sizes can be like; relative paths up to about 400 bytes.
void make_tree(const std::string& root) {
  const auto file = [&](const std::string& name, std::size_t size) {
    fs::create_directories(fs::path(root + "/" + name).parent_path());
    std::ofstream(root + "/" + name, std::ios::binary) << std::string(size, static_cast<char>('a' + size % 26));
  };
  file("n01/a.jpg", 70'000);
  file("n01/a.cls", 1);
  file("n01/empty.txt", 0);
  file("n01/block.bin", 512);
  file("n01/more.bin", 513);
  file("n02/with space.jpg", 10);
  file("n02/\xc3\xa4\xc3\xb6.jpg", 11);
  file("n02/" + std::string(96, 'x'), 12);                                 // 100 bytes
  file("n02/" + std::string(97, 'x'), 13);                                 // 101
  file(std::string(120, 'p') + "/" + std::string(90, 'n') + ".jpg", 14);   // fits with a prefix
  file(std::string(200, 'p') + "/" + std::string(150, 'n') + ".jpg", 15);  // fits nowhere
  fs::create_symlink("a.jpg", root + "/n01/link");
  fs::create_symlink(std::string(180, 't'), root + "/n01/long-link");
  fs::create_hard_link(root + "/n01/a.jpg", root + "/n02/hard.jpg");
}

/// GNU tar's listing with block numbers: "<block> <name>" per member.
std::vector<std::string> list_with_gnu_tar(const std::string& path) {
  std::vector<std::string> lines;
  const std::string text = output_of("LC_ALL=C tar --quoting-style=literal -tRf '" + path + "'");
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.find("** Block") == std::string::npos) lines.push_back(line.substr(6));  // "block 12: name"
  }
  return lines;
}

/// GNU tar counts a member from its long name, but not from its PAX header.
std::vector<std::string> blocks_with_ours(const std::string& archive) {
  std::vector<std::string> lines;
  for (const TarEntry& entry : scan(archive).entries) {
    const bool pax = entry.facts.has(TarFact::pax_header) && !entry.facts.has(TarFact::gnu_long_name);
    lines.push_back(fmt::format("{}: {}", (pax ? entry.header_offset : entry.record_offset) / 512, entry.name));
  }
  return lines;
}

bool command_works(const std::string& command) { return run_shell(command).code == 0; }

void compare_all(const std::string& path, std::size_t at_least) {
  const std::string archive = read_file(path);
  const Listing ours = list_with_ours(archive);
  const Listing theirs = list_with_libarchive(archive);
  CHECK(ours.lines.size() >= at_least);
  CHECK(fmt::format("{}", fmt::join(ours.lines, "\n")) == fmt::format("{}", fmt::join(theirs.lines, "\n")));
  CHECK(ours.contents == theirs.contents);
  CHECK(fmt::format("{}", fmt::join(blocks_with_ours(archive), "\n")) ==
        fmt::format("{}", fmt::join(list_with_gnu_tar(path), "\n")));
}

}  // namespace

TEST_CASE("what GNU tar writes in each of its formats lists the same in GNU tar, libarchive and here") {
  REQUIRE(command_works("tar --version | grep -q GNU"));
  TempDir dir;
  make_tree(dir.path("tree"));
  for (const std::string format : {"v7", "oldgnu", "gnu", "ustar", "posix"}) {
    CAPTURE(format);
    const std::string path = dir.path(format + ".tar");
    // v7 and ustar leave out what they cannot hold, and say so.
    output_of("tar --format=" + format + " --sort=name -C '" + dir.path("tree") + "' -cf '" + path + "' . 2>/dev/null");
    compare_all(path, 12);
  }
}

TEST_CASE("what Python's tarfile writes in each of its formats lists the same in GNU tar, libarchive and here") {
  REQUIRE(command_works("python3 -c 'import tarfile'"));
  TempDir dir;
  const std::string script = dir.path("write.py");
  std::ofstream(script) << R"py(
import io, sys, tarfile
formats = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}
names = ["a.jpg", "a.cls", "d/b c.jpg", "d/" + "x" * 96 + ".j", "p" * 120 + "/" + "n" * 90, "\u00e4.jpg"]
if sys.argv[1] != "ustar":
    names.append("q" * 150 + "/" + "n" * 180)
with tarfile.open(sys.argv[2], "w", format=formats[sys.argv[1]]) as tar:
    for number, name in enumerate(names):
        info = tarfile.TarInfo(name)
        info.size = number * 300
        info.mtime = 1690000000 + (0.25 if sys.argv[1] == "pax" else 0)
        info.uname = info.gname = "bigdata"
        tar.addfile(info, io.BytesIO(bytes([65 + number]) * info.size))
)py";
  for (const std::string format : {"ustar", "gnu", "pax"}) {
    CAPTURE(format);
    const std::string path = dir.path(format + ".tar");
    REQUIRE(run_shell("python3 '" + script + "' " + format + " '" + path + "'").code == 0);
    compare_all(path, 6);
  }
}

TEST_CASE("sparse files of GNU tar, in the old and the PAX layouts, are found and stepped over") {
  REQUIRE(command_works("tar --version | grep -q GNU"));
  TempDir dir;
  fs::create_directory(dir.path("tree"));
  std::ofstream(dir.path("tree/a.bin")) << "start";
  fs::resize_file(dir.path("tree/a.bin"), 50'000'000);
  {
    std::fstream holes(dir.path("tree/a.bin"), std::ios::in | std::ios::out | std::ios::binary);
    for (int i = 1; i < 40; ++i) holes.seekp(i * 1'000'000) << "data";  // more pieces than the first header holds
  }
  std::ofstream(dir.path("tree/b.jpg")) << "after";
  for (const std::string options : {"--format=gnu", "--format=posix --sparse-version=0.0",
                                    "--format=posix --sparse-version=0.1", "--format=posix --sparse-version=1.0"}) {
    CAPTURE(options);
    const std::string path = dir.path("s.tar");
    output_of("tar -S " + options + " -C '" + dir.path("tree") + "' -cf '" + path + "' a.bin b.jpg");
    const ScannedTar tar = scan(read_file(path));
    CHECK(tar.findings.empty());
    REQUIRE(tar.entries.size() == 2);
    CHECK(tar.entries[0].name == "a.bin");
    CHECK(tar.entries[0].facts.has(TarFact::sparse));
    CHECK(tar.entries[1].name == "b.jpg");
    CHECK(tar.contents[1] == "after");
  }
}
