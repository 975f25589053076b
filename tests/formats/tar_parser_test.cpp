#include "formats/tar_parser.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/prng.hpp"
#include "support/scanned_tar.hpp"
#include "support/tar_builder.hpp"

using namespace shardkit;
using namespace shardkit::formats;
using namespace shardkit::test;

namespace {

/// Scans, and holds the pulled result against the fed one in pieces that fit and that do not.
ScannedTar scan_both_ways(const std::string& archive) {
  ScannedTar scanned = scan(archive);
  for (const std::size_t piece : {std::size_t{1} << 20U, std::size_t{512}, std::size_t{1000}, std::size_t{7}}) {
    CAPTURE(piece);
    CHECK(same(scanned, feed(archive, piece)));
  }
  return scanned;
}

using Faults = std::vector<TarFault>;

}  // namespace

TEST_CASE("a plain archive gives names, offsets and contents and no fault") {
  const auto tar =
      scan_both_ways(TarBuilder().file("a/1.jpg", std::string(600, 'x')).file("a/1.cls", "7").end().bytes());
  REQUIRE(tar.entries.size() == 2);
  CHECK(tar.entries[0].name == "a/1.jpg");
  CHECK(tar.entries[0].data_offset == 512);
  CHECK(tar.entries[0].size == 600);
  CHECK(tar.entries[1].header_offset == 1536);
  CHECK(tar.entries[1].record_offset == 1536);
  CHECK(tar.contents[1] == "7");
  CHECK(tar.entries[1].facts.empty());
  CHECK(tar.findings.empty());
}

TEST_CASE("a name of exactly 100 bytes needs no NUL at its end") {
  const std::string name(100, 'n');
  const auto tar = scan_both_ways(TarBuilder().file(name, "x").end().bytes());
  CHECK(tar.entries.at(0).name == name);
}

TEST_CASE("the ustar prefix goes before the name; GNU headers have none") {
  const auto tar = scan_both_ways(TarBuilder()
                                      .member({.name = "n.jpg", .prefix = "some/folder"}, "x")
                                      .member({.name = "g.jpg", .prefix = "12345670123", .magic = kGnuMagic}, "x")
                                      .end()
                                      .bytes());
  REQUIRE(tar.entries.size() == 2);
  CHECK(tar.entries[0].name == "some/folder/n.jpg");
  CHECK(tar.entries[0].facts.has(TarFact::ustar_prefix));
  CHECK(tar.entries[1].name == "g.jpg");
  CHECK_FALSE(tar.entries[1].facts.has(TarFact::ustar_prefix));
}

TEST_CASE("PAX path, size and linkpath replace the header's") {
  const std::string content(700, 'c');
  RawHeader header{.name = "short", .size_field = std::string("00000000000")};
  const auto tar = scan_both_ways(TarBuilder()
                                      .pax({{"path", "long/näme.jpg"}, {"size", "700"}, {"mtime", "1690000000.25"}})
                                      .member(header, content)
                                      .pax({{"linkpath", "target"}})
                                      .member({.name = "link", .type = '2', .link_target = "t"}, "")
                                      .file("next.cls", "1")
                                      .end()
                                      .bytes());
  REQUIRE(tar.entries.size() == 3);
  CHECK(tar.entries[0].name == "long/näme.jpg");
  CHECK(tar.entries[0].size == 700);
  CHECK(tar.entries[0].record_offset == 0);
  CHECK(tar.entries[0].header_offset == 1024);
  CHECK(tar.contents[0] == content);
  CHECK(tar.entries[0].facts.has(TarFact::pax_header));
  CHECK(tar.entries[1].link_target == "target");
  CHECK(tar.entries[2].facts.empty());
  CHECK(tar.findings.empty());
}

