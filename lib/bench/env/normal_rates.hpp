#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace shardkit {

struct Environment;

/// What a part of a machine commonly gives, to hold a measurement against: sequential reads in large blocks, one
/// direction.
struct NormalRate {
  std::string part;  ///< "hdd", "nvme", "network", "gpu"
  std::optional<double> low;
  double high = 0;
  std::string note;

  void describe(FieldVisitor& v) {
    v.field({"part", Unit::none, "storage class, network or gpu"}, part);
    v.field({"low_bytes_per_second", Unit::bytes_per_second, "the low end"}, low);
    v.field({"high_bytes_per_second", Unit::bytes_per_second, "the high end, or the limit of a link"}, high);
    v.field({"note", Unit::none, "what that holds for"}, note);
  }
};

/// For the storage below the path, the network where it is remote, and the link of the GPUs; what has no normal rate,
/// such as a rented disk, is left out.
std::vector<NormalRate> normal_rates(const Environment& environment);

/// The fastest link that is up, of cards and RDMA ports; empty when none tells.
std::optional<double> fastest_network(const Environment& environment);

}  // namespace shardkit
