#include "dataset/checks/shard_checker.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "core/text.hpp"
#include "core/units.hpp"
#include "formats/tar_header.hpp"
#include "formats/tar_scanner.hpp"
#include "image/image_header.hpp"
#include "io/file.hpp"

namespace shardkit::dataset {
namespace {

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
    result.too_long |= part.size() > io::kLongestComponent;
    result.macosx |= part == "__MACOSX";
    result.last = part;
    if (slash == std::string_view::npos) return result;
    name.remove_prefix(slash + 1);
  }
}

/// The effect of a regular file's name on its sample.
void check_sample_name(const formats::TarEntry& entry, const Components& parts, ProblemLog& log) {
  const auto note = [&](ProblemCode code) { log.add(code, entry.record_offset, entry.name); };
  if (formats::is_metadata_name(entry.name)) return note(ProblemCode::metadata_member);
  if (parts.macosx) return note(ProblemCode::macosx_folder);
  if (parts.last.starts_with("._")) return note(ProblemCode::apple_double);
  if (parts.last.starts_with('.')) return note(ProblemCode::hidden_name);
  const auto name = formats::split_sample_name(entry.name);
  if (!name || name->extension.empty()) return note(ProblemCode::no_extension);
  if (lower_case(name->extension) == "tar") note(ProblemCode::nested_tar);
  if (name->extension != lower_case(name->extension)) note(ProblemCode::uppercase_extension);
}

/// Notes every hazard of a member's name: characters that some reader or file system changes or refuses.
void check_member_name(const formats::TarEntry& entry, ProblemLog& log) {
  const auto note = [&](ProblemCode code) { log.add(code, entry.record_offset, entry.name); };
  const ByteKinds bytes = byte_kinds(entry.name);
  const Components parts = components(entry.name);
  if (entry.name.empty() || bytes.nul || parts.parent || entry.name.starts_with('/')) note(ProblemCode::unsafe_name);
  if (bytes.control) note(ProblemCode::control_character);
  if (bytes.space) note(ProblemCode::space_in_name);
  if (bytes.non_ascii) note(ProblemCode::non_ascii_name);
  if (parts.too_long || entry.name.size() > io::kLongestPath) note(ProblemCode::name_too_long);
  if (entry.type == formats::TarType::regular) check_sample_name(entry, parts, log);
}

constexpr std::pair<formats::TarFact, ProblemCode> kFactProblems[] = {
    {formats::TarFact::pax_header, ProblemCode::pax_header},
    {formats::TarFact::pax_global_header, ProblemCode::pax_global_header},
    {formats::TarFact::gnu_long_name, ProblemCode::gnu_longname},
    {formats::TarFact::ustar_prefix, ProblemCode::ustar_prefix},
    {formats::TarFact::base256_size, ProblemCode::base256_size},
    {formats::TarFact::unreadable_number, ProblemCode::header_number},
    {formats::TarFact::times_in_prefix, ProblemCode::header_times},
    {formats::TarFact::sparse, ProblemCode::sparse},
};

/// By formats::TarFault, in its order.
constexpr std::array kFaultCodes{
    ProblemCode::zero_length,         ProblemCode::compressed,     ProblemCode::not_a_tar,
    ProblemCode::bad_header_checksum, ProblemCode::bad_size_field, ProblemCode::bad_pax_header,
    ProblemCode::oversized_header,    ProblemCode::truncated,      ProblemCode::missing_end,
    ProblemCode::short_end,           ProblemCode::data_after_end,
};
/// Nothing of the archive can be read behind these.
constexpr bool ends_reading(formats::TarFault fault) {
  using enum formats::TarFault;
  return fault == empty || fault == compressed || fault == not_a_tar || fault == bad_checksum || fault == bad_size ||
         fault == truncated;
}

static_assert(kFaultCodes.size() == static_cast<std::size_t>(formats::TarFault::data_after_end) + 1);

bool has_dot(const formats::IndexMember& member) { return member.extension.find('.') != std::string::npos; }

/// Checks a shard's members, names and samples while they are read. One shard, one thread.
class ShardChecker final : public formats::TarHandler {
 public:
  /// `report` and `facts` stay the caller's. `contents` look at members' contents; they outlive the checker.
  /// `keep_rows`: rows() are wanted, with `hash_contents` those of contents too.
  ShardChecker(ShardReport& report, const SampleFacts& facts,
               const std::vector<std::unique_ptr<MemberWatcher>>& contents, bool keep_rows, bool hash_contents)
      : report_(report), facts_(facts), contents_(contents), keep_rows_(keep_rows), hash_contents_(hash_contents) {}

