// Each trap that docs/explain/formats.md names, by its code.

#include "dataset/verify/verify_support.hpp"
#include "formats/tar_parser.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::formats;
using namespace shardkit::test;

namespace {

/// A good sample, what `add` puts behind it, and a good end.
template <class Add>
VerifyResult with(Add add) {
  TarBuilder builder;
  builder.sample("good", "image", "0");
  add(builder);
  return verify_tar(builder.end());
}

VerifyResult with_file(const std::string& name, std::string_view content = "x") {
  return with([&](TarBuilder& b) { b.file(name, content); });
}

void check_only(const VerifyResult& result, std::string_view code, Severity severity, std::string_view key) {
  CHECK(codes(result) == Codes{std::string(code)});
  const Problem& found = problem(result, code);
  CHECK(found.severity == severity);
  CHECK(found.key == key);
  CHECK(found.where.path == "s.tar");
  CHECK(found.where.offset == 2048U);
  CHECK_FALSE(found.text.empty());
  CHECK(result.has_findings() == (severity == Severity::error));
}

constexpr Severity kError = Severity::error;
constexpr Severity kWarning = Severity::warning;

}  // namespace

TEST_CASE("pax_header: warned about once per shard, with the number of members that have one") {
  const auto result = with([](TarBuilder& b) {
    for (const char* key : {"b", "c", "d"}) {
      b.pax({{"mtime", "1.5"}})
          .file(std::string(key) + ".jpg", "x")
          .pax({{"mtime", "1.5"}})
          .file(std::string(key) + ".cls", "1");
    }
  });
  check_only(result, "pax_header", kWarning, "b.jpg");
  CHECK(result.problems[0].count == 6);
  CHECK(result.problems_total == 6);
  CHECK(result.warnings == 6);
}

TEST_CASE("pax_global_header: warned about") {
  const auto result = with([](TarBuilder& b) { b.pax({{"comment", "c"}}, 'g').sample("b", "i", "1"); });
  check_only(result, "pax_global_header", kWarning, "b.jpg");
}

TEST_CASE("gnu_longname: warned about") {
  const std::string key(120, 'n');
  const auto result = with(
      [&](TarBuilder& b) { b.gnu_long(key + ".jpg").file("x.jpg", "x").gnu_long(key + ".cls").file("x.cls", "1"); });
  check_only(result, "gnu_longname", kWarning, key + ".jpg");
}

TEST_CASE("ustar_prefix: warned about") {
  const auto result = with([](TarBuilder& b) {
    b.member({.name = "b.jpg", .prefix = "folder"}, "x").member({.name = "b.cls", .prefix = "folder"}, "1");
  });
  check_only(result, "ustar_prefix", kWarning, "folder/b.jpg");
}

TEST_CASE("base256_size: warned about") {
  const auto result = with([](TarBuilder& b) {
    b.member({.name = "b.jpg", .size_field = std::string("\x80\0\0\0\0\0\0\0\0\0\0\1", 12)}, "x").file("b.cls", "1");
  });
  check_only(result, "base256_size", kWarning, "b.jpg");
}

TEST_CASE("sparse: an error, because readers take the pieces for the content") {
  const auto result =
      with([](TarBuilder& b) { b.member({.name = "b.jpg", .type = 'S', .magic = kGnuMagic}, "x").file("b.cls", "1"); });
  check_only(result, "sparse", kError, "b.jpg");
}

TEST_CASE("hard_link and symlink: errors, because the member vanishes") {
  check_only(with([](TarBuilder& b) { b.member({.name = "b.jpg", .type = '1', .link_target = "good.jpg"}, ""); }),
             "hard_link", kError, "b.jpg");
  check_only(with([](TarBuilder& b) { b.member({.name = "b.jpg", .type = '2', .link_target = "good.jpg"}, ""); }),
             "symlink", kError, "b.jpg");
}

