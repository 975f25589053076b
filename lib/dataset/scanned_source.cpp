#include "dataset/scanned_source.hpp"

#include <chrono>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "dataset/class_map.hpp"
#include "system/limits.hpp"

namespace shardkit {
namespace {

std::map<std::string, std::uint64_t> places_of(const std::vector<std::string>& classes) {
  std::map<std::string, std::uint64_t> places;
  for (const std::string& name : classes) places.emplace(name, places.size());
  return places;
}

std::vector<std::uint64_t> labels_of(const ImageFolderScan& scan, const std::string& class_map,
                                     const std::vector<std::string>& classes) {
  std::vector<std::uint64_t> labels(scan.classes.size());
  std::iota(labels.begin(), labels.end(), std::uint64_t{0});
  if (class_map.empty() && classes.empty()) return labels;
  const std::map<std::string, std::uint64_t> known = class_map.empty() ? places_of(classes) : read_class_map(class_map);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::string& name = scan.classes[i].name;
    const auto found = known.find(name);
    if (found == known.end()) {
      throw Error(ErrorCode::not_found,
                  class_map.empty()
                      ? fmt::format("class folder '{}' came while the source was scanned; try again", name)
                      : fmt::format("class '{}' is not in the class map '{}'", name, class_map),
                  name);
    }
    labels[i] = found->second;
  }
  return labels;
}

}  // namespace

ScannedSource scan_source(const std::string& root, const ShardingOptions& options,
                          const std::vector<std::string>& classes, std::optional<std::uint64_t> threads, Context& ctx) {
  check(options);
  const auto start = std::chrono::steady_clock::now();
  ScannedSource source{
      root, scan_image_folder(root, {options.allow_empty, thread_count(threads), options.sidecars}, ctx), {}, 0};
  mark_collisions(source.scan);
  source.labels = labels_of(source.scan, options.class_map, classes);
  source.scan_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return source;
}

std::vector<SampleOrder> split_source(const ScannedSource& source, const SplitRule& rule, Context& ctx) {
  std::vector<SplitFacts> facts;
  facts.reserve(source.scan.images());
  for (std::size_t c = 0; c < source.scan.classes.size(); ++c) {
    const ScannedClass& owner = source.scan.classes[c];
    for (const ScannedFile& file : owner.files) {
      facts.push_back({xxh3_64(as_bytes(image_key(owner, file))), source.labels.empty() ? 0 : source.labels[c]});
    }
  }
  SampleOrder order(facts.size());
  std::iota(order.begin(), order.end(), 0U);
  return split_samples(
      std::move(order), rule, [&](std::uint32_t sample) { return facts[sample]; }, ctx);
}

}  // namespace shardkit
