#include "dataset/convert/convert_sets.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "catalog/set_folders.hpp"
#include "core/error.hpp"
#include "dataset/plan/plan.hpp"
#include "dataset/plan/scanned_source.hpp"

namespace shardkit {
namespace {

using Sets = std::vector<std::unique_ptr<ConvertSet>>;

/// A target inside the source would be scanned as a class by the next run.
void refuse_target_in_source(const std::string& source, const std::string& target) {
  namespace fs = std::filesystem;
  const fs::path from = fs::weakly_canonical(source);
  const fs::path to = fs::weakly_canonical(target);
  const auto [end, unused] = std::mismatch(from.begin(), from.end(), to.begin(), to.end());
  if (end == from.end()) {
    throw Error(ErrorCode::usage,
                fmt::format("the target '{}' lies in the source '{}'; choose a folder outside of it", target, source),
                target);
  }
}

/// A given plan fixes what these options would; a contradiction would be ignored silently.
void refuse_options_beside_plan(const ConvertOptions& options) {
  const ShardingOptions& given = options.sharding;
  const ShardingOptions none;
  if (option_texts(given) != option_texts(none) || given.name != none.name || !given.class_map.empty() ||
      given.allow_empty || given.images.path_column != none.images.path_column || !given.images.label_column.empty() ||
      !given.images.label_separator.empty() || !options.split.empty()) {
    throw Error(ErrorCode::usage,
                "--plan fixes images, samples, size, shards, order, names, labels, metadata, resizing, split and "
                "validation; give those options to `shardctl plan`");
  }
}

void copy_plan(const std::string& path, ByteSink& sink) {
  FileSource source(path);
  PlanReader(source, path).check_bytes();
  std::vector<std::byte> block(1U << 20U);
  std::uint64_t offset = 0;
  while (const std::size_t got = source.read_at(offset, block)) {
    sink.write(Bytes(block).first(got));
    offset += got;
  }
}

class SetPlanner {
 public:
  SetPlanner(const ConvertOptions& options, FileSystem& files, Context& ctx)
      : options_(options), files_(files), ctx_(ctx) {}

  Sets run() {
    refuse_target_in_source(options_.source, options_.target);
    const SplitRule rule = split_rule(options_);
    if (options_.seed != 0 && rule.shares.empty()) {
      throw Error(ErrorCode::usage, "--seed is that of --split, and there is none; the order's is --shuffle SEED");
    }
    if (!options_.plan.empty()) {
      follow_plan();
    } else if (const SetFolders folders = set_folders(); !folders.names.empty()) {
      plan_folders(folders);
    } else if (!rule.shares.empty()) {
      plan_shares(rule);
    } else {
      ConvertSet& set = add("", options_.source, "");
      adopt(set, scan(options_.source, {}), {});
    }
    return std::move(sets_);
  }

 private:
  SetFolders set_folders() {
    // A list says itself which images there are; rows of metadata are of one set.
    return options_.sharding.images.list.empty() ? find_set_folders(options_.source, ctx_) : SetFolders{};
  }

  void follow_plan() {
    refuse_options_beside_plan(options_);
    add("", options_.source, "").target.adopt_plan([this](ByteSink& sink) { copy_plan(options_.plan, sink); });
  }

  void plan_folders(const SetFolders& folders) {
    if (!options_.split.empty()) {
      throw Error(ErrorCode::usage,
                  fmt::format("'{}' is divided into {} already; leave out --split, or convert one of its folders",
                              options_.source, fmt::join(folders.names, ", ")),
                  options_.source);
    }
    if (!options_.sharding.metadata.empty()) {
      throw Error(ErrorCode::usage,
                  fmt::format("'{}' holds the sets {}; convert each with a --metadata of its own", options_.source,
                              fmt::join(folders.names, ", ")),
                  options_.source);
    }
    for (const std::string& name : folders.names) {
      const std::string root = join_path(options_.source, name);
      ConvertSet& set = add(name, root, name + "/");
      adopt(set, scan(root, folders.classes), {.options = {{"set", name}}});
    }
  }

  void plan_shares(const SplitRule& rule) {
    for (const SplitShare& share : rule.shares) add(share.name, options_.source, "");
    const ScannedSource source = scan(options_.source, {});
    const std::vector<SampleOrder> orders = split_source(source, rule, ctx_);
    for (std::size_t i = 0; i < sets_.size(); ++i) refuse_empty_set(sets_[i]->name, orders[i]);
    for (std::size_t i = 0; i < sets_.size(); ++i) {
      PlanScope scope{&orders[i], split_texts(options_, sets_[i]->name), {}, i == 0};
      adopt(*sets_[i], source, scope);
    }
  }

  ConvertSet& add(const std::string& name, const std::string& source, const std::string& path) {
    if (!name.empty()) refuse_sets_in_set(ConvertTarget(files_, options_.target));
    const std::string folder = name.empty() ? options_.target : join_path(options_.target, name);
    sets_.push_back(std::make_unique<ConvertSet>(ConvertSet{name, source, path, ConvertTarget(files_, folder), {}}));
    sets_.back()->target.prepare();
    return *sets_.back();
  }

  ScannedSource scan(const std::string& root, const std::vector<std::string>& classes) {
    return scan_source(root, options_.sharding, classes, options_.threads, ctx_);
  }

  void adopt(ConvertSet& set, const ScannedSource& source, const PlanScope& scope) {
    set.target.adopt_plan([&](ByteSink& sink) { write_plan(source, options_.sharding, scope, sink, ctx_); });
  }

  const ConvertOptions& options_;
  FileSystem& files_;
  Context& ctx_;
  Sets sets_;
};

}  // namespace

Sets plan_sets(const ConvertOptions& options, FileSystem& files, Context& ctx) {
  return SetPlanner(options, files, ctx).run();
}

}  // namespace shardkit