TEST_CASE("directory and special_file: warned about") {
  check_only(with([](TarBuilder& b) { b.member({.name = "d/", .type = '5'}, ""); }), "directory", kWarning, "d/");
  check_only(with([](TarBuilder& b) { b.member({.name = "p", .type = '6'}, ""); }), "special_file", kWarning, "p");
}

TEST_CASE("empty_member: warned about, and an error if it is all data of the sample") {
  const auto data = with([](TarBuilder& b) { b.sample("b", "", "1"); });
  CHECK(problem(data, "empty_member").severity == kWarning);
  CHECK(problem(data, "empty_member").key == "b.jpg");
  CHECK(problem(data, "orphan_member").severity == kError);
  const auto field = with([](TarBuilder& b) { b.file("b.seg.png", "").sample("b", "i", "1"); });
  CHECK(problem(field, "empty_member").key == "b.seg.png");
  CHECK(field.errors == 0);
}

TEST_CASE("unsafe_name: an error for '..', a leading slash and a NUL") {
  for (const std::string key : {"../b", "a/../b", "/b"}) {
    const auto result = with([&](TarBuilder& b) { b.sample(key, "i", "1"); });
    CHECK(codes(result) == Codes{"unsafe_name", "unsafe_name"});
    CHECK(result.problems[0].key == key + ".jpg");
    CHECK(result.has_findings());
  }
  const std::string nul("b\0c.jpg", 7);
  const auto result = with([&](TarBuilder& b) { b.pax({{"path", nul}}).file("x", "x"); });
  CHECK(problem(result, "unsafe_name").key == nul);
}

TEST_CASE("space_in_name, non_ascii_name and control_character: warned about") {
  check_only(with([](TarBuilder& b) { b.sample("a b", "i", "1"); }), "space_in_name", kWarning, "a b.jpg");
  check_only(with([](TarBuilder& b) { b.sample("\xc3\xa4", "i", "1"); }), "non_ascii_name", kWarning, "\xc3\xa4.jpg");
  check_only(with([](TarBuilder& b) { b.sample("a\nb", "i", "1"); }), "control_character", kWarning, "a\nb.jpg");
}

TEST_CASE("name_too_long: warned about beyond what file systems hold") {
  const auto result = with([](TarBuilder& b) { b.pax({{"path", std::string(252, 'n') + ".jpg"}}).file("x", "x"); });
  CHECK(problem(result, "name_too_long").severity == kWarning);
  const auto fits = with([](TarBuilder& b) { b.pax({{"path", std::string(251, 'n') + ".jpg"}}).file("x", "x"); });
  CHECK(codes(fits) == Codes{"pax_header", "missing_label"});
}

TEST_CASE("apple_double, macosx_folder and hidden_name: errors, because they become bogus samples") {
  CHECK(problem(with_file("a/._x.jpg"), "apple_double").severity == kError);
  CHECK(problem(with_file("__MACOSX/a/x.jpg"), "macosx_folder").severity == kError);
  CHECK(problem(with_file("a/.x.jpg"), "hidden_name").severity == kError);
}

TEST_CASE("metadata_member: warned about, and no sample") {
  const auto result = with_file("__info__", "text");
  check_only(result, "metadata_member", kWarning, "__info__");
  CHECK(result.samples == 1);
}

TEST_CASE("no_extension: an error, because most readers drop the member") {
  check_only(with_file("README"), "no_extension", kError, "README");
}

TEST_CASE("nested_tar: an error, because a tar of tars has no samples of its own") {
  CHECK(problem(with_file("n01440764.tar"), "nested_tar").severity == kError);
}

TEST_CASE("uppercase_extension: warned about") {
  const auto result = with([](TarBuilder& b) { b.file("b.JPEG", "i").file("b.cls", "1"); });
  CHECK(problem(result, "uppercase_extension").severity == kWarning);
  CHECK(problem(result, "uppercase_extension").key == "b.JPEG");
}

