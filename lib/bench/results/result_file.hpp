#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "core/fields.hpp"
#include "core/units.hpp"

/// Results that were written before with --json, read back.
namespace shardkit::bench {

/// A JSON file of ours: an object with a "schema" of "shardkit/...": a result, a gate, baselines. Throws Error{corrupt}
/// for anything else, and what reading a file throws. `wanted` says in the message what to name instead.
nlohmann::json read_own_json(const std::string& path,
                             std::string_view wanted = "a result that iobench wrote with --json FILE");

/// The verb of a file's schema: "read" of "shardkit/read".
std::string verb_of(const nlohmann::json& envelope);

/// An envelope with a result. Throws as read_own_json() does, Error{conflict} for the result of a run that failed.
nlohmann::json read_result_file(const std::string& path);
/// The same for a file that was read: checks it and throws.
void check_result(const nlohmann::json& envelope, const std::string& path);

/// The member at a path of names with dots between, "latency_seconds.p99"; null when there is none. Of `object`.
const nlohmann::json* member(const nlohmann::json& object, std::string_view path);
/// The number or text at such a path; empty when there is none.
std::optional<double> number_at(const nlohmann::json& object, std::string_view path);
std::optional<std::string> text_at(const nlohmann::json& object, std::string_view path);

/// A value as people read it: "1.20 GB/s", "812/s", "3.41 ms".
std::string metric_text(double value, Unit unit);

}  // namespace shardkit::bench
