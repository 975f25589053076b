#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Advice in messages that is a command or an option of the programs: all of it is here, and
/// tests/cli/remedies_table_test.py executes each word for word. "OUT", "DST" and "FILE" are names that the user
/// chooses. Other advice, about mounts, kernels or hardware, is next to its message.
///
/// A command keeps everything, or the message beside it counts what it gives up (tests/cli/kept_by_remedies_test.py):
///
/// | command | gives up | counted by |
/// |---|---|---|
/// | reshard --salvage | what follows the damage of a shard, samples that changed | manifest and indexes, else bytes |
/// | reshard --drop-bad, convert --on-bad skip | bad samples | verify, convert |
/// | reshard --merge-classes | nothing; refused for names that were not UTF-8 | |
/// | reshard without a copy of a shard | nothing | |
/// | convert of a tree | files that no option takes | the listing |
/// | from_parquet | NaN becomes null | its message |
/// | index --replace | class names and paths | its message, in words |
///
/// Where that cannot be counted, as for a pointer to a shard without a manifest, no command is printed. None moves or
/// removes files of the user.
namespace shardkit::remedy {

/// Operands of the user in a command, as shell words. An address with a login or a query, which messages do not show,
/// cannot be pasted: "SHARDS" replaces it, as in the verb's help.
using Named = std::vector<std::string>;

/// What a reshard should repair.
struct Repairs {
  bool salvage = false;          ///< cut shards, and samples whose bytes changed
  bool mark_duplicates = false;  ///< duplicate keys, and duplicate extensions within a sample
  bool drop_bad = false;         ///< images that cannot be decoded, labels and texts without data, samples of 8 GiB
  bool merge_classes = false;    ///< labels that mean different classes in different folders
  std::string rename = {};       ///< "=jpg": members without an extension
  std::uint64_t shards = 0;      ///< to write; 0: as usual. Repairs nothing
  std::string set = {};          ///< folder below the output, for one of several sets. Repairs nothing

  bool any() const { return salvage || mark_duplicates || drop_bad || merge_classes || !rename.empty(); }
};

// Commands, for in_text() or on lines of their own.

/// Lists everything that is wrong with the shards.
std::string verify(const Named& shards);
/// Lists the contents of the shards.
std::string list(const Named& shards);
/// Writes the same samples with names and headers that every reader supports.
std::string reshard(const Named& shards, const Repairs& repairs = {});
/// The same for shards whose content was not read, such as compressed ones: whatever is in them.
std::string reshard_unread(const Named& shards);
/// Writes as many shards as loaders of `ranks` need.
std::string reshard_for_ranks(const Named& shards, std::uint64_t ranks);
/// Writes all sets of a source. `options` are in the form of command_text(). `set`: into this folder of the target.
std::string convert(const std::string& source, const std::string& options, const std::string& set = {});
/// Writes the names of the class folders in local folders to a new file, classes.txt, for --class-map.
std::string list_classes(const Named& folders);
/// Adds a first line to a table.
std::string add_header(const std::string& table, const std::string& header);
/// Writes a Parquet file to a new one, table.jsonl, as JSON Lines: bytes as base64, NaN as null, infinity and times as texts.
std::string from_parquet(const std::string& table);
/// Plans one set of a source with a class map for all sets.
std::string plan(const std::string& source, const std::string& output);
/// Joins the parts of a set.
std::string merge(const std::string& folder);
/// Lists the parts of a set and what each lacks.
std::string parts(const std::string& folder);
/// Creates manifest and indexes for shards of other programs; with `reader` ("wids") that reader's indexes.
std::string index(const Named& shards, std::string_view reader = {});
/// Indexes the tars in `folder` as they are, instead of what a convert or reshard wrote about them.
std::string index_replace(const std::string& folder);
/// Evicts a staged folder.
std::string evict(const std::string& folder);
/// Ends the lease of a job in a staged folder; without an id those of all jobs, also unreadable ones.
std::string release(const std::string& folder, const std::string& lease_id);
/// Removes damaged files of a staged folder.
std::string check_and_repair(const std::string& folder);
/// What a stage was given before and after its folder, as shell words.
struct StageWords {
  std::string operands;
  std::string options = {};
};
/// Words for one source of which all is staged. `by_size`: without a manifest.
StageWords whole_source(const std::string& source, bool by_size);
/// Fetches the missing files of a staged folder, without a lease. `cache`: of the folder; empty: none.
std::string stage(const StageWords& words, const std::string& folder, const std::string& cache);

/// Drain nodes in Slurm, and keep pods away from them in Kubernetes.
std::vector<std::string> exclude_nodes(const Named& nodes);
/// Measures suspects and healthy nodes at the same time.
std::string measure_together(const Named& suspects, const Named& controls);

// The refused command with an additional option. `command` is the whole command (command_text()).

std::string with_merge_classes(const std::string& command);
std::string with_mark_duplicates(const std::string& command);
std::string with_salvage(const std::string& command);
std::string with_drop_bad(const std::string& command);
/// Leaves out bad files. `most`: value for --max-bad, or 0 if the given value or the default is enough.
std::string with_leave_out(const std::string& command, std::uint64_t most);
std::string with_rename(const std::string& command, std::string_view extension, std::string_view to);

/// `command` between back quotes; or, if it has an address that messages do not show, "the same command with ..." for
/// its last option.
std::string in_text(const std::string& command);

}  // namespace shardkit::remedy
