#include "dataset/reshard/sample_filter.hpp"

#include <algorithm>
#include <utility>

#include <fnmatch.h>

#include "core/error.hpp"
#include "core/text.hpp"
#include "dataset/reshard/reshard_inputs.hpp"
#include "formats/portable_name.hpp"

namespace shardkit::dataset {
namespace {

constexpr std::string_view kName = "name:";
constexpr std::string_view kLabel = "label:";

}  // namespace

SampleFilter::SampleFilter(const ReshardOptions& options, const ReshardInputs& inputs)
    : inputs_(inputs), globs_(options.keys) {
  for (const std::string& given : options.classes) {
    const bool by_name = given.starts_with(kName);
    const bool by_label = given.starts_with(kLabel);
    const std::string wanted = given.substr(by_name ? kName.size() : by_label ? kLabel.size() : 0);
    const auto label = by_name ? std::nullopt : parse_count(wanted);
    bool found = false;
    bool is_both = false;
    const formats::ManifestClass* other = nullptr;  // that has the label, but another name
    for (const formats::ManifestClass& item : inputs.classes) {
      if (by_label || item.name != wanted) {
        if (label == item.label) other = &item;
        continue;
      }
      classes_[item.label].insert(item.name);
      found = true;
      is_both = is_both || label == item.label;
    }
    if (found && other && !is_both) {
      throw usage_error("--class {0} is the name of a class, and also the label of '{1}': give name:{0} or label:{0}",
                        wanted, other->name);
    }
    if (!found && !label) {
      throw usage_error(
          "--class '{}' is not a label, and no class of that name is in the inputs' manifests; give its "
          "label, or choose with --key 'PATTERN'",
          wanted);
    }
    if (!found) {
      labels_.insert(*label);
      seen_[*label] = false;
    }
  }
  for (auto& [label, names] : names_by_label(inputs.classes)) {
    const auto wanted = classes_.find(label);
    if (wanted == classes_.end()) continue;
    if (names.size() == wanted->second.size()) {
      labels_.insert(label);
    } else {
      names_.emplace(label, std::move(names));
    }
  }
}

bool SampleFilter::keeps(const formats::MovedSample& sample) const {
  if (!keeps_class(sample)) return false;
  const auto matches = [&](const std::string& glob) {
    return ::fnmatch(glob.c_str(), sample.source_key.c_str(), 0) == 0;
  };
  return globs_.empty() || std::ranges::any_of(globs_, matches);
}

void SampleFilter::require_labels() const {
  for (const auto& [label, seen] : seen_) {
    if (!seen) throw usage_error("--class {}: no sample of the inputs has this label", label);
  }
}

bool SampleFilter::keeps_class(const formats::MovedSample& sample) const {
  if (labels_.empty() && classes_.empty()) return true;
  if (!sample.label) return false;
  if (const auto wanted = seen_.find(*sample.label); wanted != seen_.end()) wanted->second = true;
  if (labels_.contains(*sample.label)) return true;
  const auto names = names_.find(*sample.label);
  if (names == names_.end()) return false;
  const std::size_t at = require_class_of(inputs_.tars[sample.input], sample, names->second, "--class");
  return classes_.at(*sample.label).contains(names->second[at]);
}

std::map<std::string, std::string> parse_renames(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> renames;
  for (const std::string& rename : texts) {
    const std::size_t equals = rename.find('=');
    const std::string from = equals == 0 ? "" : formats::portable_moved_extension(rename.substr(0, equals));
    const std::string to = equals == std::string::npos ? "" : rename.substr(equals + 1);
    if ((from.empty() && equals != 0) || to.empty() || to != formats::portable_moved_extension(to) ||
        to.starts_with('.') || to.ends_with('.')) {
      throw usage_error(
          "--rename '{}': expected OLD=NEW, such as jpeg=jpg; the new extension has lower-case letters, "
          "digits, '_', '-' and dots between them",
          rename);
    }
    if (!renames.emplace(from, to).second) throw usage_error("--rename lists '{}' twice", from);
  }
  return renames;
}

}  // namespace shardkit::dataset