TEST_CASE("a PAX global header holds for all that follows, a local one goes before it") {
  const auto tar = scan_both_ways(TarBuilder()
                                      .pax({{"comment", "made by hand"}, {"linkpath", "everywhere"}}, 'g')
                                      .member({.name = "a", .type = '2', .link_target = "x"}, "")
                                      .pax({{"linkpath", "here"}})
                                      .member({.name = "b", .type = '2', .link_target = "x"}, "")
                                      .end()
                                      .bytes());
  REQUIRE(tar.entries.size() == 2);
  CHECK(tar.entries[0].link_target == "everywhere");
  CHECK(tar.entries[0].facts.has(TarFact::pax_global_header));
  CHECK(tar.entries[1].link_target == "here");
}

TEST_CASE("GNU long names and long links are followed") {
  const std::string name = std::string(150, 'n') + ".jpg";
  const std::string target(200, 't');
  const auto tar = scan_both_ways(TarBuilder()
                                      .gnu_long(target, 'K')
                                      .gnu_long(name)
                                      .member({.name = name.substr(0, 99), .type = '1', .magic = kGnuMagic}, "")
                                      .end()
                                      .bytes());
  REQUIRE(tar.entries.size() == 1);
  CHECK(tar.entries[0].name == name);
  CHECK(tar.entries[0].link_target == target);
  CHECK(tar.entries[0].type == TarType::hard_link);
  CHECK(tar.entries[0].facts.has(TarFact::gnu_long_name));
  CHECK(tar.entries[0].record_offset == 0);
}

TEST_CASE("base-256 sizes are read and marked") {
  const auto tar =
      scan_both_ways(TarBuilder()
                         .member({.name = "a.bin", .size_field = std::string("\x80\0\0\0\0\0\0\0\0\0\0\3", 12)}, "abc")
                         .end()
                         .bytes());
  REQUIRE(tar.entries.size() == 1);
  CHECK(tar.contents[0] == "abc");
  CHECK(tar.entries[0].facts.has(TarFact::base256_size));
}

TEST_CASE("v7 headers are read; a slash at the end makes a folder of them") {
  const auto tar = scan_both_ways(TarBuilder()
                                      .member({.name = "dir/", .type = '\0', .magic = kV7Magic}, "")
                                      .member({.name = "dir/f", .type = '\0', .magic = kV7Magic}, "x")
                                      .end()
                                      .bytes());
  REQUIRE(tar.entries.size() == 2);
  CHECK(tar.entries[0].type == TarType::directory);
  CHECK(tar.entries[1].type == TarType::regular);
  CHECK(tar.findings.empty());
}

TEST_CASE("links, folders and devices store no content whatever their size says") {
  TarBuilder builder;
  for (const char type : {'1', '2', '3', '4', '5', '6'}) {
    builder.raw(tar_header({.name = "n", .size = 5000, .type = type, .link_target = "n"}));
  }
  const auto tar = scan_both_ways(builder.file("after", "x").end().bytes());
  REQUIRE(tar.entries.size() == 7);
  CHECK(tar.entries[0].type == TarType::hard_link);
  CHECK(tar.entries[2].type == TarType::other);
  CHECK(tar.entries[4].type == TarType::directory);
  CHECK(tar.entries[0].size == 0);
  CHECK(tar.contents[6] == "x");
}

TEST_CASE("hard links that point at each other are only entries") {
  const auto tar = scan_both_ways(TarBuilder()
                                      .member({.name = "a", .type = '1', .link_target = "b"}, "")
                                      .member({.name = "b", .type = '1', .link_target = "a"}, "")
                                      .end()
                                      .bytes());
  CHECK(tar.entries.size() == 2);
  CHECK(tar.findings.empty());
}

TEST_CASE("old GNU sparse files are stepped over, their continued maps too") {
  std::string header = tar_header({.name = "holes", .size = 3, .type = 'S', .magic = kGnuMagic});
  header[482] = 1;
  fix_checksum(header, 0);
  std::string map(512, '\0');
  map[504] = 1;
  const auto tar = scan_both_ways(TarBuilder()
                                      .raw(header)
                                      .raw(map)
                                      .raw(std::string(512, '\0'))
                                      .raw("abc" + std::string(509, '\0'))
                                      .file("after", "x")
                                      .end()
                                      .bytes());
  REQUIRE(tar.entries.size() == 2);
  CHECK(tar.entries[0].facts.has(TarFact::sparse));
  CHECK(tar.entries[0].data_offset == 1536);
  CHECK(tar.contents[0] == "abc");
  CHECK(tar.contents[1] == "x");
}

