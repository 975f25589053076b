#include "catalog/set_rules.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "catalog/object_location.hpp"
#include "catalog/swapped_operands.hpp"
#include "core/command_text.hpp"
#include "core/number_ranges.hpp"
#include "core/remedies.hpp"
#include "core/units.hpp"
#include "io/publish.hpp"

namespace shardkit::catalog {
namespace {

/// A row of the table: a state of SetState, in the order of its alternatives, or one of two kinds of it.
struct Row {
  std::string_view code;
  ErrorCode error;
  /// A letter for each SetVerb: o ok, W warn, R refuse, F finding, e each. Blanks do not count.
  std::string_view reactions;
};

// Blanks only make groups: verify | list read | salvage | measure | copy | index index_readers replace |
// convert append stage_into upload_into | merge parts
constexpr Row kEmpty{"set_empty", ErrorCode::not_found, "R RR R R R RRR oooo RR"};
constexpr Row kFiles{"set_files", ErrorCode::not_found, "R RR R o o RRR oooo RR"};
constexpr Row kGroup{"set_group", ErrorCode::conflict, "e RR R e e RRR RRRo ee"};
constexpr Row kStagedGroup{"set_group", ErrorCode::conflict, "e RR R e e RRR RRoo ee"};
constexpr Row kStaging{"set_staging", ErrorCode::conflict, "F RR W W R RRR RRoR RR"};
constexpr Row kUploading{"set_uploading", ErrorCode::conflict, "F RR W W R RRR RRRo RR"};
constexpr Row kWriting{"set_writing", ErrorCode::conflict, "F RR W W R RRR ooRR oo"};
constexpr Row kBegun{"set_writing", ErrorCode::conflict, "F RR R R R RRR ooRR oo"};  // without a tar
constexpr Row kUnmerged{"set_unmerged", ErrorCode::conflict, "F RR W W R RRR ooRR oo"};
constexpr Row kDamaged{"set_damaged", ErrorCode::corrupt, "F RR W W R RRo RRRR RR"};
constexpr Row kDamagedOfPlan{"set_damaged", ErrorCode::corrupt, "F RR W W R RRo ooRR oo"};
constexpr Row kDamagedStaged{"set_damaged", ErrorCode::corrupt, "F RR W W R RRo RRoR RR"};
constexpr Row kPartial{"set_partial", ErrorCode::conflict, "o WW W W R RRR RRoR RR"};
constexpr Row kIncomplete{"shards_missing", ErrorCode::not_found, "F WR W W R RRW RRRo RR"};
constexpr Row kIncompleteOfPlan{"shards_missing", ErrorCode::not_found, "F WR W W R RRW oRRo Ro"};
constexpr Row kIncompleteStaged{"shards_missing", ErrorCode::not_found, "F WR W W R RRW RRoo RR"};
constexpr Row kIncompleteIndexed{"shards_missing", ErrorCode::not_found, "F WR W W R WWW RRRo RR"};
constexpr Row kGone{"set_gone", ErrorCode::not_found, "F RR R R R RRR RRRo RR"};
constexpr Row kGoneOfPlan{"set_gone", ErrorCode::not_found, "F RR R R R RRR oRRo Ro"};
constexpr Row kGoneStaged{"set_gone", ErrorCode::not_found, "F RR R R R RRR RRoo RR"};
constexpr Row kAppending{"set_appending", ErrorCode::conflict, "W oo o o W RRR ooRR Ro"};
constexpr Row kGrowing{"set_growing", ErrorCode::conflict, "W oo o o W RRR RRoo RR"};
constexpr Row kAppended{"set_appended", ErrorCode::conflict, "W oo o o W RRR ooRR oo"};
constexpr Row kComplete{"set_complete", ErrorCode::conflict, "o oo o o o RoW ooRo oo"};
constexpr Row kCopied{"set_complete", ErrorCode::conflict, "o oo o o o RoW RRRo oo"};
constexpr Row kStagedCopy{"set_complete", ErrorCode::conflict, "o oo o o o RoW RRoo oo"};
constexpr Row kIndexed{"set_complete", ErrorCode::conflict, "o oo o o o ooo RRRo oo"};
constexpr Row kStagedIndexed{"set_complete", ErrorCode::conflict, "o oo o o o ooo RRoo oo"};
constexpr Row kForeign{"set_foreign", ErrorCode::conflict, "o oo o o W ooo RRRo RR"};
constexpr Row kNewer{"set_newer", ErrorCode::unsupported, "R RR R R R RRR RRRR RR"};

// Flags beside the state.
constexpr Row kExtra{"extra_shards", ErrorCode::conflict, "F WW W W W oRW WWoo Wo"};
constexpr Row kDamagedPlan{"plan_damaged", ErrorCode::corrupt, "F oo o o o ooo RRoo RR"};
constexpr Row kOtherManifest{"foreign_manifest", ErrorCode::conflict, "W WW W W W RRR RRoo Ro"};
constexpr Row kLive{"set_in_use", ErrorCode::in_use, "W oo o o o ooo oooo oo"};

const Row& row_of(const SeenSet& seen) {
  struct Rows {
    const SeenSet& seen;
    const Row& operator()(const Empty&) const { return kEmpty; }
    const Row& operator()(const Files&) const { return kFiles; }
    const Row& operator()(const Group& group) const { return group.is_staged ? kStagedGroup : kGroup; }
    const Row& operator()(const Staging&) const { return kStaging; }
    const Row& operator()(const Uploading&) const { return kUploading; }
    const Row& operator()(const Writing&) const { return seen.tars.empty() && seen.packed.empty() ? kBegun : kWriting; }
    const Row& operator()(const Unmerged&) const { return kUnmerged; }
    const Row& operator()(const Damaged& damaged) const {
      return damaged.is_staged ? kDamagedStaged : seen.plans.empty() ? kDamaged : kDamagedOfPlan;
    }
    const Row& operator()(const Partial&) const { return kPartial; }
    const Row& operator()(const Incomplete& lost) const {
      if (lost.left == 0) return lost.is_staged ? kGoneStaged : seen.plans.empty() ? kGone : kGoneOfPlan;
      if (lost.is_staged) return kIncompleteStaged;
      return !seen.is_of_plan() ? kIncompleteIndexed : seen.plans.empty() ? kIncomplete : kIncompleteOfPlan;
    }
    const Row& operator()(const Appending&) const { return kAppending; }
    const Row& operator()(const Growing&) const { return kGrowing; }
    const Row& operator()(const Appended&) const { return kAppended; }
    const Row& operator()(const Complete& complete) const {
      if (!seen.is_of_plan()) return complete.is_staged ? kStagedIndexed : kIndexed;
      if (complete.is_staged) return kStagedCopy;
      return seen.plan == PlanState::none ? kCopied : kComplete;
    }
    const Row& operator()(const Foreign&) const { return kForeign; }
    const Row& operator()(const Newer&) const { return kNewer; }
  };
  return std::visit(Rows{seen}, seen.state);
}

/// The letter of a verb in a row: the blanks are passed over.
constexpr char letter_of(std::string_view reactions, SetVerb verb) {
  auto left = static_cast<std::size_t>(verb);
  for (const char letter : reactions) {
    if (letter != ' ' && left-- == 0) return letter;
  }
  return 'o';
}
static_assert(letter_of(kNewer.reactions, SetVerb::parts) == 'R' &&
              letter_of(kExtra.reactions, SetVerb::verify) == 'F');

Reaction reaction_of(const Row& row, SetVerb verb) {
  switch (letter_of(row.reactions, verb)) {
    case 'W':
      return Reaction::warn;
    case 'R':
      return Reaction::refuse;
    case 'F':
      return Reaction::finding;
    case 'e':
      return Reaction::each;
    default:
      return Reaction::ok;
  }
}

std::string names_of(const std::vector<GroupMember>& members, const std::string& folder) {
  std::vector<std::string> names;
  for (const GroupMember& member : members) names.push_back(fmt::format("'{}'", io::join_path(folder, member.name)));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string of_shards(std::size_t count, std::string_view is) {
  return fmt::format("{} {} {}", format_count(count, "shard"), count == 1 ? "is" : "are", is);
}

const char* name_of(SetWriter writer) { return writer == SetWriter::convert ? "convert" : "reshard"; }

bool is_indexing(SetVerb verb) { return verb >= SetVerb::index && verb <= SetVerb::replace; }
bool is_writer(SetVerb verb) { return verb >= SetVerb::convert && verb <= SetVerb::upload_into; }

/// How a command that was interrupted is continued.
std::string again(std::string_view command) {
  return fmt::format("run the same {} again, which continues it", command);
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// Extra tars that have the size of a listed shard that is missing: they may be these shards, renamed.
std::vector<std::string> renamed_shards(const SeenSet& seen, const Incomplete& lost) {
  std::multiset<std::uint64_t> sizes;
  for (const formats::ManifestShard& shard : seen.manifest->shards) {
    if (contains(lost.missing, shard.name)) sizes.insert(shard.bytes);
  }
  std::vector<std::string> renamed;
  for (const Listing::File& tar : seen.tars) {
    const auto size = tar.bytes && contains(seen.extra, tar.name) ? sizes.find(*tar.bytes) : sizes.end();
    if (size == sizes.end()) continue;
    sizes.erase(size);
    renamed.push_back(tar.name);
  }
  return renamed;
}

/// Tars by their names, as one set.
std::string join_by_name(const SeenSet& seen) {
  constexpr std::size_t most = 20;
  if (seen.tars.size() > most) return "name all tars together to reshard";
  remedy::Named tars;
  for (const Listing::File& tar : seen.tars) tars.push_back(io::join_path(seen.folder, tar.name));
  return fmt::format("take all tars: {}", remedy::in_text(remedy::reshard(tars)));
}

std::string salvage(const SeenSet& seen) { return remedy::in_text(remedy::reshard({seen.folder}, {.salvage = true})); }

/// Each state in words, and what to do about it.
struct StateWords {
  const SeenSet& seen;
  SetVerb verb = SetVerb::verify;  ///< in a finished set, the advice depends on it
  const std::string& folder = seen.folder;

  struct Words {
    std::string text;
    std::string advice;
  };

  Words operator()(const Empty&) const { return {fmt::format("'{}' is empty", folder), "is the path right?"}; }
  Words operator()(const Files&) const {
    if (content_of(folder) == Content::images)
      return {fmt::format("folder '{}' contains images and no *.tar file", folder),
              "make shards of them: " + remedy::in_text(remedy::convert(folder, ""))};
    return {fmt::format("folder '{}' contains no *.tar file", folder), "give a folder with shards"};
  }
  Words operator()(const Group&) const {
    const std::string text = fmt::format("'{}' has the sets of a split, which stay apart", folder);
    if (verb == SetVerb::convert || verb == SetVerb::append) return {text, "repeat " + split_of_group()};
    return {text, fmt::format("give the folder of one: {}", names_of(seen.members, folder))};
  }
  std::string split_of_group() const {
    for (const GroupMember& member : seen.members) {
      if (!member.seen.manifest) continue;
      const auto split = member.seen.manifest->options.find("split");
      if (split != member.seen.manifest->options.end()) return "its --split " + split->second;
    }
    return "the command that made them";
  }
  Words operator()(const Staging&) const {
    return {fmt::format("the stage into '{}' has not finished", folder), again("stage")};
  }
  Words operator()(const Uploading&) const {
    std::string advice = again("upload");
    if (is_address(folder)) advice += fmt::format(", or give it up: `shardctl upload --clean {}`", shell_word(folder));
    return {fmt::format("the upload into '{}' has not finished", folder), std::move(advice)};
  }
  Words operator()(const Writing& writing) const {
    const std::string missing = of_shards(writing.missing.size(), "missing");
    if (writing.in_parts) {
      const std::string parts = number_ranges(writing.missing_parts);
      const bool one = writing.missing_parts.size() == 1;
      return {parts.empty()
                  ? fmt::format("parts of '{}' are missing ({})", folder, missing)
                  : fmt::format("part{} {} of '{}' {} missing", one ? "" : "s", parts, folder, one ? "is" : "are"),
              fmt::format("`{} --missing` lists them: run these parts again, then {}", remedy::parts(folder),
                          remedy::in_text(remedy::merge(folder)))};
    }
    return {fmt::format("the {} into '{}' has not finished{}", name_of(writing.writer), folder,
                        writing.planned == 0 ? std::string() : fmt::format(" ({})", missing)),
            again(name_of(writing.writer)) + (writing.planned == 0 ? "" : ", or name the shards")};
  }
  Words operator()(const Unmerged&) const {
    return {fmt::format("all shards of '{}' are there, its manifest is not written", folder),
            remedy::in_text(remedy::merge(folder)) + " writes it"};
  }
  Words operator()(const Damaged& damaged) const {
    std::string text = damaged.why.empty() ? fmt::format("the manifest of '{}' is of another set than its plan", folder)
                                           : fmt::format("the manifest of '{}' is damaged ({})", folder, damaged.why);
    if (damaged.is_staged) return {std::move(text), again("stage")};
    if (!seen.plans.empty() && damaged.missing.empty())
      return {std::move(text), remedy::in_text(remedy::merge(folder)) + " writes it from the plans and indexes"};
    if (!seen.plans.empty())
      return {std::move(text), again("command") + ": " + of_shards(damaged.missing.size(), "missing")};
    std::string advice = "restore it from a copy";
    if (!is_address(folder))
      advice += fmt::format(", or use {}, which gives up class names and original paths",
                            remedy::in_text(remedy::index_replace(folder)));
    return {std::move(text), std::move(advice)};
  }
  Words operator()(const Partial& partial) const {
    return {fmt::format("'{}' has the part {} of a set", folder, fmt::join(partial.parts, ", ")),
            "use its source, or stage the whole set"};
  }
  Words operator()(const Incomplete& lost) const {
    const std::size_t count = lost.missing.size() + lost.resized.size();
    std::string text = fmt::format("{} of '{}' {} {}, the first is '{}'", format_count(count, "listed shard"), folder,
                                   count == 1 ? "is" : "are",
                                   lost.resized.empty()   ? "missing"
                                   : lost.missing.empty() ? "damaged"
                                                          : "missing or damaged",
                                   lost.missing.empty() ? lost.resized.front() : lost.missing.front());
    const std::vector<std::string> renamed = seen.manifest ? renamed_shards(seen, lost) : std::vector<std::string>();
    if (!renamed.empty()) {
      return {std::move(text), fmt::format("{} of other names {} the size of missing ones, the first is '{}': if these "
                                           "were renamed, give them their names again, or {}",
                                           format_count(renamed.size(), "tar"), renamed.size() == 1 ? "has" : "have",
                                           renamed.front(), join_by_name(seen))};
    }
    std::string advice = lost.is_staged ? "run the same stage again"
                         : seen.plans.empty()
                             ? "restore them from a copy, or make the set again"
                             : "run the same command that wrote the set again, which writes them again";
    if (lost.left == 0 || !seen.manifest) return {std::move(text), std::move(advice)};
    std::uint64_t samples = 0;
    for (const formats::ManifestShard& shard : seen.manifest->shards) {
      const bool is_lost = contains(lost.missing, shard.name) || contains(lost.resized, shard.name);
      samples += is_lost ? shard.samples : 0;
    }
    advice += fmt::format("; {} takes the rest, at most {} of {} are lost", salvage(seen), format_count(samples),
                          format_count(seen.manifest->samples, "sample"));
    return {std::move(text), std::move(advice)};
  }
  Words operator()(const Appending&) const {
    return {fmt::format("an append into '{}' has not finished; the set itself is whole", folder),
            "run its command again, or with --discard to give it up"};
  }
  Words operator()(const Growing& growing) const {
    const char* const command = growing.is_staged ? "stage" : "upload";
    return {fmt::format("the {} of more shards into '{}' has not finished; the set itself is whole", command, folder),
            again(command)};
  }
  Words operator()(const Appended&) const {
    return {fmt::format("an append into '{}' is complete but not yet listed", folder),
            remedy::in_text(remedy::merge(folder)) + " adds it to the set"};
  }
  Words operator()(const Complete&) const {
    std::string text = fmt::format("'{}' contains a finished set", folder);
    if (verb != SetVerb::index && verb != SetVerb::replace) return {std::move(text), {}};
    if (verb == SetVerb::replace) return {std::move(text), "--replace gives up its class names and original paths"};
    text += ", of a convert or reshard, with class names and original paths";
    if (is_address(folder)) {
      return {std::move(text),
              "index it for other readers with --dali, --wids or --energon, or write the indexes to "
              "another folder with --output DIR"};
    }
    return {std::move(text),
            fmt::format("index it for other readers with --dali, --wids or --energon, or give these up "
                        "and index the tars as they are with {}",
                        remedy::in_text(remedy::index_replace(folder)))};
  }
  Words operator()(const Foreign&) const {
    if (seen.other_manifest) return {fmt::format("'{}' has tars without a shardkit manifest", folder), {}};
    return {fmt::format("'{}' has tars without a manifest", folder),
            remedy::in_text(remedy::index({folder})) + " writes one"};
  }
  Words operator()(const Newer& newer) const {
    return {fmt::format("'{}' was written by a newer version of shardctl", io::join_path(folder, newer.record)),
            "use a newer shardctl"};
  }
};

struct Flag {
  About about;
  const Row* row;
  StateWords::Words words;
};

/// The flags that are set. A folder that index made is indexed again with the tars that were added.
std::vector<Flag> flags_of(const SeenSet& seen, SetVerb verb) {
  std::vector<Flag> flags;
  const bool is_indexed_again = !seen.is_of_plan() && is_indexing(verb);
  const auto* lost = seen.as<Incomplete>();
  const bool are_renamed = lost && seen.manifest && !renamed_shards(seen, *lost).empty();
  if (!seen.extra.empty() && !is_indexed_again) {
    const bool one = seen.extra.size() == 1;
    flags.push_back(
        {About::extra,
         &kExtra,
         {fmt::format("{} of '{}' {} not in its manifest, the first is '{}'", format_count(seen.extra.size(), "tar"),
                      seen.folder, one ? "is" : "are", seen.extra.front()),
          are_renamed ? "they may be missing shards"
                      : fmt::format("move {} out of the folder, or name listed and extra tars together to reshard",
                                    one ? "it" : "them")}});
  }
  if (seen.plan == PlanState::damaged) {
    flags.push_back({About::plan,
                     &kDamagedPlan,
                     {fmt::format("the plan '{}' is missing or damaged", io::join_path(seen.folder, seen.damaged_plan)),
                      "restore it from a copy"}});
  }
  const bool is_data = seen.as<Files>() && (verb == SetVerb::measure || verb == SetVerb::copy);
  if (seen.other_manifest && !is_data) {
    flags.push_back(
        {About::other_manifest,
         &kOtherManifest,
         {fmt::format("'{}' is not a shardkit manifest", io::join_path(seen.folder, formats::kManifestName)),
          verb >= SetVerb::convert || is_indexing(verb)
              ? "it is of another program: move it out of the folder, or write to another one" +
                    std::string(is_indexing(verb) ? " with --output DIR" : "")
              : "the shards are read without it"}});
  }
  if (seen.is_live) {
    flags.push_back(
        {About::live,
         &kLive,
         {fmt::format("another process writes to '{}'", seen.folder), "run this command again when it has ended"}});
  }
  return flags;
}

Ruling ruling_of(About about, const Row& row, SetVerb verb, StateWords::Words words) {
  return {about, reaction_of(row, verb), std::string(row.code), std::move(words.text), std::move(words.advice)};
}

/// "TEXT: ADVICE". Those who write may also choose another target.
std::string sentence(SetVerb verb, const StateWords::Words& words) {
  std::string advice = words.advice;
  if (is_writer(verb)) advice += advice.empty() ? "choose another folder" : ", or choose another folder";
  return advice.empty() ? words.text : fmt::format("{}: {}", words.text, advice);
}

[[noreturn]] void refuse(const Row& row, SetVerb verb, const SeenSet& seen, const StateWords::Words& words) {
  throw Error(row.error, At{seen.folder}, "{}", sentence(verb, words));
}

}  // namespace

std::vector<Ruling> rulings(SetVerb verb, const SeenSet& seen) {
  std::vector<Ruling> all{ruling_of(About::state, row_of(seen), verb, std::visit(StateWords{seen, verb}, seen.state))};
  for (Flag& flag : flags_of(seen, verb)) {
    if (reaction_of(*flag.row, verb) != Reaction::ok)
      all.push_back(ruling_of(flag.about, *flag.row, verb, std::move(flag.words)));
  }
  return all;
}

void enforce(SetVerb verb, const SeenSet& seen, Context& context) {
  const Row& row = row_of(seen);
  const Reaction reaction = reaction_of(row, verb);
  if (reaction == Reaction::each) {
    for (const GroupMember& member : seen.members) enforce(verb, member.seen, context);
    return;
  }
  const StateWords::Words words = std::visit(StateWords{seen, verb}, seen.state);
  if (reaction == Reaction::refuse) refuse(row, verb, seen, words);
  const auto flags = flags_of(seen, verb);
  for (const Flag& flag : flags) {
    if (reaction_of(*flag.row, verb) == Reaction::refuse) refuse(*flag.row, verb, seen, flag.words);
  }
  if (reaction == Reaction::warn) context.warn(std::string(row.code), "{}", sentence(verb, words));
  for (const Flag& flag : flags) {
    if (reaction_of(*flag.row, verb) == Reaction::warn)
      context.warn(std::string(flag.row->code), "{}", sentence(verb, flag.words));
  }
}

std::string state_note(const SeenSet& seen) {
  const Ruling state = rulings(SetVerb::verify, seen).front();
  const bool is_open = state.reaction == Reaction::finding || state.reaction == Reaction::warn;
  return is_open ? fmt::format("; {}: {}", state.text, state.advice) : std::string();
}

std::string state_text(const SeenSet& seen) { return std::visit(StateWords{seen}, seen.state).text; }
std::string state_advice(const SeenSet& seen) { return std::visit(StateWords{seen}, seen.state).advice; }

}  // namespace shardkit::catalog
