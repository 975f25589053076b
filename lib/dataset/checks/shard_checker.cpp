#include "dataset/checks/shard_checker.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "catalog/shard_scan.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "dataset/samples/sample_lister.hpp"
#include "io/publish.hpp"
#include "sync/task_group.hpp"

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
  if (name->extension != lower_case(name->extension)) note(ProblemCode::uppercase_extension);
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

constexpr std::pair<formats::TarFact, ProblemCode> kFactProblems[] = {
    {formats::TarFact::pax_header, ProblemCode::pax_header},
    {formats::TarFact::pax_global_header, ProblemCode::pax_global_header},
    {formats::TarFact::gnu_long_name, ProblemCode::gnu_longname},
    {formats::TarFact::ustar_prefix, ProblemCode::ustar_prefix},
    {formats::TarFact::base256_size, ProblemCode::base256_size},
    {formats::TarFact::sparse, ProblemCode::sparse},
};

/// By formats::TarFault, in its order.
constexpr std::array kFaultCodes{
    ProblemCode::zero_length,         ProblemCode::compressed,     ProblemCode::not_a_tar,
    ProblemCode::bad_header_checksum, ProblemCode::bad_size_field, ProblemCode::bad_pax_header,
    ProblemCode::oversized_header,    ProblemCode::truncated,      ProblemCode::missing_end,
    ProblemCode::short_end,           ProblemCode::data_after_end,
};
static_assert(kFaultCodes.size() == static_cast<std::size_t>(formats::TarFault::data_after_end) + 1);

bool has_dot(const formats::SampleMember& member) { return member.extension.find('.') != std::string::npos; }

/// Checks a shard's members, names and samples while they are read. One shard, one thread.
class ShardChecker final : public formats::TarHandler {
 public:
  /// `report` stays the caller's. `labels` are those that the manifest knows, sorted; empty when any will do.
  /// `contents` look at members' contents; they outlive the checker.
  ShardChecker(ShardReport& report, const std::vector<std::uint64_t>& labels, std::vector<MemberWatcher*> contents)
      : report_(report), labels_(labels), contents_(std::move(contents)) {}

