#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/context.hpp"
#include "core/fields.hpp"

/// Reads results that were written with --json.
namespace shardkit::bench {

/// Reads a JSON file of shardkit: an object with a "schema" of "shardkit/...": a result, a gate, baselines. Results
/// of older versions are changed to this one's fields. Throws Error{corrupt} for anything else, and the errors of
/// reading. `wanted` is what the message asks for instead.
nlohmann::json read_own_json(const std::string& path,
                             std::string_view wanted = "a result that iobench wrote with --json FILE");

/// The verb of a file's schema: "read" of "shardkit/read".
std::string verb_of(const nlohmann::json& envelope);

/// The node that a result is of; empty if the result does not tell.
std::string node_of(const nlohmann::json& envelope);

/// An envelope with a result. Throws like read_own_json(), and Error{conflict} for the result of a failed run.
nlohmann::json read_result_file(const std::string& path);
/// The same for a file that was already read.
void check_result(const nlohmann::json& envelope, const std::string& path);

/// The *.json of a folder by name, without hidden ones. Throws Error{not_found} if there are none.
std::vector<std::string> result_files(const std::string& folder, Context& context);

/// A file that was given and not used, and why.
struct LeftOut {
  std::string file;
  std::string reason;

  void describe(FieldList& v) {
    v.field({"file", "file that was left out"}, file);
    v.field({"reason", "why"}, reason);
  }
};

/// Calls `take` with each result of files and folders, in order of their names. A file that is not a result of a
/// completed run, or is the same as one before it, is left out, and so is one for which `take` throws an Error. Throws
/// Error{not_found} for a folder without results, and Error{cancelled}.
std::vector<LeftOut> for_each_result(std::span<const std::string> paths, Context& context,
                                     const std::function<void(const std::string& file, const nlohmann::json&)>& take);

}  // namespace shardkit::bench
