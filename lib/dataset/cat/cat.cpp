#include "dataset/cat/cat.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.hpp"
#include "core/remedies.hpp"
#include "core/text.hpp"
#include "dataset/checks/whole_set.hpp"
#include "dataset/samples/sample_lister.hpp"
#include "formats/sample_name.hpp"
#include "sync/task_group.hpp"
#include "system/limits.hpp"

namespace shardkit::dataset {
namespace {

/// Adds the members of a further piece of a sample. Of members with one name the last counts.
void join(formats::IndexSample& whole, formats::IndexSample&& piece) {
  if (piece.label) whole.label = piece.label;
  whole.key = std::move(piece.key);
  for (formats::IndexMember& member : piece.members) {
    std::erase_if(whole.members, [&](const formats::IndexMember& other) { return other.name == member.name; });
    whole.members.push_back(std::move(member));
  }
}

/// The first sample of a key in the order of shards, with its pieces in all of its shard.
class Search {
 public:
  Search(const catalog::ShardSet& set, const std::string& key, Context& context)
      : set_(set), key_(key), context_(context), lister_(set, context), first_(set.shards.size()) {}

  void run() {
    context_.progress().start("search", set_.shards.size(), set_.bytes());
    sync::for_each_index(set_.shards.size(), system::usable_threads(), context_.stop_token(),
                         [this](std::size_t at, std::size_t) { look_through(at); });
  }

  const std::optional<formats::IndexSample>& sample() const { return sample_; }
  /// That has the sample.
  const catalog::ShardFile& shard() const { return set_.shards[first_]; }

 private:
  /// Shards are taken in their order, so all before the first that has the key are looked through.
  void look_through(std::size_t at) {
    if (at >= first_) return;
    const catalog::ShardFile& shard = set_.shards[at];
    ListingVisitor visitor;
    visitor.sample = [&](formats::IndexSample&& sample) {
      if (sample.key == key_) found(at, std::move(sample));
      return at < first_ || (at == first_ && !is_unique_);
    };
    visitor.finding = warn_of_damage(shard, context_);
    lister_.list(shard, visitor);
    ++context_.progress().items;
  }

  void found(std::size_t at, formats::IndexSample&& sample) {
    const std::scoped_lock lock(mutex_);
    if (at > first_) return;
    if (at < first_) sample_.emplace();
    first_ = at;
    join(*sample_, std::move(sample));
  }

  const catalog::ShardSet& set_;
  const std::string& key_;
  Context& context_;
  const SampleLister lister_;
  const bool is_unique_ = set_.manifest && !set_.manifest->plan_hash.empty();  ///< convert and reshard repeat no key
  std::atomic<std::size_t> first_;
  std::mutex mutex_;
  std::optional<formats::IndexSample> sample_;
};

std::string extensions_of(const formats::IndexSample& sample) {
  std::vector<std::string_view> extensions;
  for (const formats::IndexMember& member : sample.members) extensions.push_back(member.extension);
  return fmt::format("{}", fmt::join(extensions, ", "));
}

const formats::IndexMember& only_content(const formats::IndexSample& sample) {
  const auto is_content = [](const formats::IndexMember& member) { return member.extension != kLabelExtension; };
  if (std::ranges::count_if(sample.members, is_content) == 1) return *std::ranges::find_if(sample.members, is_content);
  throw usage_error("'{}' has several members; add the extension of one after a dot: {}", sample.key,
                    extensions_of(sample));
}

/// By its exact name, else by its extension in any case.
const formats::IndexMember& named_content(const formats::IndexSample& sample, const std::string& name,
                                          std::string_view extension) {
  const auto exact = std::ranges::find(sample.members, name, &formats::IndexMember::name);
  if (exact != sample.members.end()) return *exact;
  const auto alike = std::ranges::find(sample.members, lower_case(extension), &formats::IndexMember::extension);
  if (alike != sample.members.end()) return *alike;
  throw Error(ErrorCode::not_found, fmt::format("sample '{}' has no member with extension '{}'; it has: {}", sample.key,
                                                extension, extensions_of(sample)));
}

}  // namespace

CatResult cat(const CatOptions& options, Context& context) {
  if (context.output() == nullptr) {
    throw usage_error("--json - is not possible because cat writes the content to standard output; use --json FILE");
  }
  const auto name = formats::split_sample_name(options.name);
  const std::string key(name ? name->key : options.name);
  const catalog::ShardSet set =
      catalog::resolve_shards(options.shards, catalog::SetVerb::list, context, options.access);
  Search search(set, key, context);
  search.run();
  if (!search.sample()) {
    throw Error(
        ErrorCode::not_found,
        fmt::format("there is no sample '{}' in {}; {} lists the keys, which may differ from the names of the "
                    "source's files",
                    key, format_count(set.shards.size(), "shard"), remedy::in_text(remedy::list(options.shards))));
  }
  const formats::IndexSample& sample = *search.sample();
  const formats::IndexMember& member =
      name ? named_content(sample, options.name, name->extension) : only_content(sample);
  const catalog::ShardFile& shard = search.shard();
  read_member(*set.inputs->open(shard.path), shard.path, member, context,
              [&](Bytes piece) { context.output()->write(piece); });
  return {shard.name, member.name, member.offset, member.size, sample.label};
}

void CatOptions::describe(FieldList& v) {
  v.field(catalog::kShardsOperand, shards);
  v.field(
      {"KEY", "key of the sample, as `shardctl ls` lists it; KEY.EXT selects one of several members", Role::positional},
      name);
  access.describe(v);
}

void CatResult::describe(FieldList& v) {
  v.field({"shard", "file name of the tar"}, shard);
  v.field({"name", "name of the member in the tar"}, name);
  v.field({"offset", "offset of the content in the tar"}, offset);
  v.field({"bytes", Unit::bytes, "size of the content"}, bytes);
  v.field({"label", "label of the sample; null if it has none"}, label);
}

}  // namespace shardkit::dataset