  bool entry(const formats::TarEntry& entry) override {
    ++report_.members;
    if (!entry.facts.empty()) check_facts(entry);
    check_type(entry);
    check_member_name(entry, report_.log);
    if (const auto done = grouper_.add(entry)) finish_sample(*done);
    reading_.clear();
    reading_label_ = false;
    reading_nameless_ = false;
    if (entry.type != formats::TarType::regular || formats::is_metadata_name(entry.name)) return false;
    const auto name = formats::split_sample_name(entry.name);
    if (!name || name->extension.empty()) return reading_nameless_ = report_.nameless_kind.empty();
    for (const auto& content : contents_) {
      if (content->begin(entry, *name)) reading_.push_back(content.get());
    }
    // Of members with one name the last is the label, of others the first.
    reading_label_ = (!has_label_ || label_name_ == entry.name) && lower_case(name->extension) == kLabelExtension;
    if (reading_label_) {
      has_label_ = true;
      label_name_ = entry.name;
      label_offset_ = entry.record_offset;
      label_reader_.start();
    }
    if (hash_contents_) hash_.reset();
    return reading_label_ || hash_contents_ || !reading_.empty();
  }

  void content(Bytes piece) override {
    if (std::exchange(reading_nameless_, false)) report_.nameless_kind = extension_of(image::sniff_image(piece));
    if (reading_label_) label_reader_.add(piece);
    if (hash_contents_) hash_.update(piece);
    for (MemberWatcher* content : reading_) content->piece(piece);
  }

  void content_end() override {
    for (MemberWatcher* content : reading_) content->end();
    if (hash_contents_) hashes_.push_back(hash_.digest64());
    if (!reading_label_) return;
    label_ = label_reader_.label();
    bad_label_ = !label_;
  }

  void finding(const formats::TarFinding& finding) override {
    damaged_ = true;
    if (ends_reading(finding.fault) || finding.fault == formats::TarFault::missing_end) {
      end_ = finding;
    } else {
      report_.log.add(kFaultCodes[static_cast<std::size_t>(finding.fault)], finding.offset, "", finding.text);
    }
  }

  /// Call this after the last member of a completely readable shard. False if it is known to be truncated: then nothing
  /// else was reported about it or its last sample, which may be incomplete.
  bool finish(const catalog::ShardFile& shard, const ExpectedShard& expected) {
    const auto last = grouper_.finish();
    const formats::ManifestShard* record = expected.record();
    const bool is_shorter = record != nullptr && shard.bytes < record->bytes;
    const bool is_whole = last && is_whole_before_cut(last->members, extensions_, shard.bytes);
    report_.ends_within_sample = end_ && last && is_start_of_sample(last->members, extensions_);
    const bool is_cut = end_ && (ends_reading(end_->fault) || is_shorter || report_.ends_within_sample);
    if (last && (is_whole || !is_cut)) finish_sample(*last);
    if (end_) note_end(shard, expected, is_cut);
    if (report_.samples == 0 && !damaged_) report_.log.add(ProblemCode::empty_shard, std::nullopt, "");
    return !is_cut;
  }

  const SampleRows& rows() const { return rows_; }

 private:
  void note_end(const catalog::ShardFile& shard, const ExpectedShard& expected, bool is_cut) {
    const ProblemCode code = kFaultCodes[static_cast<std::size_t>(end_->fault)];
    const formats::ManifestShard* record = expected.record();
    if (!is_cut || record == nullptr) return report_.log.add(code, end_->offset, "", end_->text);
    const std::string text = fmt::format("{}; {} of {} bytes exist, {} before the damage", end_->text, shard.bytes,
                                         record->bytes, format_count(report_.samples, "whole sample"));
    const std::uint64_t lost = record->samples - std::min(report_.samples, record->samples);
    if (expected.index_replaces_headers(shard.bytes)) {
      report_.log.add(code, end_->offset, "",
                      fmt::format("{}; reshard finds the other {} by the shard's index", text, lost));
      report_.samples = record->samples;
    } else {
      report_.log.add(code, end_->offset, "", fmt::format("{}, {} of {} lost", text, lost, record->samples));
      report_.log.set_lost_samples(lost);
    }
  }

  void check_facts(const formats::TarEntry& entry) {
    for (const auto& [fact, code] : kFactProblems) {
      if (!entry.facts.has(fact)) continue;
      const std::string_view detail = fact == formats::TarFact::unreadable_number ? entry.unreadable : "";
      report_.log.add(code, entry.record_offset, entry.name, detail);
    }
  }