  bool entry(const formats::TarEntry& entry) override {
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

  void content(Bytes piece) override {
    if (reading_label_) label_reader_.add(piece);
    for (MemberWatcher* content : reading_) content->piece(piece);
  }

  void content_end() override {
    for (MemberWatcher* content : reading_) content->end();
    if (!reading_label_) return;
    label_ = label_reader_.label();
    bad_label_ = !label_;
  }

  void finding(const formats::TarFinding& finding) override {
    damaged_ = true;
    report_.log.add(kFaultCodes[static_cast<std::size_t>(finding.fault)], finding.offset, "", finding.text);
  }

  /// No member follows. To be called when the whole shard could be read.
  void finish() {
    if (const auto last = grouper_.finish()) finish_sample(*last);
    if (report_.samples == 0 && !damaged_) report_.log.add(ProblemCode::empty_shard, std::nullopt, "");
  }

 private:
  void check_facts(const formats::TarEntry& entry) {
    for (const auto& [fact, code] : kFactProblems) {
      if (entry.facts.has(fact)) report_.log.add(code, entry.record_offset, entry.name);
    }
  }

  void check_type(const formats::TarEntry& entry) {
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

  void finish_sample(const formats::Sample& sample) {
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

  void check_extensions(const formats::Sample& sample) {
    std::vector<std::string_view> extensions;
    extensions.reserve(sample.members.size());
    for (const formats::SampleMember& member : sample.members) extensions.push_back(member.extension);
    std::sort(extensions.begin(), extensions.end());
    const auto twice = std::adjacent_find(extensions.begin(), extensions.end());
    if (twice != extensions.end()) {
      report_.log.add(ProblemCode::duplicate_extension, sample.offset, sample.key, *twice);
    }
    // Beside an image of its own a second dot is meant: a.jpg with a.seg.png. Where every member has one, it was part
    // of the file's name: img.v2.jpg.
    if (std::all_of(sample.members.begin(), sample.members.end(), has_dot)) {
      report_.log.add(ProblemCode::dot_in_stem, sample.offset, sample.key, sample.members.front().extension);
    }
    note_kind(extensions, sample);
  }

  /// `extensions` are sorted.
  void note_kind(const std::vector<std::string_view>& extensions, const formats::Sample& sample) {
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

  ShardReport& report_;
  const std::vector<std::uint64_t>& labels_;
  const std::vector<MemberWatcher*> contents_;
  std::vector<MemberWatcher*> reading_;  ///< those that asked for the current member
  bool reading_label_ = false;
  formats::SampleGrouper grouper_;
  LabelReader label_reader_;
  bool has_label_ = false;  ///< the current sample has a .cls
  std::uint64_t label_offset_ = 0;
  std::optional<std::uint64_t> label_;  ///< of the current sample, once read
  bool bad_label_ = false;
  bool damaged_ = false;  ///< the archive itself is broken, so that an empty one is no finding of its own
};

/// Runs `work`; an Error other than a stop becomes a problem.
template <class Work>
bool guarded(ProblemLog& log, ProblemCode code, Work work) {
  try {
    work();
    return true;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) throw;
    log.add(code, error.offset(), "", error.what());
    return false;
  }
}

/// Of the shard as a whole.
void note(ShardReport& report, ProblemCode code, const std::string& detail) {
  report.log.add(code, std::nullopt, "", detail);
}

void compare(ShardReport& report, ProblemCode code, std::uint64_t found, std::uint64_t expected, const char* unit) {
  if (found != expected) note(report, code, fmt::format("{} {}, expected {}", found, unit, expected));
}

void compare_with_manifest(const catalog::ShardFile& shard, const formats::ManifestShard& expected,
                           ShardReport& report) {
  compare(report, ProblemCode::shard_size, shard.bytes, expected.bytes, "bytes");
  compare(report, ProblemCode::sample_count, report.samples, expected.samples, "samples");
}

/// The index against the manifest, or against the shard itself where there is no manifest.
void compare_with_index(const catalog::ShardFile& shard, const ExpectedShard& expected, ShardReport& report) {
  constexpr ProblemCode code = ProblemCode::index_mismatch;
  const formats::ShardSummary& index = *expected.index;
  if (index.shard != shard.name) note(report, code, fmt::format("it is the index of '{}'", index.shard));
  if (expected.manifest == nullptr) {
    compare(report, code, shard.bytes, index.bytes, "bytes");
    compare(report, code, report.samples, index.samples, "samples");
  } else if (!(index.xxh3_128 == expected.manifest->xxh3_128)) {
    note(report, code, "it holds another checksum than the manifest");
  }
}

/// XXH3-64 of a member's content; empty when the file ends before it does.
std::optional<std::uint64_t> hash_member(ByteSource& shard, const formats::IndexMember& member) {
  Xxh3Stream hash;
  const std::uint64_t got = shard.stream(member.offset, member.size, [&](Bytes piece) { hash.update(piece); });
  return got < member.size ? std::nullopt : std::optional(hash.digest64());
}

/// After the whole tar's hash was wrong: names the samples that changed.
void find_damaged_samples(catalog::Inputs& inputs, const catalog::ShardFile& shard, const std::string& index_path,
                          ShardReport& report, Context& ctx) {
  const auto file = inputs.open(shard.path);
  const auto index = inputs.open(index_path);
  std::uint64_t damaged = 0;
  formats::ShardIndexVisitor visitor;
  visitor.sample = [&](formats::IndexSample&& sample) {
    ctx.throw_if_stopped();
    for (const formats::IndexMember& member : sample.members) {
      if (hash_member(*file, member) == member.xxh3) continue;
      ++damaged;
      report.log.add(ProblemCode::sample_checksum, member.offset, sample.key, sample.key + "." + member.extension);
    }
  };
  formats::read_shard_index(*index, index_path, visitor);
  note(report, ProblemCode::checksum,
       damaged > 0 ? fmt::format("{} members differ by their own checksums", damaged)
                   : "all samples' contents are as written; the damage lies in headers or padding");
}

void check_hash(catalog::Inputs& inputs, const catalog::ShardFile& shard, const ExpectedShard& expected,
                const Hash128& found, ShardReport& report, Context& ctx) {
  const auto hash = expected_hash(expected);
  if (!hash || *hash == found) return;
  const bool index_fits = expected.index && expected.index->xxh3_128 == *hash;
  const bool named = index_fits && guarded(report.log, ProblemCode::index_damaged, [&] {
                       find_damaged_samples(inputs, shard, expected.index_path, report, ctx);
                     });
  if (!named) {
    note(report, ProblemCode::checksum, fmt::format("XXH3-128 {}, expected {}", to_hex(found), to_hex(*hash)));
  }
}

}  // namespace

std::vector<ExpectedShard> find_expectations(const catalog::ShardSet& set) {
  std::unordered_map<std::string_view, const formats::ManifestShard*> listed;
  if (set.manifest) {
    for (const formats::ManifestShard& shard : set.manifest->shards) listed.emplace(shard.name, &shard);
  }
  std::vector<ExpectedShard> result(set.shards.size());
  const auto look_up = [&](std::size_t at, std::size_t) {
    const catalog::ShardFile& shard = set.shards[at];
    ExpectedShard& expected = result[at];
    if (const auto entry = listed.find(shard.name); entry != listed.end()) expected.manifest = entry->second;
    const std::string path = io::join_path(io::parent_folder(shard.path), formats::shard_index_path(shard.name));
    if (!set.inputs->exists(path)) return;
    expected.index_path = path;
    try {
      expected.index = formats::read_shard_summary(*set.inputs->open(path), path);
    } catch (const Error& error) {  // verify_shard() reads it in full and says what is wrong with it
      if (error.code() == ErrorCode::cancelled) throw;
    }
  };
  constexpr std::size_t at_a_time = 32;
  sync::for_each_index(set.shards.size(), at_a_time, set.inputs->stop(), look_up);
  return result;
}

std::optional<Hash128> expected_hash(const ExpectedShard& expected) {
  if (expected.manifest != nullptr) return expected.manifest->xxh3_128;
  if (expected.index) return expected.index->xxh3_128;
  return std::nullopt;
}

void verify_shard(catalog::Inputs& inputs, const catalog::ShardFile& shard, const ExpectedShard& expected,
                  bool read_all, const std::vector<std::uint64_t>& labels,
                  const std::vector<std::unique_ptr<MemberWatcher>>& contents, ShardReport& report, Context& ctx) {
  std::vector<MemberWatcher*> watching;
  for (const auto& content : contents) watching.push_back(content.get());
  ShardChecker checker(report, labels, std::move(watching));
  std::optional<Hash128> found;
  const bool readable = guarded(report.log, ProblemCode::unreadable, [&] {
    const auto source = inputs.open(shard.path);
    if (read_all) {
      found = catalog::read_shard(*source, checker, ctx).xxh3_128;
    } else {
      catalog::scan_shard(*source, checker, ctx);
    }
    checker.finish();
  });
  if (!readable) return;
  if (expected.manifest != nullptr) compare_with_manifest(shard, *expected.manifest, report);
  if (!expected.index_path.empty()) {
    const bool sound = guarded(report.log, ProblemCode::index_damaged, [&] {
      formats::read_shard_index(*inputs.open(expected.index_path), expected.index_path, {});
    });
    if (sound && expected.index) compare_with_index(shard, expected, report);
  }
  if (found) check_hash(inputs, shard, expected, *found, report, ctx);
}

}  // namespace shardkit::dataset
