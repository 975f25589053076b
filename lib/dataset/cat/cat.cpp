#include "dataset/cat/cat.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.hpp"
#include "core/text.hpp"
#include "dataset/cat/key_search.hpp"
#include "dataset/samples/sample_lister.hpp"
#include "formats/sample_name.hpp"
#include "system/limits.hpp"

namespace shardkit::dataset {
namespace {

std::string extensions_of(const ListedSample& sample) {
  std::vector<std::string_view> extensions;
  for (const ListedMember& member : sample.members) extensions.push_back(member.extension);
  return fmt::format("{}", fmt::join(extensions, ", "));
}

const ListedMember& only_content(const ListedSample& sample) {
  const auto is_content = [](const ListedMember& member) { return member.extension != kLabelExtension; };
  if (std::ranges::count_if(sample.members, is_content) == 1) return *std::ranges::find_if(sample.members, is_content);
  throw Error(ErrorCode::usage,
              fmt::format("'{}' does not say which member is meant; add one of its extensions after a dot: {}",
                          sample.key, extensions_of(sample)));
}

/// By its exact name, else by its extension in any case.
const ListedMember& named_content(const ListedSample& sample, const std::string& name, std::string_view extension) {
  const auto exact = std::ranges::find(sample.members, name, &ListedMember::name);
  if (exact != sample.members.end()) return *exact;
  const auto alike = std::ranges::find(sample.members, lower_case(extension), &ListedMember::extension);
  if (alike != sample.members.end()) return *alike;
  throw Error(ErrorCode::not_found, fmt::format("sample '{}' has no member with extension '{}'; it has: {}", sample.key,
                                                extension, extensions_of(sample)));
}

[[noreturn]] void refuse_absent(const std::string& key, const catalog::ShardSet& set, const std::string& nearest) {
  throw Error(ErrorCode::not_found,
              fmt::format("there is no sample '{}' in {}{}", key, format_count(set.shards.size(), "shard"),
                          nearest.empty() ? "; `shardctl ls` shows what there is"
                                          : fmt::format("; the nearest is '{}'", nearest)));
}

}  // namespace

CatResult cat(const CatOptions& options, Context& ctx) {
  if (ctx.output() == nullptr) {
    throw Error(ErrorCode::usage,
                "cat writes bytes to standard output, which --json - would mix with the result; use "
                "--json FILE");
  }
  const auto name = formats::split_sample_name(options.name);
  const std::string key(name ? name->key : options.name);
  const catalog::ShardSet set = catalog::resolve_shards(options.shards, ctx, options.access);
  const KeySearch search = find_key(set, key, system::thread_count(options.threads), ctx);
  if (!search.sample) refuse_absent(key, set, search.nearest);
  const ListedSample& sample = *search.sample;
  const ListedMember& member = name ? named_content(sample, options.name, name->extension) : only_content(sample);
  const catalog::ShardFile& shard = set.shards[search.shard];
  read_member(*set.inputs->open(shard.path), shard.path, member, ctx, [&](Bytes piece) { ctx.output()->write(piece); });
  return {shard.name, member.name, member.offset, member.size, sample.label};
}

void CatOptions::describe(FieldVisitor& v) {
  v.field(
      {"SHARDS", Unit::none, "folders, tars, patterns, list files or wids indexes, here or at s3:// or http(s):// URLs",
       Role::positional},
      shards);
  v.field(
      {"KEY", Unit::none, "the sample's key; where it has several members KEY.EXT says which one", Role::positional},
      name);
  v.field(
      {"threads", Unit::count, "shards searched at a time; default: the CPUs this process may use", Role::option, "N"},
      threads);
  access.describe(v);
}

void CatResult::describe(FieldVisitor& v) {
  v.field({"shard", Unit::none, "file name of the tar"}, shard);
  v.field({"name", Unit::none, "the member's name in the tar"}, name);
  v.field({"offset", Unit::none, "byte of the tar where the content starts"}, offset);
  v.field({"bytes", Unit::bytes, "of the content"}, bytes);
  v.field({"label", Unit::none, "of the sample; null without one"}, label);
}

}  // namespace shardkit::dataset
