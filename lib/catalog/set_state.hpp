#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/bytes.hpp"
#include "core/hash.hpp"
#include "formats/manifest.hpp"
#include "formats/plan_file.hpp"

/// In which state is this set? The only place that answers, from names and a few records (docs/explain/set-states.md),
/// the same for a folder, a bucket and a web server. What a verb does in a state is in set_rules.hpp.
namespace shardkit::catalog {

/// What one listing shows of a folder: the names of its files, of those in its `.shardkit`, and of those in its
/// folders.
struct Listing {
  struct File {
    std::string name;                         ///< relative to the folder, with '/'
    std::optional<std::uint64_t> bytes = {};  ///< empty: not asked for
  };

  std::string folder;                 ///< path or address, for messages; without a slash at its end
  std::vector<File> files;            ///< by name; without temporary files
  bool is_whole = true;               ///< else only looked up names are known, because the server cannot list
  std::set<std::string> absent = {};  ///< names that were looked up and do not exist; only if not `is_whole`
  bool is_live = false;               ///< a running process writes to the folder
  /// A folder above has the journal of a stage that brought files here. `up` leads there: "../"; `below` leads back:
  /// "train/".
  struct StagedIn {
    std::string up;
    std::string below;
    bool has_marker = false;
  };
  std::optional<StagedIn> staged_in = {};

  /// Null if the file is not there, or that is not known.
  const File* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// Whether it is known not to exist.
  bool lacks(const std::string& name) const { return is_whole ? !has(name) : absent.contains(name); }
  /// The files of a folder in this one, such as "train", as a listing of their own.
  Listing below(const std::string& name) const;
};

/// Opens a file of the listing, or a record of `staged_in`, such as "../.shardkit/staged.json". Throws the errors of
/// the store.
using OpenFile = std::function<std::unique_ptr<ByteSource>(const std::string& name)>;

/// Which command writes, or has written, a set.
enum class SetWriter { convert, reshard };

// The states, with what is known in each.

/// Nothing is there.
struct Empty {};
/// Files, but no tars and nothing of ours: an ImageFolder, texts.
struct Files {};
/// No tar here, but folders below with a state of their own: SeenSet::members.
struct Group {
  bool is_staged = false;
};
/// A stage has not finished.
struct Staging {
  std::string source;
};
/// An upload has not finished.
struct Uploading {};
/// A convert or reshard has not finished.
struct Writing {
  SetWriter writer = SetWriter::convert;
  std::vector<std::string> missing;  ///< planned shards that are not there; none if there is no plan yet
  std::uint64_t planned = 0;         ///< shards
  bool in_parts = false;
  std::vector<std::uint64_t> missing_parts = {};  ///< without a record, if the number of parts is known
};
/// Every planned shard is there, only the manifest is not.
struct Unmerged {};
/// The manifest is damaged, or is not of the plans beside it.
struct Damaged {
  std::string why;                   ///< empty: it is of another plan
  std::vector<std::string> missing;  ///< planned shards that are not there
  bool is_staged = false;
};
/// A stage brought a part of the set, and all of that is there.
struct Partial {
  std::vector<std::string> parts;    ///< in words: "ranks 0-3 of 8 by webdataset"
  std::set<std::string> files = {};  ///< of the parts
};
/// Shards that the manifest lists, or files that a stage brought, are missing or have another size.
struct Incomplete {
  std::vector<std::string> missing;
  std::vector<std::string> resized;  ///< with another size
  std::uint64_t left = 0;            ///< listed shards that are there, also those with another size
  bool is_staged = false;
};
/// An append has begun; the set itself is whole.
struct Appending {
  std::vector<std::string> shards = {};  ///< that it will add
};
/// A set that a stage or an upload brought is whole, and one of the same set with more shards has begun.
struct Growing {
  std::vector<std::string> shards;  ///< that are there and not yet listed
  bool is_staged = false;
};
/// An append is complete and not yet a part of the set.
struct Appended {
  std::vector<std::string> shards;  ///< that it adds
  bool is_joined = false;           ///< it has a manifest of its own; else its parts are to be merged
};
/// A good manifest, and every listed shard is there with its size.
struct Complete {
  bool is_staged = false;
};
/// Tars, and nothing that says what they belong to.
struct Foreign {};
/// A record of a newer version of shardctl.
struct Newer {
  std::string record;
};

using SetState = std::variant<Empty, Files, Group, Staging, Uploading, Writing, Unmerged, Damaged, Partial, Incomplete,
                              Appending, Growing, Appended, Complete, Foreign, Newer>;

/// What is known of the plans of a set.
enum class PlanState { none, good, damaged };

/// A plan that could be read.
struct SeenPlan {
  std::string name;  ///< of the file, relative to the folder
  Hash128 hash;
  std::vector<std::string> shards;  ///< names
  bool is_reshard = false;
};

struct GroupMember;

/// A folder as it was seen.
struct SeenSet {
  std::string folder;  ///< as in the listing
  SetState state;
  std::optional<formats::Manifest> manifest = {};  ///< ours, if it can be read
  std::vector<SeenPlan> plans = {};                ///< in the order in which they were followed
  std::vector<Listing::File> tars = {};            ///< *.tar directly in the folder, by name, also extra ones
  std::vector<std::string> packed = {};            ///< compressed tars there, which no manifest lists
  std::vector<GroupMember> members = {};           ///< of a group

  // Flags beside the state.
  std::vector<std::string> extra = {};  ///< tars that neither the manifest nor a plan names
  PlanState plan = PlanState::none;
  std::string damaged_plan = {};  ///< its name
  bool is_live = false;           ///< a running process writes here
  bool has_leftovers = false;     ///< of parts or an append, which merge joins or removes
  bool other_manifest = false;    ///< manifest.json is a file of another program
  bool is_listed = true;          ///< Listing::is_whole

  template <class State>
  const State* as() const {
    return std::get_if<State>(&state);
  }
  /// Shards in the folder that will be listed when an append, a stage or an upload ends; null if none.
  const std::vector<std::string>* added() const;
  /// Whether a convert or reshard wrote it, not an index.
  bool is_of_plan() const;
  /// The tars that belong to the set: those that the manifest lists; without one those of the plans; else all.
  std::vector<Listing::File> shards() const;
  /// These and the extra ones.
  std::vector<Listing::File> shards_and_extra() const;
};

struct GroupMember {
  std::string name;  ///< of the folder
  SeenSet seen;
};

/// Looks at a folder. Reads the manifest, the records of stages and uploads, head and end of each plan, and the index
/// of a planned shard that is missing until one has samples; no content of shards. Records that are damaged give a
/// state. Throws the errors of `open` but Error{corrupt, unsupported}.
SeenSet look(const Listing& listing, const OpenFile& open);

}  // namespace shardkit::catalog
