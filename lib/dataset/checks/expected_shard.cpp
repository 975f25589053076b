#include "dataset/checks/expected_shard.hpp"

#include <unordered_map>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/remedies.hpp"
#include "core/units.hpp"
#include "dataset/checks/shard_checker.hpp"
#include "formats/shard_index.hpp"
#include "io/publish.hpp"
#include "sync/task_group.hpp"

namespace shardkit::dataset {
namespace {

/// For the shard as a whole.
void note(ShardReport& report, ProblemCode code, const std::string& detail) {
  report.log.add(code, std::nullopt, "", detail);
}

/// False if a different size was found, which explains all other differences. Data after the end of the archive has
/// already been noted.
bool has_expected_size(const catalog::ShardFile& shard, const ExpectedShard& expected, ShardReport& report) {
  const formats::ManifestShard* record = expected.record();
  if (record == nullptr || shard.bytes == record->bytes) return true;
  if (report.log.has(ProblemCode::data_after_end)) return false;
  note(report, expected.manifest != nullptr ? ProblemCode::shard_size : ProblemCode::index_mismatch,
       fmt::format("{} bytes, expected {}{}", shard.bytes, record->bytes,
                   report.samples == record->samples
                       ? ""
                       : fmt::format("; {} samples, expected {}", report.samples, record->samples)));
  return false;
}

/// Whether the index is of this shard, by its first line and its last.
bool is_index_of(const catalog::ShardFile& shard, const ExpectedShard& expected, ShardReport& report) {
  const formats::ShardSummary& index = *expected.index;
  std::string why;
  if (index.name != shard.name) {
    why = fmt::format("it is the index of '{}'", index.name);
  } else if (expected.manifest != nullptr && !(index.xxh3_128 == expected.manifest->xxh3_128)) {
    why = "its checksum differs from the manifest's";
  } else if (expected.manifest != nullptr && !expected.manifest->parts.empty() && !index.parts.empty() &&
             index.parts != expected.manifest->parts) {
    why = "its checksums of parts differ from the manifest's";
  }
  if (!why.empty()) note(report, ProblemCode::index_mismatch, why);
  return why.empty();
}

/// Compares each row with the sample at its position. `same_bytes`: the tar's bytes are those that were indexed, so
/// that a content with another checksum is the row's fault.
class RowComparison {
 public:
  RowComparison(const SampleRows& rows, bool same_bytes, ShardReport& report)
      : rows_(rows), same_bytes_(same_bytes), report_(report) {}

  void add(const formats::IndexSample& row) {
    const std::size_t at = count_++;
    if (at >= rows_.layouts.size()) return;
    if (layout_hash(row, row.label) != rows_.layouts[at]) {
      return note(row, at, "has another key, label, extension, offset or size than the tar");
    }
    if (!same_bytes_ || rows_.contents.empty()) return;
    std::vector<std::uint64_t> contents;
    for (const formats::IndexMember& member : row.members) contents.push_back(*member.xxh3);
    if (content_hash(contents) != rows_.contents[at]) note(row, at, "has another checksum than the contents");
  }

  /// After the last row of an index that could be read to its end.
  void finish() {
    for (const Mismatch& row : mismatches_) {
      report_.log.add(ProblemCode::index_mismatch, row.offset, row.key, row.text, row.count);
    }
    if (count_ == rows_.layouts.size()) return;
    report_.log.add(ProblemCode::index_mismatch, std::nullopt, "",
                    fmt::format("it has {}, the tar has {}", format_count(count_, "row"),
                                format_count(rows_.layouts.size(), "sample")));
  }

 private:
  struct Mismatch {
    std::uint64_t offset = 0;
    std::string key;
    std::string text;
    std::uint64_t count = 1;
  };

  void note(const formats::IndexSample& row, std::size_t at, const char* what) {
    if (mismatches_.size() == ProblemLog::kMostErrorsListed) {
      ++mismatches_.back().count;
    } else {
      const std::uint64_t offset = row.members.front().offset;
      mismatches_.push_back({offset, row.key, fmt::format("row {} {}", at + 1, what)});
    }
  }

