#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "core/fields.hpp"
#include "core/units.hpp"

/// Reads results that were written with --json.
namespace shardkit::bench {

/// Reads a JSON file of shardkit: an object with a "schema" of "shardkit/...": a result, a gate, baselines. Throws
/// Error{corrupt} for anything else, and the errors of reading. `wanted` is what the message asks for instead.
nlohmann::json read_own_json(const std::string& path,
                             std::string_view wanted = "a result that iobench wrote with --json FILE");

/// The verb of a file's schema: "read" of "shardkit/read".
std::string verb_of(const nlohmann::json& envelope);

/// An envelope with a result. Throws like read_own_json(), and Error{conflict} for the result of a failed run.
nlohmann::json read_result_file(const std::string& path);
/// The same for a file that was already read.
void check_result(const nlohmann::json& envelope, const std::string& path);

/// The member of `object` at a path with dots, "latency_seconds.p99"; null if it does not exist.
const nlohmann::json* member(const nlohmann::json& object, std::string_view path);
/// The number or text at such a path; empty if it does not exist.
std::optional<double> number_at(const nlohmann::json& object, std::string_view path);
std::optional<std::string> text_at(const nlohmann::json& object, std::string_view path);

/// A value as text: "1.20 GB/s", "812/s", "3.41 ms".
std::string metric_text(double value, Unit unit);

}  // namespace shardkit::bench
