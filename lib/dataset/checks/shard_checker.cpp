#include "dataset/checks/shard_checker.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "core/hash.hpp"
#include "core/text.hpp"

namespace shardkit::dataset {
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
void check_sample_name(const formats::TarEntry& entry, const Components& parts, ProblemLog& log) {
  const auto note = [&](ProblemCode code) { log.add(code, entry.record_offset, entry.name); };
  if (formats::is_metadata_name(entry.name)) return note(ProblemCode::metadata_member);
  if (parts.macosx) return note(ProblemCode::macosx_folder);
  if (parts.last.starts_with("._")) return note(ProblemCode::apple_double);
  if (parts.last.starts_with('.')) return note(ProblemCode::hidden_name);
  const auto name = formats::split_sample_name(entry.name);
  if (!name || name->extension.empty()) return note(ProblemCode::no_extension);
  if (std::any_of(name->extension.begin(), name->extension.end(), [](char c) { return c >= 'A' && c <= 'Z'; })) {
    note(ProblemCode::uppercase_extension);
  }
}

/// Notes every trap that a member's name is: what some reader or file system does not carry unharmed.
void check_member_name(const formats::TarEntry& entry, ProblemLog& log) {
  const auto note = [&](ProblemCode code) { log.add(code, entry.record_offset, entry.name); };
  const ByteKinds bytes = byte_kinds(entry.name);
  const Components parts = components(entry.name);
  if (entry.name.empty() || bytes.nul || parts.parent || entry.name.starts_with('/')) note(ProblemCode::unsafe_name);
  if (bytes.control) note(ProblemCode::control_character);
  if (bytes.space) note(ProblemCode::space_in_name);
  if (bytes.non_ascii) note(ProblemCode::non_ascii_name);
  if (parts.too_long || entry.name.size() > kLongestPath) note(ProblemCode::name_too_long);
  if (entry.type == formats::TarType::regular) check_sample_name(entry, parts, log);
}

struct FactProblem {
  formats::TarFact fact;
  ProblemCode code;
};
constexpr std::array kFactProblems{
    FactProblem{formats::TarFact::pax_header, ProblemCode::pax_header},
    FactProblem{formats::TarFact::pax_global_header, ProblemCode::pax_global_header},
    FactProblem{formats::TarFact::gnu_long_name, ProblemCode::gnu_longname},
    FactProblem{formats::TarFact::ustar_prefix, ProblemCode::ustar_prefix},
    FactProblem{formats::TarFact::base256_size, ProblemCode::base256_size},
    FactProblem{formats::TarFact::sparse, ProblemCode::sparse},
};

ProblemCode code_of(formats::TarFault fault) {
  switch (fault) {
    case formats::TarFault::empty:
      return ProblemCode::zero_length;
    case formats::TarFault::compressed:
      return ProblemCode::compressed;
    case formats::TarFault::not_a_tar:
      return ProblemCode::not_a_tar;
    case formats::TarFault::bad_checksum:
      return ProblemCode::bad_header_checksum;
    case formats::TarFault::bad_size:
      return ProblemCode::bad_size_field;
    case formats::TarFault::bad_extension:
      return ProblemCode::bad_pax_header;
    case formats::TarFault::oversized_extension:
      return ProblemCode::oversized_header;
    case formats::TarFault::truncated:
      return ProblemCode::truncated;
    case formats::TarFault::missing_end:
      return ProblemCode::missing_end;
    case formats::TarFault::short_end:
      return ProblemCode::short_end;
    case formats::TarFault::data_after_end:
      return ProblemCode::data_after_end;
  }
  return ProblemCode::not_a_tar;
}

bool has_dot(const formats::SampleMember& member) { return member.extension.find('.') != std::string::npos; }

}  // namespace

bool ShardChecker::entry(const formats::TarEntry& entry) {
  ++report_.members;
  if (!entry.facts.empty()) check_facts(entry);
  check_type(entry);
  check_member_name(entry, report_.log);
  if (const auto done = grouper_.add(entry)) finish_sample(*done);
  reading_.clear();
  reading_label_ = false;
  if (entry.type != formats::TarType::regular || formats::is_metadata_name(entry.name)) return false;
  const auto name = formats::split_sample_name(entry.name);
  if (!name) return false;
  for (MemberWatcher* content : contents_) {
    if (content->begin(entry, *name)) reading_.push_back(content);
  }
  reading_label_ = lower_case(name->extension) == kLabelExtension;
  if (reading_label_) {
    has_label_ = true;
    label_offset_ = entry.record_offset;
    label_reader_.start();
  }
  return reading_label_ || !reading_.empty();
}