TEST_CASE("PAX sparse files take their real name and are marked") {
  const auto tar = scan_both_ways(TarBuilder()
                                      .pax({{"GNU.sparse.major", "1"}, {"GNU.sparse.name", "real"}})
                                      .file("GNUSparseFile.0/real", "x")
                                      .end()
                                      .bytes());
  CHECK(tar.entries.at(0).name == "real");
  CHECK(tar.entries.at(0).facts.has(TarFact::sparse));
}

TEST_CASE("no byte at all is an empty file") { CHECK(scan_both_ways("").faults() == Faults{TarFault::empty}); }

TEST_CASE("text, random bytes and a short file are no tar") {
  CHECK(scan_both_ways("hello").faults() == Faults{TarFault::not_a_tar});
  const auto zip = scan_both_ways("PK\x03\x04" + std::string(600, 'z'));
  CHECK(zip.faults() == Faults{TarFault::not_a_tar});
  CHECK(zip.findings[0].text.find("unpack it") != std::string::npos);
  CHECK(scan_both_ways(std::string(512, 'x')).faults() == Faults{TarFault::not_a_tar});
  CHECK(scan_both_ways(std::string(5000, '\xff')).faults() == Faults{TarFault::not_a_tar});
}

TEST_CASE("compressed archives are named by what compressed them") {
  const auto gzip = scan_both_ways("\x1f\x8b\x08" + std::string(600, 'x'));
  CHECK(gzip.faults() == Faults{TarFault::compressed});
  CHECK(gzip.findings[0].text.find("gzip") != std::string::npos);
  const auto zstd = scan_both_ways("\x28\xb5\x2f\xfd short");
  CHECK(zstd.faults() == Faults{TarFault::compressed});
}

TEST_CASE("a lone header of 512 bytes is a truncated archive, a lone zero block an empty one") {
  CHECK(scan_both_ways(tar_header({.name = "a", .size = 5})).faults() == Faults{TarFault::truncated});
  CHECK(scan_both_ways(std::string(512, '\0')).faults() == Faults{TarFault::short_end});
  CHECK(scan_both_ways(std::string(1024, '\0')).findings.empty());
}

TEST_CASE("archives without end-of-archive blocks, or with one, are distinguished") {
  CHECK(scan_both_ways(TarBuilder().file("a", "x").bytes()).faults() == Faults{TarFault::missing_end});
  CHECK(scan_both_ways(TarBuilder().file("a", "x").end(1).bytes()).faults() == Faults{TarFault::short_end});
  CHECK(scan_both_ways(TarBuilder().file("a", "x").end(2).bytes()).findings.empty());
  CHECK(scan_both_ways(TarBuilder().file("a", "x").end(300).bytes()).findings.empty());
}

TEST_CASE("a last member whose content ends with the file is whole, padded or not; with a byte less it is cut") {
  for (const std::size_t size : {1U, 511U, 512U, 513U, 1024U}) {
    CAPTURE(size);
    const std::string padded = TarBuilder().file("a", std::string(size, 'x')).bytes();
    for (const std::string& archive : {padded, padded.substr(0, 512 + size)}) {
      const auto tar = scan_both_ways(archive);
      CHECK(tar.faults() == Faults{TarFault::missing_end});
      CHECK_FALSE(tar.entries.at(0).facts.has(TarFact::truncated));
    }
    CHECK(scan_both_ways(padded.substr(0, 512 + size - 1)).faults() == Faults{TarFault::truncated});
  }
}

