#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "dataset/samples/sample_lister.hpp"
#include "formats/manifest.hpp"

/// Where `shardctl extract` puts a member: names that strangers wrote become paths below a folder.
namespace shardkit {

/// "a/b.jpg" for "./a//b.jpg". Error{corrupt}, whose text is the reason alone, for what must not be written: empty, a
/// NUL, from the root, "..", a component of more than 255 bytes or a path of more than 4095, and what lies in our own
/// `.shardkit`.
Result<std::string> contained_path(std::string_view name);

/// Class names by label, as far as a manifest knows them.
class MemberPlaces {
 public:
  explicit MemberPlaces(const std::optional<Manifest>& manifest);

  /// The path for `member` of `sample`; empty for a label, which becomes a folder. The original path where the sample
  /// knows it; side-cars stand beside their image. Else <class>/<name>, or the name alone when it starts with its class
  /// already or has no label. Error{corrupt} as contained_path().
  Result<std::string> place(const ListedSample& sample, const ListedMember& member) const;

  /// False when the folder for this label is its number, for lack of a name.
  bool knows_class(std::uint64_t label) const { return names_.contains(label); }

 private:
  std::map<std::uint64_t, std::string> names_;
};

}  // namespace shardkit
