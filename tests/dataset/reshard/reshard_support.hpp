#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/error.hpp"
#include "core/text.hpp"
#include "dataset/reshard/reshard.hpp"
#include "formats/sample_name.hpp"
#include "formats/tar_scanner.hpp"
#include "io/file.hpp"
#include "support/fake_image.hpp"
#include "support/shard_folder.hpp"

namespace shardkit::test {

/// One member as a reader of shards sees it.
struct ReadMember {
  std::string key;
  std::string extension;
  std::string content;
  auto operator<=>(const ReadMember&) const = default;
};

/// The members of one tar in order. Fails the test when the tar is not in perfect order.
inline std::vector<ReadMember> members_of(const std::string& path) {
  const std::string bytes = read_file(path);
  MemorySource source(as_bytes(bytes));
  formats::TarScanner scanner(source, [&](const formats::TarFinding& finding) { FAIL(path << ": " << finding.text); });
  std::vector<ReadMember> members;
  formats::TarEntry entry;
  while (scanner.next(entry)) {
    const auto name = formats::split_sample_name(entry.name);
    REQUIRE_MESSAGE(name, entry.name);
    members.push_back(
        {std::string(name->key), lower_case(name->extension), bytes.substr(entry.data_offset, entry.size)});
  }
  return members;
}

/// Those of all tars of a folder, by tar name.
inline std::vector<ReadMember> members_in(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".tar") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  std::vector<ReadMember> members;
  for (const std::string& path : paths) {
    for (ReadMember& member : members_of(path)) members.push_back(std::move(member));
  }
  return members;
}

inline std::vector<ReadMember> sorted(std::vector<ReadMember> members) {
  std::ranges::sort(members);
  return members;
}

/// Keys in order, each once.
inline std::vector<std::string> keys_of(const std::vector<ReadMember>& members) {
  std::vector<std::string> keys;
  for (const ReadMember& member : members) {
    if (keys.empty() || keys.back() != member.key) keys.push_back(member.key);
  }
  return keys;
}

/// `count` samples "<prefix>000" up; sample i holds some bytes and the label i % 3.
inline TarBuilder numbered_samples(int count, const std::string& prefix, int from = 0) {
  TarBuilder tar;
  for (int i = from; i < from + count; ++i) {
    const std::string image = fmt::format("{} {}", prefix, std::string(static_cast<std::size_t>(i * 97 % 2000), 'x'));
    tar.sample(fmt::format("{}{:03}", prefix, i), fake_jpeg(image), fmt::to_string(i % 3));
  }
  return tar.end();
}

/// The stages that the progress line announces are those that a reshard has.
inline dataset::ReshardResult run(const dataset::ReshardOptions& options) {
  Context context;
  dataset::ReshardResult result = dataset::reshard(options, context);
  CHECK(context.progress().stage == context.progress().stages);
  return result;
}

inline Error failure(const dataset::ReshardOptions& options) {
  try {
    run(options);
  } catch (const Error& error) {
    return error;
  }
  FAIL("resharded as if nothing were wrong");
  return {ErrorCode::usage, ""};
}

inline bool says(const Error& error, std::string_view text) {
  return std::string_view(error.what()).find(text) != std::string_view::npos;
}

/// Reshards one hand-made tar into the folder "out" beside it.
struct OneTar {
  ShardFolder folder;

  explicit OneTar(const TarBuilder& tar) { folder.write("in.tar", tar); }
  dataset::ReshardOptions options() const {
    dataset::ReshardOptions options;
    options.inputs = {folder.path("in.tar")};
    options.target = folder.path("out");
    options.threads = 2;
    return options;
  }
  std::vector<ReadMember> result() const { return members_in(folder.path("out")); }
};

}  // namespace shardkit::test
