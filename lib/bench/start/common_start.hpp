#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/context.hpp"
#include "core/fields.hpp"
#include "system/clock.hpp"

/// Starts a measurement on many nodes at the same time. Nothing listens on a port: nodes meet in a shared folder, or at
/// a time of day.
namespace shardkit::bench {

struct CommonStartOptions {
  std::optional<std::string> barrier = {};  ///< shared folder
  std::optional<std::uint64_t> world = {};  ///< nodes
  std::optional<std::string> start_at = {};

  void describe(FieldList& v);
};

/// How a measurement began.
struct CommonStart {
  std::string node;
  std::string id;         ///< of the start, the same on all nodes of a barrier
  double started_at = 0;  ///< Unix time
  /// Time of this node's clock less that of the file server; empty without a barrier.
  std::optional<double> clock_offset;
  double late = 0;  ///< after the time that was agreed, in seconds

  void describe(FieldList& v);
};

/// Names of "node[001-003,007],gpu1" (Slurm's notation), in its order. Throws Error{usage} for anything else,
/// and for more than 65,536.
std::vector<std::string> expand_hosts(std::string_view list);

/// What several names of nodes are called together. A short name is the FQDN that it begins, unless it begins two.
class NodeNames {
 public:
  /// The name of the scheduler is taken if it is known, else the short one.
  explicit NodeNames(std::vector<std::string> of_scheduler, const std::vector<std::string>& others = {});
  std::string of(const std::string& name) const;

 private:
  std::vector<std::string> of_scheduler_;
  std::map<std::string, std::set<std::string>, std::less<>> by_short_name_;
};

/// Unix time of "2026-11-26T12:00:00Z", or of "@1764158400" or "1764158400". Throws Error{usage}.
double parse_start(const std::string& text);

/// Waits until all nodes are at the barrier, or for the time of day. The folder is created. The first node that sees
/// all of them publishes who starts and when, kBarrierDelay later on the clock of the file server, so that all can read
/// it. Warns if this node starts late. Throws Error{usage} for options that do not fit, for two nodes with one name and
/// for more than `world` nodes (those that a start names go on, if one was published before the others were seen),
/// Error{io} if the barrier does not fill: with the names of the missing nodes if
/// SLURM_JOB_NODELIST has them, else with their number.
CommonStart wait_for_start(const CommonStartOptions& options, const std::string& node, Context& context,
                           system::Seconds patience = system::Seconds(600));
inline constexpr double kBarrierDelay = 3;  ///< seconds; longer than an NFS client needs to see a new file

}  // namespace shardkit::bench
