#pragma once

#include <array>
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

enum class FindingSeverity {
  error,    ///< the job as described cannot work here
  warning,  ///< costs speed or spoils measurements
  hint,     ///< may be so on purpose, or matters only to some
};
constexpr auto enum_names(FindingSeverity) { return std::to_array<std::string_view>({"error", "warning", "hint"}); }

/// Something about a machine that a good engineer would point at.
struct Finding {
  std::string code;  ///< stable and snake_case
  FindingSeverity severity = FindingSeverity::hint;
  std::string measured;
  std::string normal;  ///< what it would be on a machine of this kind that is set up well
  std::string remedy;
  std::string text;

  void describe(FieldVisitor& v) {
    v.field({"code", "stable name of the finding"}, code);
    v.field({"severity", "error: the job cannot work; warning: costs speed; hint: may be on purpose"}, severity);
    v.field({"measured", "what is so here"}, measured);
    v.field({"normal", "what is normal for this class of machine"}, normal);
    v.field({"remedy", "what to do"}, remedy);
    v.field({"text", "the finding in a sentence"}, text);
  }
};

/// A value as people read it: "1.20 GB/s", "812/s", "3.41 ms".
std::string metric_text(double value, Unit unit);

}  // namespace shardkit::bench