TEST_CASE("dot_in_stem: warned about where the dot belongs to the file's name") {
  const auto result = with([](TarBuilder& b) { b.file("img.v2.jpg", "i").file("img.v2.json", "{}"); });
  CHECK(problem(result, "dot_in_stem").severity == kWarning);
  CHECK(problem(result, "dot_in_stem").key == "img");
  const auto meant = with([](TarBuilder& b) { b.file("b.jpg", "i").file("b.seg.png", "i").file("b.cls", "1"); });
  CHECK(codes(meant) == Codes{"differing_members"});
}

TEST_CASE("duplicate_extension: an error") {
  const auto result = with([](TarBuilder& b) { b.sample("b", "i", "1").file("b.JPG", "i"); });
  CHECK(codes(result) == Codes{"uppercase_extension", "duplicate_extension", "differing_members"});
  CHECK(problem(result, "duplicate_extension").key == "b");
  CHECK(result.has_findings());
}

TEST_CASE("repeated_member: an error where a later member has the same name") {
  const auto beside = with([](TarBuilder& b) { b.sample("b", "i", "1").file("b.cls", "2"); });
  CHECK(problem(beside, "repeated_member").key == "b");
  const auto apart = with([](TarBuilder& b) { b.sample("b", "i", "1").file("good.cls", "2"); });
  CHECK(problem(apart, "repeated_member").key == "good");
  for (const VerifyResult& result : {beside, apart}) {
    CHECK(std::ranges::count(codes(result), "duplicate_extension") == 0);
    CHECK(result.remedies.back().find("mark") == std::string::npos);
    CHECK(result.remedies.back().find("of members with one name the last") != std::string::npos);
  }
}

TEST_CASE("header_number and header_times: errors, because Python loses members or changes keys") {
  std::string tar = TarBuilder().member({.name = "b.jpg", .magic = kGnuMagic}, "x").file("b.cls", "1").end().bytes();
  tar.replace(108, 4, "root");
  fix_checksum(tar, 0);
  CHECK(problem(verify_bytes(tar), "header_number").text.find("uid") != std::string::npos);
  tar.replace(108, 4, "0000");
  tar.replace(345, 11, "15023456701");
  fix_checksum(tar, 0);
  CHECK(problem(verify_bytes(tar), "header_times").key == "b.jpg");
}

TEST_CASE("split_sample: an error where a sample's members do not stand together") {
  const auto result = with([](TarBuilder& b) { b.sample("b", "i", "1").file("good.json", "{}"); });
  const Problem& split = problem(result, "split_sample");
  CHECK(split.key == "good");
  CHECK(split.severity == kError);
  CHECK(split.where.offset == 4096U);
}

TEST_CASE("duplicate_key: an error in the later of two shards, with the position of the first") {
  ShardFolder folder;
  folder.write("a.tar", good_samples(3));
  folder.write("b.tar", good_samples(2));
  folder.write("c.tar", good_samples(2, "other"));
  const auto result = verify_path(folder.path());
  CHECK(codes(result) == Codes{"duplicate_key", "duplicate_key"});
  CHECK(result.problems[1].where.path == "b.tar");
  CHECK(result.problems[1].key == "k1");
  CHECK(result.problems[1].text.find("'a.tar' at byte 2048") != std::string::npos);
  CHECK(result.has_findings());
}

TEST_CASE("duplicate_key, not split_sample: other files of a key in another shard are no part of its sample") {
  ShardFolder folder;
  folder.write("a.tar", TarBuilder().sample("k", "i", "1").end());
  folder.write("b.tar", TarBuilder().file("k.json", "{}").file("k.txt", "x").end());
  const Problem found = problem(verify_path(folder.path()), "duplicate_key");
  CHECK(found.where.path == "b.tar");
  CHECK(found.key == "k");
  const auto whole = with([](TarBuilder& b) { b.sample("k", "i", "1").file("other.jpg", "i").file("k.json", "{}"); });
  CHECK(std::ranges::count(codes(whole), "duplicate_key") == 0);
  CHECK(problem(whole, "split_sample").key == "k");
}

