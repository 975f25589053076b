#include "bench/decode/cores_needed.hpp"

#include "bench/model/presets.hpp"

namespace shardkit {

void CoresNeeded::describe(FieldVisitor& v) {
  v.field({"preset", Unit::none, "published workload"}, preset);
  v.field({"samples_per_second", Unit::per_second, "samples that one GPU takes"}, samples_per_second);
  v.field({"cores", Unit::none, "cores that this stage keeps busy for it"}, cores);
}

std::vector<CoresNeeded> cores_needed(double per_core) {
  std::vector<CoresNeeded> rows;
  if (per_core <= 0) return rows;
  for (const Preset& preset : presets()) {
    if (!preset.jpeg) continue;
    const double rate = samples_per_second(preset_job(preset, 1));
    rows.push_back({std::string(preset.name), rate, rate / per_core});
  }
  return rows;
}

}  // namespace shardkit
