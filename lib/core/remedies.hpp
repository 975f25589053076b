#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What messages advise where it is a command or an option of ours. All of them stand in one table, which
/// tests/cli/remedies_test.py walks: it follows each word for word and looks for a sound result. Other advice, about
/// mounts, kernels or hardware, is written where it is given.
namespace shardkit::remedy {

struct Row {
  std::string_view name;
  std::string_view command;  ///< "{}" for what the message fills in; "OUT" is a folder that the user chooses
};
std::span<const Row> table();

/// What the user named, as it goes into a command: shell words. An address with a login or a query, which messages do
/// not show, cannot be pasted from there: "SHARDS" stands for it, as in the verb's help.
using Named = std::vector<std::string>;

/// What a reshard is to repair.
struct Repairs {
  bool salvage = false;          ///< shards that are cut, samples whose bytes changed
  bool mark_duplicates = false;  ///< keys, and extensions within a sample, that occur twice
  bool drop_bad = false;         ///< images that do not decode, labels and texts without data
  std::string rename = {};       ///< "=jpg": members without an extension

  bool any() const { return salvage || mark_duplicates || drop_bad || !rename.empty(); }
};

// Commands, to be put between back quotes by in_text(), or on lines of their own.

/// Lists all that is wrong with the shards.
std::string verify(const Named& shards);
/// Shows what the shards hold.
std::string list(const Named& shards);
/// Writes the same samples under names and headers that every reader knows.
std::string reshard(const Named& shards, const Repairs& repairs = {});
/// Writes as many shards as loaders of `ranks` can divide.
std::string reshard_for_ranks(const Named& shards, std::uint64_t ranks);
/// Writes all sets of a source; `options` as command_text() has them.
std::string convert(const std::string& source, const std::string& options);
/// Plans one set of a source by a class map for all.
std::string plan(const std::string& source, const std::string& output);
/// Joins the parts of a set.
std::string merge(const std::string& folder);
/// Makes manifest and indexes of shards made by others; with `reader` ("wids") that reader's indexes.
std::string index(const Named& shards, std::string_view reader = {});
/// Removes what a convert or reshard knows of the tars in `folder`, so that they can be indexed as they are.
std::string forget_set(const std::string& folder);
/// Evicts a staged folder.
std::string evict(const std::string& folder);
/// Ends the leases of a staged folder.
std::string release(const std::string& folder);
/// Removes damaged files of a staged folder.
std::string check_and_repair(const std::string& folder);
/// Fetches what a staged folder lacks. `by_size`: it was staged without a manifest.
std::string stage(const std::string& source, const std::string& folder, bool by_size);

// The command that was refused, with an option more. `command` is all of it (command_text()).

std::string with_merge_classes(const std::string& command);
std::string with_mark_duplicates(const std::string& command);
std::string with_salvage(const std::string& command);
/// Leaves out bad files; `most`: how many that has to allow, 0 where what is given or the default is enough.
std::string with_leave_out(const std::string& command, std::uint64_t most);
std::string with_rename(const std::string& command, std::string_view extension, std::string_view to);

/// `command` between back quotes, or, where it has an address that messages do not show, "the same command with ..."
/// for its last option.
std::string in_text(const std::string& command);

}  // namespace shardkit::remedy