TEST_CASE("missing_label: an error where other samples have one, also in another shard") {
  ShardFolder folder;
  folder.write("a.tar", good_samples(1));
  folder.write("b.tar", TarBuilder().file("x.jpg", "i").file("y.jpg", "i").end());
  const auto result = verify_path(folder.path());
  CHECK(codes(result) == Codes{"missing_label"});
  CHECK(result.problems[0].where.path == "b.tar");
  CHECK(result.problems[0].key == "x");
  CHECK(result.problems[0].count == 2);
  CHECK(verify_path(folder.path("b.tar")).problems.empty());
}

TEST_CASE("bad_label: an error for a .cls that is no whole number; white space around it is fine") {
  for (const std::string label : {"cat", "1.5", "-1", "1 2", " ", "99999999999999999999", "0x1"}) {
    CAPTURE(label);
    const auto result = with([&](TarBuilder& b) { b.sample("b", "i", label); });
    CHECK(codes(result) == Codes{"bad_label"});
    CHECK(result.has_findings());
  }
  const auto long_label = with([](TarBuilder& b) { b.sample("b", "i", std::string(100'000, '1')); });
  CHECK(codes(long_label) == Codes{"bad_label"});
  CHECK(with([](TarBuilder& b) { b.sample("b", "i", " 1\n"); }).problems.empty());
}

TEST_CASE("empty_shard: an error") {
  const auto result = verify_tar(TarBuilder().end());
  CHECK(codes(result) == Codes{"empty_shard"});
  CHECK(result.has_findings());
}

TEST_CASE("damaged archives are errors by name") {
  const std::string good = good_samples(2).bytes();
  CHECK(codes(verify_bytes("")) == Codes{"zero_length"});
  CHECK(codes(verify_bytes("\x1f\x8b" + std::string(100, 'z'))) == Codes{"compressed"});
  CHECK(codes(verify_bytes(std::string(4096, 'z'))) == Codes{"not_a_tar"});
  CHECK(codes(verify_bytes(good.substr(0, 1500))) == Codes{"truncated"});
  CHECK(codes(verify_bytes(good.substr(0, good.size() - 1024))) == Codes{"missing_end"});
  CHECK(codes(verify_bytes(good + good)) == Codes{"data_after_end"});
  std::string flipped = good;
  flipped[2048] = 'X';
  CHECK(codes(verify_bytes(flipped)) == Codes{"bad_header_checksum"});
  const std::string negative(12, '\xff');
  CHECK(codes(with([&](TarBuilder& b) { b.member({.name = "b.jpg", .size_field = negative}, ""); })) ==
        Codes{"bad_size_field"});
  CHECK(codes(with([](TarBuilder& b) { b.member({.name = "p", .type = 'x'}, "junk").sample("b", "i", "1"); })) ==
        Codes{"bad_pax_header", "pax_header"});
  const std::string bomb(TarParser::kMostWanted + 1, 'b');
  CHECK(codes(with([&](TarBuilder& b) { b.member({.name = "p", .type = 'L'}, bomb).sample("b", "i", "1"); })) ==
        Codes{"oversized_header", "gnu_longname"});
}

TEST_CASE("short_end: warned about") {
  const auto result = verify_tar(TarBuilder().sample("a", "i", "0").end(1));
  CHECK(codes(result) == Codes{"short_end"});
  CHECK_FALSE(result.has_findings());
}

TEST_CASE("a shard cut at any block, or beside one, is a finding and never a crash") {
  const std::string good = good_samples(3).bytes();
  ShardFolder folder;
  for (std::size_t length = 0; length < good.size(); length += length % 512 == 0 ? 1 : 511) {
    CAPTURE(length);
    folder.write("s.tar", good.substr(0, length));
    const bool only_padding_is_lost = length >= good.size() - 512;
    CHECK(verify_path(folder.path()).has_findings() != only_padding_is_lost);
  }
}

TEST_CASE("every code has a name of its own and a meaning") {
  std::vector<std::string_view> names;
  for (const ProblemKind& kind : problem_kinds()) {
    names.push_back(kind.name);
    CHECK_FALSE(kind.meaning.empty());
  }
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
}