  void check_type(const formats::TarEntry& entry) {
    const auto note = [&](ProblemCode code, std::string_view detail = {}) {
      report_.log.add(code, entry.record_offset, entry.name, detail);
    };
    switch (entry.type) {
      case formats::TarType::regular:
        if (entry.size == 0) note(ProblemCode::empty_member);
        if (entry.size >= formats::kTarSizeLimit) note(ProblemCode::large_member);
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

  void finish_sample(const formats::IndexSample& sample) {
    ++report_.samples;
    report_.content_end = sample.members.back().offset + sample.members.back().size;
    report_.key_hashes.push_back(xxh3_64(as_bytes(sample.key)));
    if (keep_rows_) rows_.layouts.push_back(layout_hash(sample, label_));
    if (hash_contents_) rows_.contents.push_back(content_hash(hashes_));
    hashes_.clear();
    for (const auto& content : contents_) content->sample_end(sample);
    check_extensions(sample);
    if (!has_label_) {
      report_.unlabeled.add(sample);
    } else if (label_) {
      ++report_.samples_by_label[*label_];
      if (!facts_.labels.empty() && !std::ranges::binary_search(facts_.labels, *label_)) {
        report_.log.add(ProblemCode::label_out_of_range, label_offset_, sample.key, fmt::format_int(*label_).c_str());
      }
    } else if (bad_label_) {
      report_.log.add(ProblemCode::bad_label, label_offset_, sample.key, label_reader_.text());
    }
    has_label_ = false;
    label_.reset();
    bad_label_ = false;
  }

  void check_extensions(const formats::IndexSample& sample) {
    extensions_.clear();
    std::set<std::string_view> names;
    bool is_repeated = false;
    for (const formats::IndexMember& member : sample.members) {
      extensions_.push_back(member.extension);
      if (names.insert(member.name).second) continue;
      report_.log.add(ProblemCode::repeated_member, member.offset, sample.key, member.name);
      is_repeated = true;
    }
    std::vector<std::string_view> extensions(extensions_.begin(), extensions_.end());
    std::sort(extensions.begin(), extensions.end());
    const auto twice = std::adjacent_find(extensions.begin(), extensions.end());
    if (twice != extensions.end() && !is_repeated) {
      report_.log.add(ProblemCode::duplicate_extension, sample.offset, sample.key, *twice);
    }
    // If there is also an image without it, a second dot is meant: a.jpg with a.seg.png. If every member has one, it
    // was part of the file's name: img.v2.jpg.
    if (std::all_of(sample.members.begin(), sample.members.end(), has_dot)) {
      report_.log.add(ProblemCode::dot_in_stem, sample.offset, sample.key, sample.members.front().extension);
    }
    note_kind(extensions, sample);
  }

  /// `extensions` are sorted.
  void note_kind(const std::vector<std::string_view>& extensions, const formats::IndexSample& sample) {
    constexpr std::size_t most = 64;  // enough to show a shard in which every sample is of its own kind
    switch (content_of(sample, facts_.primary)) {
      case SampleContent::data:
        break;
      case SampleContent::text:
        report_.note_text(sample);
        break;
      case SampleContent::label:
        report_.log.add(ProblemCode::orphan_member, sample.offset, sample.key, extensions.front());
    }
    std::string name;  // without the label: missing_label reports that
    for (const std::string_view extension : extensions) {
      if (extension != kLabelExtension) name += fmt::format("{}{}", name.empty() ? "" : " ", extension);
    }
    if (report_.kinds.size() >= most && !report_.kinds.contains(name)) return;
    report_.kinds[name].add(sample);
  }

  ShardReport& report_;
  const SampleFacts& facts_;
  const std::vector<std::unique_ptr<MemberWatcher>>& contents_;
  std::vector<MemberWatcher*> reading_;  ///< those that requested the current member
  const bool keep_rows_;
  const bool hash_contents_;
  Xxh3Stream hash_;
  std::vector<std::uint64_t> hashes_;  ///< of the current sample's contents
  SampleRows rows_;
  std::vector<std::string> extensions_;  ///< of the sample before, in its order
  bool reading_label_ = false;
  bool reading_nameless_ = false;  ///< the first piece of a member without an extension
  formats::SampleGrouper grouper_;
  LabelReader label_reader_;
  bool has_label_ = false;  ///< the current sample has a .cls
  std::string label_name_;
  std::uint64_t label_offset_ = 0;
  std::optional<std::uint64_t> label_;  ///< of the current sample, once read
  bool bad_label_ = false;
  bool damaged_ = false;  ///< the archive itself is broken, so that an empty one is not a second finding
  std::optional<formats::TarFinding> end_;  ///< the reason for an early end
};

}  // namespace

std::string extension_of(image::ImageKind kind) {
  if (kind == image::ImageKind::unknown) return {};
  return kind == image::ImageKind::jpeg ? "jpg" : lower_case(enum_name(kind));
}

void verify_shard(const ShardCheck& check, ShardReport& report, Context& context) {
  const bool has_index = !check.expected.index_path.empty();
  ShardChecker checker(report, check.facts, check.contents, has_index, check.reads_all && has_index);
  std::optional<Hash128> found;
  bool is_whole = false;
  guarded(report.log, ProblemCode::unreadable, [&] {
    const auto source = check.inputs.open(check.shard.path);
    if (check.reads_all) {
      Xxh3Stream hash;
      formats::read_tar(
          *source, checker, [&](Bytes bytes) { hash.update(bytes); }, context);
      found = hash.digest();
    } else {
      formats::scan_tar(*source, checker, context);
    }
    is_whole = checker.finish(check.shard, check.expected);
  });
  report.damaged = !is_whole;
  if (is_whole) return compare_shard(check.inputs, check.shard, check.expected, found, checker.rows(), report, context);
  if (!found || !check.expected.index_replaces_headers(check.shard.bytes)) return;
  guarded(report.log, ProblemCode::index_damaged,
          [&] { note_changed_samples(check.inputs, check.shard, check.expected.index_path, report, context); });
}

}  // namespace shardkit::dataset