TEST_CASE("data after the end is found where it starts: right behind, far behind, half a block") {
  const std::string once = TarBuilder().file("a", "x").end().bytes();
  const auto twice = scan_both_ways(once + once);
  CHECK(twice.faults() == Faults{TarFault::data_after_end});
  CHECK(twice.findings[0].offset == once.size());
  CHECK(twice.entries.size() == 1);
  CHECK(scan_both_ways(once + std::string(200'000, '\0') + "x").faults() == Faults{TarFault::data_after_end});
  CHECK(scan_both_ways(TarBuilder().file("a", "x").end(1).file("b", "y").bytes()).faults() ==
        Faults{TarFault::data_after_end});
}

TEST_CASE("a reader that goes on behind the end gets the members of all archives that were put together") {
  const std::string first = TarBuilder().file("a", "x").end().bytes();
  const std::string second = TarBuilder().file("b", std::string(1500, 'y')).file("c", "").end(20).bytes();
  for (const std::size_t padding : {0U, 512U, 200U * 512U}) {
    const std::string joined = first + std::string(padding, '\0') + second;
    for (const std::size_t piece : {std::size_t{1}, std::size_t{700}, joined.size()}) {
      CAPTURE(piece);
      const ScannedTar found = feed(joined + second, piece, AfterEnd::go_on);
      CHECK(found.faults() == Faults{TarFault::data_after_end, TarFault::data_after_end});
      REQUIRE(found.entries.size() == 5);
      CHECK(found.entries[1].name == "b");
      CHECK(found.entries[1].header_offset == first.size() + padding);
      CHECK(found.contents[1] == std::string(1500, 'y'));
    }
  }
  const ScannedTar no_tar = feed(first + std::string(600, 'z') + second, 1000, AfterEnd::go_on);
  CHECK(no_tar.faults() == Faults{TarFault::data_after_end, TarFault::bad_checksum});
  CHECK(no_tar.entries.size() == 1);
}

TEST_CASE("an archive cut anywhere is found out") {
  const std::string whole = TarBuilder()
                                .pax({{"path", "a.jpg"}})
                                .file("a.jpg", std::string(1500, 'j'))
                                .gnu_long("a.cls")
                                .file("a.cls", "12")
                                .end()
                                .bytes();
  for (std::size_t length = 0; length < whole.size(); length += length % 512 == 0 ? 1 : 511 - length % 512 / 2) {
    CAPTURE(length);
    const auto tar = scan_both_ways(whole.substr(0, length));
    CHECK(tar.findings.size() == 1);
  }
  CHECK(scan_both_ways(whole).findings.empty());
}

TEST_CASE("a member that the archive's end cuts is an entry marked as truncated") {
  const auto tar = scan_both_ways(TarBuilder().file("a", std::string(2000, 'x')).bytes().substr(0, 1000));
  REQUIRE(tar.entries.size() == 1);
  CHECK(tar.entries[0].facts.has(TarFact::truncated));
  CHECK(tar.entries[0].size == 2000);
  CHECK(tar.faults() == Faults{TarFault::truncated});
}

TEST_CASE("a flipped bit anywhere in a header is found, but for the space after the checksum, which means nothing") {
  const std::string whole = TarBuilder().file("a.jpg", "x").file("a.cls", "1").end().bytes();
  for (std::size_t byte = 1024; byte < 1536; ++byte) {
    if (byte == 1024 + 155) continue;
    std::string damaged = whole;
    damaged[byte] = static_cast<char>(damaged[byte] ^ 4);
    CAPTURE(byte);
    CHECK_FALSE(scan(damaged).findings.empty());
  }
}

TEST_CASE("a damaged first header of a real tar is a bad checksum, not something else") {
  std::string archive = TarBuilder().file("a.jpg", "x").end().bytes();
  archive[0] = 'b';
  CHECK(scan_both_ways(archive).faults() == Faults{TarFault::bad_checksum});
}

TEST_CASE("sizes that lie are refused: negative, 8 EiB, near 2^63, no number") {
  const std::string negative(12, '\xff');
  const std::string eight_eib("\x80\0\0\0\x80\0\0\0\0\0\0\0", 12);
  const std::string beyond("\x80\x7f\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12);
  const std::string words("words.......", 12);
  for (const std::string& field : {negative, eight_eib, beyond, words}) {
    const auto tar = scan_both_ways(TarBuilder().member({.name = "a", .size_field = field}, "x").end().bytes());
    CHECK(tar.faults() == Faults{TarFault::bad_size});
    CHECK(tar.entries.empty());
  }
  const std::string largest("\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", 12);
  const std::string octal(12, '7');
  for (const std::string& field : {largest, octal}) {
    for (const char type : {'0', 'S', 'x', 'L', 'Z'}) {
      CAPTURE(type);
      const auto tar =
          scan_both_ways(TarBuilder().member({.name = "a", .type = type, .size_field = field}, "x").end().bytes());
      CHECK(tar.faults() == Faults{TarFault::truncated});
    }
  }
}

TEST_CASE("PAX sizes that lie are refused") {
  for (const std::string size : {"-1", "18446744073709551615", "99999999999999999999", "", "1k"}) {
    CAPTURE(size);
    const auto tar = scan_both_ways(TarBuilder().pax({{"size", size}}).file("a", "x").end().bytes());
    CHECK(tar.faults() == Faults{TarFault::bad_size});
  }
  CHECK(scan_both_ways(TarBuilder().pax({{"size", "9223372036854775807"}}).file("a", "x").end().bytes()).faults() ==
        Faults{TarFault::truncated});
}

TEST_CASE("damaged PAX records are reported and the member still read") {
  for (const std::string text : {"x path=b\n", "9999 path=b\n", "3 p", "0 path=b\n", "10 path=bb", "9 =noname\n",
                                 "7 nokey\n", "-9 path=b\n", "99999999999999999999999 path=b\n"}) {
    CAPTURE(text);
    const auto tar = scan_both_ways(TarBuilder().member({.name = "p", .type = 'x'}, text).file("a", "x").end().bytes());
    CHECK(tar.faults() == Faults{TarFault::bad_extension});
    CHECK(tar.entries.at(0).name == "a");
  }
}

TEST_CASE("names of over a MiB are stepped over, PAX records of any size that do not matter are skipped") {
  const std::string bomb(TarParser::kMostWanted + 1, 'b');
  const auto with = [&](const std::string& header, char type) {
    return scan_both_ways(TarBuilder().member({.name = "p", .type = type}, header).file("a", "x").end().bytes());
  };
  struct Row {
    std::string header;
    Faults faults;
    std::string name;
  };
  const std::string attribute = pax_record("SCHILY.xattr.user.big", bomb + bomb);
  const std::string path = pax_record("path", "b");
  const Faults none;
  const Faults damaged{TarFault::bad_extension};
  for (const char type : {'L', 'K'}) {
    CHECK(with(bomb, type).faults() == Faults{TarFault::oversized_extension});
    CHECK(with(bomb, type).entries.at(0).name == "a");
  }
  for (const Row& row : {Row{attribute + path, none, "b"}, Row{path + attribute, none, "b"},
                         Row{attribute + attribute + path + attribute, none, "b"}, Row{bomb, damaged, "a"},
                         Row{path + bomb, damaged, "b"}, Row{attribute.substr(0, bomb.size()), damaged, "a"},
                         Row{pax_record("path", bomb) + attribute, {TarFault::oversized_extension}, "a"},
                         Row{pax_record("comment", std::string(TarParser::kMostWanted - 60, 'c')) + path, none, "b"}}) {
    for (const char type : {'x', 'g'}) {
      CAPTURE(row.header.size());
      const auto tar = with(row.header, type);
      CHECK(tar.faults() == row.faults);
      CHECK(tar.entries.at(0).name == row.name);
      CHECK(tar.entries.at(0).record_offset == 0);
    }
  }
}

TEST_CASE("a later volume of a split archive is not a tar") {
  const auto tar = scan_both_ways(TarBuilder().member({.name = "a", .type = 'M'}, "rest").end().bytes());
  CHECK(tar.faults() == Faults{TarFault::not_a_tar});
}

TEST_CASE("a tar that ends in a member, with its record, may be the first volume of a split archive") {
  const std::string tar = TarBuilder().file("a", std::string(30000, 'x')).bytes();
  CHECK(scan_both_ways(tar.substr(0, 20480)).findings.at(0).text.find("first volume") != std::string::npos);
  CHECK(scan_both_ways(tar.substr(0, 19968)).findings.at(0).text.find("first volume") == std::string::npos);
}

TEST_CASE("header fields that Python's tarfile cannot read are facts of the member behind them") {
  const auto facts = [](std::size_t offset, const std::string& text, bool in_extension = false) {
    std::string tar =
        TarBuilder().member({.name = "a", .magic = kGnuMagic}, "x").pax({{"mtime", "1"}}).file("b", "y").end().bytes();
    tar.replace((in_extension ? 1024 : 0) + offset, text.size(), text);
    fix_checksum(tar, in_extension ? 1024 : 0);
    return scan_both_ways(tar).entries.at(in_extension ? 1 : 0);
  };
  for (const std::size_t offset : {100, 108, 116, 136, 329, 337}) {
    CAPTURE(offset);
    CHECK(facts(offset, std::string("root\0", 5)).facts.has(TarFact::unreadable_number));
    CHECK(facts(offset, std::string("root\0", 5), true).facts.has(TarFact::unreadable_number));
    CHECK_FALSE(facts(offset, std::string(" 0o17 \0", 7)).facts.has(TarFact::unreadable_number));
  }
  CHECK(facts(108, "root").unreadable == "uid");
  CHECK(facts(345, "15023456701").facts.has(TarFact::times_in_prefix));
  CHECK(facts(345, "15023456701").name == "a");
}

TEST_CASE("extended headers without a member are a truncated archive") {
  CHECK(scan_both_ways(TarBuilder().pax({{"path", "a"}}).bytes()).faults() == Faults{TarFault::truncated});
  CHECK(scan_both_ways(TarBuilder().pax({{"path", "a"}}).end().bytes()).faults() == Faults{TarFault::truncated});
}

TEST_CASE("no mutation of an archive makes the parser crash, hang or want what is not there") {
  const std::string whole = TarBuilder()
                                .pax({{"path", "a.jpg"}, {"size", "900"}})
                                .file("a.jpg", std::string(900, 'j'))
                                .gnu_long(std::string(120, 'n'))
                                .file("n.cls", "12")
                                .member({.name = "s", .type = 'S', .magic = kGnuMagic}, "s")
                                .member({.name = "l", .type = '1', .link_target = "n.cls"}, "")
                                .end()
                                .bytes();
  Prng prng(20240607);
  constexpr int kMutations = 20'000;
  for (int i = 0; i < kMutations; ++i) {
    std::string archive = whole;
    for (auto changes = prng.below(4); changes-- > 0;) {
      archive[prng.below(archive.size())] = static_cast<char>(prng.next());
    }
    // With good checksums the damage reaches what lies behind them.
    for (std::size_t header = 0; header + 512 <= archive.size(); header += 512) {
      if (archive.compare(header + 257, 5, "ustar") == 0) fix_checksum(archive, header);
    }
    if (prng.below(8) == 0) archive.resize(prng.below(archive.size()));
    const ScannedTar scanned = scan(archive);
    for (const TarEntry& entry : scanned.entries) {
      REQUIRE(entry.record_offset <= entry.header_offset);
      REQUIRE(entry.header_offset < entry.data_offset);
      REQUIRE((entry.facts.has(TarFact::truncated) || entry.data_offset + entry.size <= archive.size()));
    }
    REQUIRE(same(scanned, feed(archive, 700)));
  }
}
