#include "core/remedies.hpp"

#include <algorithm>

#include <fmt/args.h>
#include <fmt/format.h>

#include "core/command_text.hpp"
#include "core/text.hpp"

namespace shardkit::remedy {
namespace {

std::span<const Words> words_in_use;

/// The command of an act with its gaps filled.
std::string filled(Act act, const std::vector<std::string>& gaps = {}) {
  const auto words = std::ranges::find(words_in_use, act, &Words::act);
  if (words == words_in_use.end()) {
    std::string text = (act < Act::set_folder ? "" : " ") + std::string(enum_names(act)[static_cast<std::size_t>(act)]);
    for (const std::string& gap : gaps) text += (gap.empty() || gap.starts_with(' ') ? "" : " ") + gap;
    return text;
  }
  fmt::dynamic_format_arg_store<fmt::format_context> store;
  for (const std::string& gap : gaps) store.push_back(gap);
  return fmt::vformat(words->command, store);
}

bool hides(std::string_view text) { return without_secrets(text) != text; }

std::string word(const std::string& named, const char* stand_in) { return hides(named) ? stand_in : shell_word(named); }

std::string words(const Named& shards) {
  std::string text;
  for (const std::string& shard : shards) text += (text.empty() ? "" : " ") + word(shard, "SHARDS");
  return text;
}

}  // namespace

void use_words(std::span<const Words> words) { words_in_use = words; }

std::string verify(const Named& shards) { return filled(Act::verify, {words(shards)}); }
std::string list(const Named& shards) { return filled(Act::list, {words(shards)}); }

std::string reshard(const Named& shards, const Repairs& repairs) {
  std::string command = filled(Act::reshard, {words(shards)});
  if (!repairs.set.empty()) command += filled(Act::set_folder, {shell_word(repairs.set)});
  if (repairs.salvage) command += filled(Act::salvage);
  if (repairs.mark_duplicates) command += filled(Act::mark_duplicates);
  if (repairs.drop_bad) command += filled(Act::drop_bad);
  if (repairs.merge_classes) command += filled(Act::merge_classes);
  if (!repairs.rename.empty()) command += filled(Act::rename, {shell_word(repairs.rename)});
  if (repairs.shards > 0) command += filled(Act::shards, {fmt::to_string(repairs.shards)});
  return command;
}

std::string reshard_unread(const Named& shards) { return reshard(shards, {.salvage = true, .mark_duplicates = true}); }

std::string reshard_for_ranks(const Named& shards, std::uint64_t ranks) {
  return reshard(shards) + filled(Act::multiple_of, {fmt::to_string(ranks)});
}

std::string convert(const std::string& source, const std::string& options, const std::string& set) {
  return filled(Act::convert, {word(source, "SRC"), (set.empty() ? set : '/' + set) + options});
}
std::string list_classes(const Named& folders) { return filled(Act::list_classes, {words(folders)}); }
std::string add_header(const std::string& table, const std::string& header) {
  return filled(Act::add_header, {shell_quoted("1i " + header), word(table, "FILE")});
}
std::string from_parquet(const std::string& table) { return filled(Act::from_parquet, {word(table, "FILE")}); }
std::string plan(const std::string& source, const std::string& output) {
  return filled(Act::plan, {word(source, "SRC"), shell_word(output)});
}
std::string merge(const std::string& folder) { return filled(Act::merge, {shell_word(folder)}); }
std::string parts(const std::string& folder) { return filled(Act::parts, {shell_word(folder)}); }

std::string index(const Named& shards, std::string_view reader) {
  const std::string command = filled(Act::index, {words(shards)});
  return reader.empty() ? command : command + filled(Act::index_reader, {std::string(reader)});
}

std::string index_replace(const std::string& folder) { return filled(Act::index_replace, {shell_word(folder)}); }

std::string move_away(const Named& files) { return filled(Act::move_away, {words(files)}); }

std::string evict(const std::string& folder) { return filled(Act::evict, {shell_word(folder)}); }
std::string release(const std::string& folder, const std::string& lease_id) {
  if (lease_id.empty()) return filled(Act::release_all, {shell_word(folder)});
  return filled(Act::release, {shell_word(folder), shell_word(lease_id)});
}
std::string check_and_repair(const std::string& folder) { return filled(Act::check_repair, {shell_word(folder)}); }

std::string stage(const std::string& source, const std::string& folder, const std::string& cache, bool by_size) {
  return filled(Act::stage, {word(source, "SRC"), shell_word(folder)}) +
         (cache.empty() ? "" : filled(Act::stage_in_cache, {shell_word(cache)})) +
         (by_size ? filled(Act::stage_by_size) : "");
}

std::string with_merge_classes(const std::string& command) { return command + filled(Act::merge_classes); }
std::string with_mark_duplicates(const std::string& command) { return command + filled(Act::mark_duplicates); }
std::string with_salvage(const std::string& command) { return command + filled(Act::salvage); }
std::string with_drop_bad(const std::string& command) { return command + filled(Act::drop_bad); }
std::string with_leave_out(const std::string& command, std::uint64_t most) {
  return command + filled(Act::leave_out) + (most > 0 ? filled(Act::max_bad, {fmt::to_string(most)}) : std::string());
}
std::string with_rename(const std::string& command, std::string_view extension, std::string_view to) {
  return command + filled(Act::rename, {shell_word(fmt::format("{}={}", extension, to))});
}

std::string in_text(const std::string& command) {
  if (!hides(command)) return fmt::format("`{}`", command);
  return "the same command with" + command.substr(std::min(command.rfind(" --"), command.size()));
}

}  // namespace shardkit::remedy