void ShardChecker::content(Bytes piece) {
  if (reading_label_) label_reader_.add(piece);
  for (MemberWatcher* content : reading_) content->piece(piece);
}

void ShardChecker::content_end() {
  for (MemberWatcher* content : reading_) content->end();
  if (!reading_label_) return;
  label_ = label_reader_.label();
  bad_label_ = !label_;
}

void ShardChecker::finding(const formats::TarFinding& finding) {
  damaged_ = true;
  report_.log.add(code_of(finding.fault), finding.offset, "", finding.text);
}

void ShardChecker::finish() {
  if (const auto last = grouper_.finish()) finish_sample(*last);
  if (report_.samples == 0 && !damaged_) report_.log.add(ProblemCode::empty_shard, std::nullopt, "");
}

void ShardChecker::check_facts(const formats::TarEntry& entry) {
  for (const FactProblem& item : kFactProblems) {
    if (entry.facts.has(item.fact)) report_.log.add(item.code, entry.record_offset, entry.name);
  }
}

void ShardChecker::check_type(const formats::TarEntry& entry) {
  const auto note = [&](ProblemCode code, std::string_view detail = {}) {
    report_.log.add(code, entry.record_offset, entry.name, detail);
  };
  switch (entry.type) {
    case formats::TarType::regular:
      if (entry.size == 0) note(ProblemCode::empty_member);
      break;
    case formats::TarType::hard_link:
      note(ProblemCode::hard_link, entry.link_target);
      break;
    case formats::TarType::symbolic_link:
      note(ProblemCode::symlink, entry.link_target);
      break;
    case formats::TarType::directory:
      note(ProblemCode::directory);
      break;
    case formats::TarType::other:
      note(ProblemCode::special_file);
      break;
  }
}

void ShardChecker::finish_sample(const formats::Sample& sample) {
  ++report_.samples;
  report_.key_hashes.push_back(xxh3_64(as_bytes(sample.key)));
  check_extensions(sample);
  if (!has_label_) {
    if (report_.unlabelled++ == 0) {
      report_.first_unlabelled = sample.key;
      report_.first_unlabelled_offset = sample.offset;
    }
  } else if (label_) {
    ++report_.samples_by_label[*label_];
    if (!labels_.empty() && !std::binary_search(labels_.begin(), labels_.end(), *label_)) {
      report_.log.add(ProblemCode::label_out_of_range, label_offset_, sample.key, fmt::format_int(*label_).c_str());
    }
  } else if (bad_label_) {
    report_.log.add(ProblemCode::bad_label, label_offset_, sample.key, label_reader_.text());
  }
  has_label_ = false;
  label_.reset();
  bad_label_ = false;
}

void ShardChecker::check_extensions(const formats::Sample& sample) {
  std::vector<std::string_view> extensions;
  extensions.reserve(sample.members.size());
  for (const formats::SampleMember& member : sample.members) extensions.push_back(member.extension);
  std::sort(extensions.begin(), extensions.end());
  const auto twice = std::adjacent_find(extensions.begin(), extensions.end());
  if (twice != extensions.end()) {
    report_.log.add(ProblemCode::duplicate_extension, sample.offset, sample.key, *twice);
  }
  // Beside an image of its own a second dot is meant: a.jpg with a.seg.png. Where every member has one, it was part of
  // the file's name: img.v2.jpg.
  if (std::all_of(sample.members.begin(), sample.members.end(), has_dot)) {
    report_.log.add(ProblemCode::dot_in_stem, sample.offset, sample.key, sample.members.front().extension);
  }
  note_kind(extensions, sample);
}

/// `extensions` are sorted.
void ShardChecker::note_kind(const std::vector<std::string_view>& extensions, const formats::Sample& sample) {
  constexpr std::size_t most = 64;  // a shard whose every sample is of its own kind is told by those
  if (std::all_of(extensions.begin(), extensions.end(), is_side_member)) {
    report_.log.add(ProblemCode::orphan_member, sample.offset, sample.key, extensions.front());
  }
  std::string name;  // without the label: missing_label tells of that
  for (const std::string_view extension : extensions) {
    if (extension != kLabelExtension) name += fmt::format("{}{}", name.empty() ? "" : " ", extension);
  }
  if (report_.kinds.size() >= most && !report_.kinds.contains(name)) return;
  SampleKind& kind = report_.kinds[name];
  if (kind.samples++ == 0) kind = {1, sample.key, sample.offset};
}

}  // namespace shardkit::dataset
