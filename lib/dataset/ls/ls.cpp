#include "dataset/ls/ls.hpp"

#include <utility>

#include "dataset/samples/sample_lister.hpp"

namespace shardkit::dataset {
namespace {

/// Hands out the rows of one shard.
class RowMaker {
 public:
  RowMaker(const catalog::ShardFile& shard, LsResult& result, const Context& ctx, const LsRowSink& sink)
      : result_(result), ctx_(ctx), sink_(sink) {
    row_.shard = shard.name;
  }

  void add(ListedSample&& sample) {
    row_.key = std::move(sample.key);
    row_.label = sample.label;
    for (ListedMember& member : sample.members) put(std::move(member.name), member.offset, member.size);
  }

  void add(formats::TarEntry&& entry) {
    row_.key.clear();
    row_.label.reset();
    put(std::move(entry.name), entry.data_offset, entry.size);
  }

 private:
  void put(std::string&& name, std::uint64_t offset, std::uint64_t size) {
    row_.name = std::move(name);
    row_.offset = offset;
    row_.size = size;
    ++result_.members;
    sink_(row_);
    if (ctx_.keeps_result()) result_.rows.push_back(row_);
  }

  LsResult& result_;
  const Context& ctx_;
  const LsRowSink& sink_;
  LsRow row_;
};

}  // namespace

LsResult ls(const LsOptions& options, Context& ctx, const LsRowSink& sink) {
  const catalog::ShardSet set = catalog::resolve_shards(options.shards, ctx, options.access);
  const SampleLister lister(set, ctx);
  LsResult result;
  std::uint64_t bytes = 0;
  for (const catalog::ShardFile& shard : set.shards) bytes += shard.bytes;
  ctx.progress().start("list", set.shards.size(), bytes);
  for (const catalog::ShardFile& shard : set.shards) {
    ctx.throw_if_stopped();
    RowMaker rows(shard, result, ctx, sink);
    ListingVisitor visitor;
    visitor.sample = [&](ListedSample&& sample) {
      rows.add(std::move(sample));
      return true;
    };
    visitor.other = [&](formats::TarEntry&& entry) { rows.add(std::move(entry)); };
    visitor.finding = warn_of_damage(shard, ctx);
    const auto index = lister.index_of(shard);
    if (index && !index->summary.plan.empty()) {
      lister.list_by_index(shard, *index, visitor);
    } else {
      lister.list_by_headers(shard, visitor);
    }
    ++result.shards;
    ++ctx.progress().items;
  }
  return result;
}

void LsOptions::describe(FieldVisitor& v) {
  v.field({"SHARDS", "folders, tars, patterns, list files or wids indexes, here or at s3:// or http(s):// URLs",
           Role::positional},
          shards);
  v.field({"long", "also show where the content starts in the shard, its size and the sample's label"}, long_);
  access.describe(v);
}

void LsRow::describe(FieldVisitor& v) {
  v.field({"shard", "file name of the tar"}, shard);
  v.field({"key", "of the sample; empty for a member that belongs to none"}, key);
  v.field({"name", "the member's name in the tar"}, name);
  v.field({"offset", "byte of the tar where the content starts"}, offset);
  v.field({"size", "bytes of the content"}, size);
  v.field({"label", "of the sample; null without one"}, label);
}

void LsResult::describe(FieldVisitor& v) {
  v.field({"shards", Unit::count, "shards listed"}, shards);
  v.field({"members", Unit::count, "members in them"}, members);
  v.field({"rows", "one for each member, in the order of shards"}, rows);
}

}  // namespace shardkit::dataset
