#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "catalog/inputs.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"

namespace shardkit::dataset {

struct LsOptions {
  std::vector<std::string> shards;
  bool long_ = false;
  catalog::StoreAccess access = {};

  void describe(FieldList& v);
};

/// One member of a shard.
struct LsRow {
  std::string shard = {};  ///< file name
  std::string key = {};    ///< of its sample; empty for a member without a sample, such as a folder or a link
  std::string name = {};
  std::uint64_t offset = 0;  ///< of the content within the shard
  std::uint64_t size = 0;
  std::optional<std::uint64_t> label = {};  ///< of its sample

  void describe(FieldList& v);
};

struct LsResult {
  std::uint64_t shards = 0;
  std::uint64_t members = 0;
  std::vector<LsRow> rows;  ///< empty unless Context::keeps_result()

  void describe(FieldList& v);
};

/// Takes each row as it is found.
using LsRowSink = std::function<void(const LsRow&)>;

/// Lists members in the order of shards: `shardctl ls`. Passes rows to `sink` one by one, and stores them in the result
/// only if requested (Context::keeps_result()), so that 14 million of them do not fill memory on their way to a
/// terminal. The sink is an argument because only lib/cli formats a row as text.
///
/// Shards made by convert are listed from their index, all others from headers: an index made by `shardctl index` lacks
/// members outside of samples and the case of extensions. A damaged shard is a warning. Throws the errors of
/// resolve_shards(), SampleLister and the sink.
LsResult ls(const LsOptions& options, Context& context, const LsRowSink& sink);

}  // namespace shardkit::dataset
