#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalog/set_state.hpp"
#include "core/context.hpp"
#include "core/error.hpp"

/// What each verb does with a set in each state: one table (docs/explain/set-states.md), and one sentence for each
/// state.
namespace shardkit::catalog {

/// What a command does with a set, before it reads or writes anything of it.
enum class SetVerb {
  verify,
  list,     ///< ls, cat, stat
  read,     ///< extract, reshard
  salvage,  ///< reshard --salvage
  measure,  ///< the verbs of iobench
  copy,     ///< stage and upload, of their source
  index,
  index_readers,  ///< index --dali, --wids, --energon, --extra
  replace,        ///< index --replace
  convert,        ///< convert and reshard, of their target, before they know their plan
  append,         ///< convert --append
  stage_into,
  upload_into,
  merge,
  parts,
};

enum class Reaction {
  ok,
  warn,     ///< works, and says what the set lacks
  refuse,   ///< changes nothing
  finding,  ///< of verify
  each,     ///< as for each set of the group
};

/// What a reaction is about: the state, or a flag beside it.
enum class About { state, extra, plan, other_manifest, live };

/// A reaction of a verb.
struct Ruling {
  About about = About::state;
  Reaction reaction = Reaction::ok;
  std::string code = {};  ///< of the state or flag: "set_writing", "extra_shards"
  std::string text = {};  ///< that state in words
  std::string advice = {};
};

/// The reaction to the state, then those to flags that are not Reaction::ok.
std::vector<Ruling> rulings(SetVerb verb, const SeenSet& seen);

/// Throws for the first reaction that refuses, and warns of those that do. For a group with Reaction::each the same for
/// each of its sets.
void enforce(SetVerb verb, const SeenSet& seen, Context& context);

/// "; " with the state of a set that is not complete and what to do, behind a message about something else; else empty.
std::string state_note(const SeenSet& seen);

/// The state of a set in words, and what to do about it.
std::string state_text(const SeenSet& seen);
std::string state_advice(const SeenSet& seen);

}  // namespace shardkit::catalog
