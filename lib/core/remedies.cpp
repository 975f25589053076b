#include "core/remedies.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/command_text.hpp"
#include "core/text.hpp"

namespace shardkit::remedy {
namespace {

bool hides(std::string_view text) { return without_secrets(text) != text; }

std::string word(const std::string& named, const char* stand_in) { return hides(named) ? stand_in : shell_word(named); }

std::string words(const Named& shards) {
  std::string text;
  for (const std::string& shard : shards) text += (text.empty() ? "" : " ") + word(shard, "SHARDS");
  return text;
}

/// Fails if there is such a file: it is the user's.
std::string into_new_file(const std::string& command, std::string_view file) {
  return fmt::format("(set -C; {} >{})", command, file);
}

}  // namespace

std::string verify(const Named& shards) { return fmt::format("shardctl verify {}", words(shards)); }
std::string list(const Named& shards) { return fmt::format("shardctl ls {}", words(shards)); }

std::string reshard(const Named& shards, const Repairs& repairs) {
  std::string command = fmt::format("shardctl reshard {} OUT", words(shards));
  if (!repairs.set.empty()) command += fmt::format("/{}", shell_word(repairs.set));
  if (repairs.salvage) command += " --salvage";
  if (repairs.mark_duplicates) command += " --mark-duplicates";
  if (repairs.drop_bad) command += " --drop-bad";
  if (repairs.merge_classes) command += " --merge-classes";
  if (!repairs.rename.empty()) command += fmt::format(" --rename {}", shell_word(repairs.rename));
  if (repairs.shards > 0) command += fmt::format(" --shards {}", repairs.shards);
  return command;
}

std::string reshard_unread(const Named& shards) { return reshard(shards, {.salvage = true, .mark_duplicates = true}); }

std::string reshard_for_ranks(const Named& shards, std::uint64_t ranks) {
  return reshard(shards) + fmt::format(" --multiple-of {}", ranks);
}

std::string convert(const std::string& source, const std::string& options, const std::string& set) {
  return fmt::format("shardctl convert {} DST{}", word(source, "SRC"), (set.empty() ? set : '/' + set) + options);
}
std::string list_classes(const Named& folders) {
  return into_new_file(
      fmt::format("find {} -mindepth 1 -maxdepth 1 -xtype d ! -name '.*' -printf '%f\\n' | LC_ALL=C sort -u",
                  words(folders)),
      "classes.txt");
}
std::string add_header(const std::string& table, const std::string& header) {
  return fmt::format("sed -i {} {}", shell_quoted("1i " + header), word(table, "FILE"));
}
std::string from_parquet(const std::string& table) {
  return into_new_file(
      fmt::format("python3 -c 'import base64, json, sys, pyarrow.parquet as p; text = lambda v: "
                  "base64.b64encode(v).decode() if isinstance(v, bytes) else str(v); "
                  "[print(json.dumps(json.loads(json.dumps(row, default=text), "
                  "parse_constant=lambda c: None if c == \"NaN\" else c))) "
                  "for batch in p.ParquetFile(sys.argv[1]).iter_batches() for row in batch.to_pylist()]' {}",
                  word(table, "FILE")),
      "table.jsonl");
}
std::string plan(const std::string& source, const std::string& output) {
  return fmt::format("shardctl plan {} -o {} --class-map FILE", word(source, "SRC"), shell_word(output));
}
std::string merge(const std::string& folder) { return fmt::format("shardctl merge {}", shell_word(folder)); }
std::string parts(const std::string& folder) { return fmt::format("shardctl parts {}", shell_word(folder)); }

std::string index(const Named& shards, std::string_view reader) {
  const std::string command = fmt::format("shardctl index {}", words(shards));
  return reader.empty() ? command : command + fmt::format(" --{}", reader);
}

std::string index_replace(const std::string& folder) {
  return fmt::format("shardctl index {} --replace", shell_word(folder));
}

std::string evict(const std::string& folder) {
  return fmt::format("shardctl cache gc {} --limit 0", shell_word(folder));
}
std::string release(const std::string& folder, const std::string& lease_id) {
  if (lease_id.empty()) return fmt::format("shardctl cache release {} --all", shell_word(folder));
  return fmt::format("shardctl cache release {} --lease-id {}", shell_word(folder), shell_word(lease_id));
}
std::string check_and_repair(const std::string& folder) {
  return fmt::format("shardctl cache check {} --repair", shell_word(folder));
}

StageWords whole_source(const std::string& source, bool by_size) {
  return {word(source, "SRC"), by_size ? " --manifest none" : ""};
}
std::string stage(const StageWords& words, const std::string& folder, const std::string& cache) {
  return fmt::format("shardctl stage {} {}{} --lease 0", words.operands, shell_word(folder), words.options) +
         (cache.empty() ? "" : fmt::format(" --cache {}", shell_word(cache)));
}

std::vector<std::string> exclude_nodes(const Named& nodes) {
  return {fmt::format("scontrol update NodeName={} State=DRAIN Reason='slow input (iobench aggregate)'",
                      shell_word(fmt::format("{}", fmt::join(nodes, ",")))),
          fmt::format("kubectl cordon {}", words(nodes))};
}

std::string measure_together(const Named& suspects, const Named& controls) {
  Named all = suspects;
  all.insert(all.end(), controls.begin(), controls.end());
  return fmt::format(
      "srun --nodelist={} --ntasks-per-node=1 iobench run DATA --barrier FOLDER --world {} --json %n-2.json",
      shell_word(fmt::format("{}", fmt::join(all, ","))), all.size());
}

std::string with_merge_classes(const std::string& command) { return command + " --merge-classes"; }
std::string with_mark_duplicates(const std::string& command) { return command + " --mark-duplicates"; }
std::string with_salvage(const std::string& command) { return command + " --salvage"; }
std::string with_drop_bad(const std::string& command) { return command + " --drop-bad"; }
std::string with_leave_out(const std::string& command, std::uint64_t most) {
  return command + " --on-bad skip" + (most > 0 ? fmt::format(" --max-bad {}", most) : "");
}
std::string with_rename(const std::string& command, std::string_view extension, std::string_view to) {
  return command + fmt::format(" --rename {}", shell_word(fmt::format("{}={}", extension, to)));
}

std::string in_text(const std::string& command) {
  if (!hides(command)) return fmt::format("`{}`", command);
  return "the same command with" + command.substr(std::min(command.rfind(" --"), command.size()));
}

}  // namespace shardkit::remedy
