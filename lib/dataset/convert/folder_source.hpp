#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "catalog/image_source.hpp"
#include "dataset/checks/problem.hpp"
#include "dataset/sharding/bad_files.hpp"
#include "dataset/sharding/shard_writer.hpp"
#include "formats/plan_file.hpp"

namespace shardkit::dataset {

/// Counts of how images were treated. Written by many threads.
struct ImageCounts {
  std::atomic<std::uint64_t> kept_bad{0};       ///< failed validation or resizing, and kept (--on-bad keep)
  std::atomic<std::uint64_t> resized{0};        ///< made smaller
  std::atomic<std::uint64_t> other_quality{0};  ///< of these: at a lower quality than requested
  std::atomic<std::uint64_t> not_jpeg{0};       ///< of a kind that is not resized
  /// With a fault that is a warning, by ProblemCode.
  std::array<std::atomic<std::uint64_t>, kProblemCodes> accepted{};

  static constexpr std::size_t kMostPaths = 1000;
  std::mutex mutex;
  std::map<ProblemCode, std::set<std::string>> accepted_paths;  ///< the first bytewise
};

/// The settings of this run for the files of a plan.
struct SourceRules {
  OnBad on_bad = OnBad::fail;
  FileIdentity identity = FileIdentity::mtime;
};

/// The samples of a convert's plan, read from the files of their source and treated as the plan says (--validate,
/// --resize); `cores` decode at a time. Files in `amendments` are read as they are now. `plan`, `amendments`
/// and `counts` outlive it. Throws Error{corrupt} for a plan whose options say nothing or nonsense about it.
std::unique_ptr<SampleSource> folder_source(const formats::PlanReader& plan, const catalog::SourceFolder& images,
                                            const SourceRules& rules, const Amendments& amendments, unsigned cores,
                                            ImageCounts& counts);

/// A source that is not mounted has no bad files: throws Error{not_found} if no file of the plan exists, Error{io} if
/// class folders are missing. Objects of a store are not checked.
void require_folders(const catalog::SourceFolder& images, const formats::PlanHead& head);

/// Throws Error{corrupt} if the plan's option of this name is not valid.
[[noreturn]] void refuse_planned(const std::string& name);

/// The value of an option in a plan that names one of E; `otherwise` if the plan lacks it. Throws Error{corrupt} for
/// any other value.
template <NamedEnum E>
E planned_choice(const formats::PlanHead& head, const std::string& name, E otherwise) {
  const auto found = head.options.find(name);
  if (found == head.options.end()) return otherwise;
  const auto value = std::ranges::find(kEnumNames<E>, found->second);
  if (value == kEnumNames<E>.end()) refuse_planned(name);
  return static_cast<E>(value - kEnumNames<E>.begin());
}

}  // namespace shardkit::dataset
