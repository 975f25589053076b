#include "dataset/ls/ls.hpp"

#include <algorithm>
#include <utility>

#include "dataset/checks/whole_set.hpp"
#include "dataset/samples/sample_lister.hpp"

namespace shardkit::dataset {
namespace {

/// Passes on the rows of one shard, in the order of the archive: the lister returns members inside a sample before or
/// after it, so rows wait for the next sample.
void list_shard(const SampleLister& lister, const catalog::ShardFile& shard, LsResult& result, Context& context,
                const LsRowSink& sink) {
  std::vector<LsRow> rows;
  const auto hand_out = [&](std::uint64_t end) {
    std::ranges::sort(rows, {}, &LsRow::offset);
    const auto last = std::ranges::lower_bound(rows, end, {}, &LsRow::offset);
    for (auto row = rows.begin(); row != last; ++row) {
      ++result.members;
      sink(*row);
      if (context.keeps_result()) result.rows.push_back(std::move(*row));
    }
    rows.erase(rows.begin(), last);
  };
  ListingVisitor visitor;
  visitor.sample = [&](formats::IndexSample&& sample) {
    hand_out(sample.members.front().offset);
    for (formats::IndexMember& member : sample.members) {
      rows.push_back({shard.name, sample.key, std::move(member.name), member.offset, member.size, sample.label});
    }
    return true;
  };
  visitor.other = [&](formats::TarEntry&& entry) {
    rows.push_back({shard.name, {}, std::move(entry.name), entry.data_offset, entry.size, {}});
    if (rows.size() > 2 * kMostSampleMembers) hand_out(UINT64_MAX);  // which no sample is known to interleave
  };
  visitor.finding = warn_of_damage(shard, context);
  lister.list(shard, visitor, true);
  hand_out(UINT64_MAX);
}

}  // namespace

LsResult ls(const LsOptions& options, Context& context, const LsRowSink& sink) {
  const catalog::ShardSet set =
      catalog::resolve_shards(options.shards, catalog::SetVerb::list, context, options.access);
  const SampleLister lister(set, context);
  LsResult result;
  context.progress().start("list", set.shards.size(), set.bytes());
  for (const catalog::ShardFile& shard : set.shards) {
    context.throw_if_stopped();
    list_shard(lister, shard, result, context, sink);
    ++result.shards;
    ++context.progress().items;
  }
  return result;
}

void LsOptions::describe(FieldList& v) {
  v.field(catalog::kShardsOperand, shards);
  v.field({"long", "also print the offset of the content in the shard, its size and the label"}, long_);
  access.describe(v);
}

void LsRow::describe(FieldList& v) {
  v.field({"shard", "file name of the tar"}, shard);
  v.field({"key", "key of the sample; empty for a member without sample"}, key);
  v.field({"name", "name of the member in the tar"}, name);
  v.field({"offset", "offset of the content in the tar"}, offset);
  v.field({"size", "size of the content"}, size);
  v.field({"label", "label of the sample; null if it has none"}, label);
}

void LsResult::describe(FieldList& v) {
  v.field({"shards", Unit::count, "shards listed"}, shards);
  v.field({"members", Unit::count, "members of these shards"}, members);
  v.field({"rows", "one row per member, in the order of shards"}, rows);
}

}  // namespace shardkit::dataset
