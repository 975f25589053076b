#include "core/remedies.hpp"

#include <algorithm>
#include <array>

#include <fmt/args.h>
#include <fmt/format.h>

#include "core/command_text.hpp"
#include "core/text.hpp"

namespace shardkit::remedy {
namespace {

constexpr std::array kTable{
    Row{"verify", "shardctl verify {}"},
    Row{"list", "shardctl ls {}"},
    Row{"reshard", "shardctl reshard {} OUT"},
    Row{"salvage", " --salvage"},
    Row{"mark_duplicates", " --mark-duplicates"},
    Row{"drop_bad", " --drop-bad"},
    Row{"merge_classes", " --merge-classes"},
    Row{"drop_large", " --max-size 8589934591"},
    Row{"rename", " --rename {}"},
    Row{"shards", " --shards {}"},
    Row{"multiple_of", " --multiple-of {}"},
    Row{"convert", "shardctl convert {} DST{}"},
    Row{"list_classes",
        "find {} -mindepth 1 -maxdepth 1 -xtype d ! -name '.*' -printf '%f\\n' | LC_ALL=C sort -u >classes.txt"},
    Row{"plan", "shardctl plan {} -o {} --class-map FILE"},
    Row{"leave_out", " --on-bad skip"},
    Row{"max_bad", " --max-bad {}"},
    Row{"merge", "shardctl merge {}"},
    Row{"parts", "shardctl parts {}"},
    Row{"index", "shardctl index {}"},
    Row{"index_reader", " --{}"},
    Row{"index_replace", "shardctl index {} --replace"},
    Row{"move_away", "mkdir -p EXTRA && mv {} EXTRA"},
    Row{"evict", "shardctl cache gc {} --limit 0"},
    Row{"release", "shardctl cache release {} {}"},
    Row{"check_repair", "shardctl cache check {} --repair"},
    Row{"stage", "shardctl stage {} {} --lease 0"},
    Row{"stage_in_cache", " --cache {}"},
    Row{"stage_by_size", " --manifest none"},
};

/// The row's command with its gaps filled.
std::string filled(std::string_view name, const std::vector<std::string>& gaps = {}) {
  const auto* row = std::ranges::find(kTable, name, &Row::name);
  fmt::dynamic_format_arg_store<fmt::format_context> store;
  for (const std::string& gap : gaps) store.push_back(gap);
  return fmt::vformat(row->command, store);
}

bool hides(std::string_view text) { return without_secrets(text) != text; }

std::string word(const std::string& named, const char* stand_in) { return hides(named) ? stand_in : shell_word(named); }

std::string words(const Named& shards) {
  std::string text;
  for (const std::string& shard : shards) text += (text.empty() ? "" : " ") + word(shard, "SHARDS");
  return text;
}

}  // namespace

std::span<const Row> table() { return kTable; }

std::string verify(const Named& shards) { return filled("verify", {words(shards)}); }
std::string list(const Named& shards) { return filled("list", {words(shards)}); }

std::string reshard(const Named& shards, const Repairs& repairs) {
  std::string command = filled("reshard", {words(shards)});
  if (repairs.salvage) command += filled("salvage");
  if (repairs.mark_duplicates) command += filled("mark_duplicates");
  if (repairs.drop_bad) command += filled("drop_bad");
  if (repairs.merge_classes) command += filled("merge_classes");
  if (repairs.drop_large) command += filled("drop_large");
  if (!repairs.rename.empty()) command += filled("rename", {shell_word(repairs.rename)});
  if (repairs.shards > 0) command += filled("shards", {fmt::to_string(repairs.shards)});
  return command;
}

std::string reshard_unread(const Named& shards) { return reshard(shards, {.salvage = true, .mark_duplicates = true}); }

std::string reshard_for_ranks(const Named& shards, std::uint64_t ranks) {
  return reshard(shards) + filled("multiple_of", {fmt::to_string(ranks)});
}

std::string convert(const std::string& source, const std::string& options) {
  return filled("convert", {word(source, "SRC"), options});
}
std::string list_classes(const Named& folders) { return filled("list_classes", {words(folders)}); }
std::string plan(const std::string& source, const std::string& output) {
  return filled("plan", {word(source, "SRC"), shell_word(output)});
}
std::string merge(const std::string& folder) { return filled("merge", {shell_word(folder)}); }
std::string parts(const std::string& folder) { return filled("parts", {shell_word(folder)}); }

std::string index(const Named& shards, std::string_view reader) {
  const std::string command = filled("index", {words(shards)});
  return reader.empty() ? command : command + filled("index_reader", {std::string(reader)});
}

std::string index_replace(const std::string& folder) { return filled("index_replace", {shell_word(folder)}); }

std::string move_away(const Named& files) { return filled("move_away", {words(files)}); }

std::string evict(const std::string& folder) { return filled("evict", {shell_word(folder)}); }
std::string release(const std::string& folder, const std::string& lease_id) {
  return filled("release", {shell_word(folder), lease_id.empty() ? "--all" : "--lease-id " + shell_word(lease_id)});
}
std::string check_and_repair(const std::string& folder) { return filled("check_repair", {shell_word(folder)}); }

std::string stage(const std::string& source, const std::string& folder, const std::string& cache, bool by_size) {
  return filled("stage", {word(source, "SRC"), shell_word(folder)}) +
         (cache.empty() ? "" : filled("stage_in_cache", {shell_word(cache)})) +
         (by_size ? filled("stage_by_size") : "");
}

std::string with_merge_classes(const std::string& command) { return command + filled("merge_classes"); }
std::string with_mark_duplicates(const std::string& command) { return command + filled("mark_duplicates"); }
std::string with_salvage(const std::string& command) { return command + filled("salvage"); }
std::string with_drop_large(const std::string& command) { return command + filled("drop_large"); }
std::string with_leave_out(const std::string& command, std::uint64_t most) {
  return command + filled("leave_out") + (most > 0 ? filled("max_bad", {fmt::to_string(most)}) : std::string());
}
std::string with_rename(const std::string& command, std::string_view extension, std::string_view to) {
  return command + filled("rename", {shell_word(fmt::format("{}={}", extension, to))});
}

std::string in_text(const std::string& command) {
  if (!hides(command)) return fmt::format("`{}`", command);
  return "the same command with" + command.substr(std::min(command.rfind(" --"), command.size()));
}

}  // namespace shardkit::remedy
