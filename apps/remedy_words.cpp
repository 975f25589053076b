#include "remedy_words.hpp"

#include <array>

namespace shardkit::apps {
namespace {

using remedy::Act;
using remedy::Words;

constexpr std::array kWords{
    Words{Act::verify, "shardctl verify {}"},
    Words{Act::list, "shardctl ls {}"},
    Words{Act::reshard, "shardctl reshard {} OUT"},
    Words{Act::convert, "shardctl convert {} DST{}"},
    Words{Act::list_classes,
          "find {} -mindepth 1 -maxdepth 1 -xtype d ! -name '.*' -printf '%f\\n' | LC_ALL=C sort -u >classes.txt"},
    Words{Act::add_header, "sed -i {} {}"},
    Words{Act::from_parquet,
          "python3 -c 'import json, sys, pyarrow.parquet as p; [print(json.dumps(row, default=str)) for batch in "
          "p.ParquetFile(sys.argv[1]).iter_batches() for row in batch.to_pylist()]' {} >table.jsonl"},
    Words{Act::plan, "shardctl plan {} -o {} --class-map FILE"},
    Words{Act::merge, "shardctl merge {}"},
    Words{Act::parts, "shardctl parts {}"},
    Words{Act::index, "shardctl index {}"},
    Words{Act::index_replace, "shardctl index {} --replace"},
    Words{Act::move_away, "mkdir -p EXTRA && mv {} EXTRA"},
    Words{Act::evict, "shardctl cache gc {} --limit 0"},
    Words{Act::release, "shardctl cache release {} --lease-id {}"},
    Words{Act::release_all, "shardctl cache release {} --all"},
    Words{Act::check_repair, "shardctl cache check {} --repair"},
    Words{Act::stage, "shardctl stage {} {} --lease 0"},
    Words{Act::set_folder, "/{}"},
    Words{Act::salvage, " --salvage"},
    Words{Act::mark_duplicates, " --mark-duplicates"},
    Words{Act::drop_bad, " --drop-bad"},
    Words{Act::merge_classes, " --merge-classes"},
    Words{Act::rename, " --rename {}"},
    Words{Act::shards, " --shards {}"},
    Words{Act::multiple_of, " --multiple-of {}"},
    Words{Act::leave_out, " --on-bad skip"},
    Words{Act::max_bad, " --max-bad {}"},
    Words{Act::index_reader, " --{}"},
    Words{Act::stage_in_cache, " --cache {}"},
    Words{Act::stage_by_size, " --manifest none"},
};

constexpr bool in_enum_order() {
  for (std::size_t i = 0; i < kWords.size(); ++i) {
    if (static_cast<std::size_t>(kWords[i].act) != i) return false;
  }
  return kWords.size() == enum_names(Act{}).size();
}
static_assert(in_enum_order(), "every act needs words, in the order of the enum");

}  // namespace

std::span<const remedy::Words> remedy_words() { return kWords; }

}  // namespace shardkit::apps
