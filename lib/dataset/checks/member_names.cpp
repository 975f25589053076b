#include "dataset/checks/member_names.hpp"

#include <algorithm>
#include <string_view>

#include "formats/sample_name.hpp"

namespace shardkit {
namespace {

constexpr std::size_t kLongestComponent = 255;  // NAME_MAX of every common Linux file system
constexpr std::size_t kLongestPath = 4095;      // PATH_MAX without its NUL

struct ByteKinds {
  bool nul = false;
  bool control = false;
  bool space = false;
  bool non_ascii = false;
};

ByteKinds byte_kinds(std::string_view name) {
  ByteKinds kinds;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    kinds.nul |= byte == 0;
    kinds.control |= byte < 0x20 || byte == 0x7f;
    kinds.space |= byte == ' ';
    kinds.non_ascii |= byte >= 0x80;
  }
  return kinds;
}

struct Components {
  bool parent = false;    ///< one is ".."
  bool too_long = false;  ///< one is longer than file systems allow
  bool macosx = false;    ///< one is "__MACOSX"
  std::string_view last;
};

Components components(std::string_view name) {
  Components result;
  while (true) {
    const std::size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    result.parent |= part == "..";
    result.too_long |= part.size() > kLongestComponent;
    result.macosx |= part == "__MACOSX";
    result.last = part;
    if (slash == std::string_view::npos) return result;
    name.remove_prefix(slash + 1);
  }
}

/// What the name of a regular file makes of its sample.
void check_sample_name(const TarEntry& entry, const Components& parts, ProblemLog& log) {
  const auto note = [&](ProblemCode code) { log.add(code, entry.record_offset, entry.name); };
  if (is_metadata_name(entry.name)) return note(ProblemCode::metadata_member);
  if (parts.macosx) return note(ProblemCode::macosx_folder);
  if (parts.last.starts_with("._")) return note(ProblemCode::apple_double);
  if (parts.last.starts_with('.')) return note(ProblemCode::hidden_name);
  const auto name = split_sample_name(entry.name);
  if (!name || name->extension.empty()) return note(ProblemCode::no_extension);
  if (std::any_of(name->extension.begin(), name->extension.end(), [](char c) { return c >= 'A' && c <= 'Z'; })) {
    note(ProblemCode::uppercase_extension);
  }
}

}  // namespace

void check_member_name(const TarEntry& entry, ProblemLog& log) {
  const auto note = [&](ProblemCode code) { log.add(code, entry.record_offset, entry.name); };
  const ByteKinds bytes = byte_kinds(entry.name);
  const Components parts = components(entry.name);
  if (entry.name.empty() || bytes.nul || parts.parent || entry.name.starts_with('/')) note(ProblemCode::unsafe_name);
  if (bytes.control) note(ProblemCode::control_character);
  if (bytes.space) note(ProblemCode::space_in_name);
  if (bytes.non_ascii) note(ProblemCode::non_ascii_name);
  if (parts.too_long || entry.name.size() > kLongestPath) note(ProblemCode::name_too_long);
  if (entry.type == TarType::regular) check_sample_name(entry, parts, log);
}

}  // namespace shardkit