  const SampleRows& rows_;
  const bool same_bytes_;
  ShardReport& report_;
  std::size_t count_ = 0;
  std::vector<Mismatch> mismatches_;
};

/// XXH3-64 of a member's content; empty when the file ends before it does.
std::optional<std::uint64_t> hash_member(ByteSource& shard, const formats::IndexMember& member) {
  Xxh3Stream hash;
  const std::uint64_t got = shard.stream(member.offset, member.size, [&](Bytes piece) { hash.update(piece); });
  return got < member.size ? std::nullopt : std::optional(hash.digest64());
}

/// Notes the changes in a shard whose bytes differ from `expected`.
void note_changed_bytes(catalog::Inputs& inputs, const catalog::ShardFile& shard, const ExpectedShard& expected,
                        const Hash128& found, ShardReport& report, Context& context) {
  const bool named = expected.index_fits() && guarded(report.log, ProblemCode::index_damaged, [&] {
                       if (note_changed_samples(inputs, shard, expected.index_path, report, context) > 0) return;
                       note(report, ProblemCode::checksum,
                            "the contents of all samples are intact; the damage is in headers or padding");
                     });
  if (!named) {
    note(report, ProblemCode::checksum,
         fmt::format("XXH3-128 {}, expected {}", to_hex(found), to_hex(expected.record()->xxh3_128)));
  }
}

}  // namespace

std::uint64_t note_changed_samples(catalog::Inputs& inputs, const catalog::ShardFile& shard,
                                   const std::string& index_path, ShardReport& report, Context& context) {
  const auto file = inputs.open(shard.path);
  const auto index = inputs.open(index_path);
  std::uint64_t changed = 0;
  formats::ShardIndexVisitor visitor;
  visitor.sample = [&](formats::IndexSample&& sample) {
    context.throw_if_stopped();
    const auto member = std::ranges::find_if(
        sample.members, [&](const formats::IndexMember& item) { return hash_member(*file, item) != item.xxh3; });
    if (member == sample.members.end()) return;
    ++changed;
    report.log.add(ProblemCode::sample_checksum, member->offset, sample.key, sample.key + "." + member->extension);
  };
  formats::read_shard_index(*index, index_path, visitor);
  return changed;
}

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
    } catch (const Error& error) {  // verify_shard() reads it completely and reports its faults
      if (error.code() == ErrorCode::cancelled) throw;
    }
  };
  constexpr std::size_t at_a_time = 32;
  sync::for_each_index(set.shards.size(), at_a_time, set.inputs->stop(), look_up);
  return result;
}

std::optional<std::string> changed_bytes(ByteSource& shard, const formats::ManifestShard& listed,
                                         const Context& context) {
  if (shard.size() != listed.bytes) return fmt::format("{} bytes, expected {}", shard.size(), listed.bytes);
  Xxh3Stream hash;
  shard.stream_all([&](Bytes piece) {
    context.throw_if_stopped();
    hash.update(piece);
  });
  if (hash.digest() == listed.xxh3_128) return std::nullopt;
  return fmt::format("XXH3-128 {}, expected {}", to_hex(hash.digest()), to_hex(listed.xxh3_128));
}

std::string remedy_of_changed(const std::string& path) {
  const std::string restore = "restore it from a copy or make it again from its source";
  if (catalog::is_address(path)) return restore;
  return fmt::format("{}; if it was replaced on purpose, {} drops the checksums and class names of its set", restore,
                     remedy::in_text(remedy::index_replace(io::parent_folder(path))));
}

std::uint64_t layout_hash(const formats::IndexSample& sample, std::optional<std::uint64_t> label) {
  std::string text;  // of a few members: hashed at once it costs a tenth of a stream
  const auto number = [&](std::uint64_t value) { text.append(reinterpret_cast<const char*>(&value), sizeof value); };
  number(sample.key.size());
  text += sample.key;
  number(label ? *label + 1 : 0);
  for (const formats::IndexMember& member : sample.members) {
    number(member.extension.size());
    text += member.extension;
    number(member.offset);
    number(member.size);
  }
  return xxh3_64(as_bytes(text));
}

std::uint64_t content_hash(const std::vector<std::uint64_t>& contents) {
  return xxh3_64(std::as_bytes(std::span(contents)));
}

void compare_shard(catalog::Inputs& inputs, const catalog::ShardFile& shard, const ExpectedShard& expected,
                   const std::optional<Hash128>& found, const SampleRows& rows, ShardReport& report, Context& context) {
  if (!has_expected_size(shard, expected, report)) {
    report.damaged = true;
    return;
  }
  const formats::ManifestShard* record = expected.record();
  if (found && record != nullptr && !(*found == record->xxh3_128)) {
    report.damaged = true;
    return note_changed_bytes(inputs, shard, expected, *found, report, context);
  }
  if (expected.manifest != nullptr && report.samples != expected.manifest->samples) {
    note(report, ProblemCode::sample_count,
         fmt::format("{} samples, expected {}", report.samples, expected.manifest->samples));
  }
  if (expected.index_path.empty()) return;
  RowComparison comparison(rows, found.has_value(), report);
  const bool is_ours = !expected.index || is_index_of(shard, expected, report);
  formats::ShardIndexVisitor visitor;
  if (is_ours) visitor.sample = [&](formats::IndexSample&& row) { comparison.add(row); };
  const bool sound = guarded(report.log, ProblemCode::index_damaged, [&] {
    formats::read_shard_index(*inputs.open(expected.index_path), expected.index_path, visitor);
  });
  if (sound && is_ours) comparison.finish();
}

}  // namespace shardkit::dataset
