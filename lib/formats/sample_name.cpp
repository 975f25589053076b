#include "formats/sample_name.hpp"

#include <utility>

#include "core/text.hpp"

namespace shardkit::formats {

std::optional<SampleName> split_sample_name(std::string_view member) {
  const std::size_t slash = member.rfind('/');
  const std::size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const std::size_t dot = member.find('.', base);
  if (dot == std::string_view::npos) return std::nullopt;
  if (dot == base) {
    // [^.]+ must then match the folder before and its slash: only without a dot in it.
    if (base == 0) return std::nullopt;
    const std::string_view folders = member.substr(0, slash);
    const std::size_t parent = folders.rfind('/');
    const std::string_view folder = parent == std::string_view::npos ? folders : folders.substr(parent + 1);
    if (folder.find('.') != std::string_view::npos) return std::nullopt;
  }
  return SampleName{member.substr(0, dot), member.substr(dot + 1)};
}

bool is_metadata_name(std::string_view member) {
  const std::string_view first = member.substr(0, member.find('/'));
  return first.size() >= 4 && first.starts_with("__") && first.ends_with("__");
}

std::optional<IndexSample> SampleGrouper::add(const TarEntry& entry) {
  if (entry.type != TarType::regular || is_metadata_name(entry.name)) return std::nullopt;
  const auto name = split_sample_name(entry.name);
  if (!name) return std::nullopt;
  std::optional<IndexSample> done;
  if (current_.members.empty() || current_.key != name->key) {
    done = finish();
    current_.key = name->key;
    current_.offset = entry.record_offset;
  }
  const bool plain = !entry.facts.has(TarFact::sparse);
  current_.members.push_back({lower_case(name->extension), entry.data_offset, entry.size, {}, {}, entry.name, plain});
  return done;
}

std::optional<IndexSample> SampleGrouper::finish() {
  if (current_.members.empty()) return std::nullopt;
  return std::exchange(current_, {});
}

}  // namespace shardkit::formats
