#include "dataset/checks/problem.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/units.hpp"

namespace shardkit::dataset {
namespace {

using enum ProblemCode;
constexpr Severity kError = Severity::error;
constexpr Severity kWarning = Severity::warning;

// The behavior of readers is from the sources of webdataset, wids, DALI's wds2idx, Megatron-Energon and Hugging Face
// datasets, and mostly tested. docs/explain/verify.md shows this table.
constexpr ProblemKind kProblemKinds[] = {
    {unreadable, "unreadable", kError, "the shard cannot be read", Remedy::restore},
    {zero_length, "zero_length", kError, "the shard is empty", Remedy::salvage},
    {compressed, "compressed", kError, "compressed shards cannot be indexed and do not allow random access",
     Remedy::unread},
    {not_a_tar, "not_a_tar", kError, "this is not a tar archive", Remedy::salvage},
    {bad_header_checksum, "bad_header_checksum", kError, "readers stop here and lose everything after it",
     Remedy::salvage},
    {bad_size_field, "bad_size_field", kError, "readers cannot find the following members", Remedy::salvage},
    {bad_pax_header, "bad_pax_header", kError, "readers refuse the shard or use a wrong name or size"},
    {oversized_header, "oversized_header", kError,
     "a name of over 1 MiB in an extended header: readers refuse it or run out of memory"},
    {truncated, "truncated", kError, "the shard was cut off and its last sample is damaged", Remedy::salvage},
    {missing_end, "missing_end", kError, "the shard may have been cut off between two members; wds2idx crashes on it",
     Remedy::reshard},
    {short_end, "short_end", kWarning, "some readers warn about an archive that ends with one zero block",
     Remedy::reshard},
    {data_after_end, "data_after_end", kError, "readers stop at the end-of-archive blocks and do not see what follows",
     Remedy::unread},

    {pax_header, "pax_header", kWarning, "PAX headers make wds2idx compute wrong offsets, and DALI cannot read them",
     Remedy::reshard},
    {pax_global_header, "pax_global_header", kWarning, "some readers treat a PAX global header as a member",
     Remedy::reshard},
    {gnu_longname, "gnu_longname", kWarning, "wids cuts GNU long names to 100 bytes", Remedy::reshard},
    {ustar_prefix, "ustar_prefix", kWarning, "wids drops the name's prefix field, so keys collide", Remedy::reshard},
    {base256_size, "base256_size", kWarning, "wids fails on sizes stored in base-256", Remedy::reshard},
    {header_number, "header_number", kError,
     "Python cannot read this number in a header: webdataset loses everything after it, without an error",
     Remedy::reshard},
    {header_times, "header_times", kError, "Python reads the times of `tar -g` as a folder, so the key changes",
     Remedy::reshard},
    {large_member, "large_member", kWarning, "a plain header cannot describe a member of 8 GiB or more",
     Remedy::drop_bad},
    {sparse, "sparse", kError, "sparse files are stored in pieces, which readers treat as the content"},
    {hard_link, "hard_link", kError, "readers ignore hard links, so the member is lost", Remedy::reshard},
    {symlink, "symlink", kError, "readers ignore symbolic links, so the member is lost", Remedy::reshard},
    {directory, "directory", kWarning, "folders are useless in a shard; most readers ignore them", Remedy::reshard},
    {special_file, "special_file", kWarning, "devices and unknown member types are ignored", Remedy::reshard},
    {empty_member, "empty_member", kWarning, "a member without content cannot be decoded"},

    {unsafe_name, "unsafe_name", kError,
     "names with '..', a leading '/' or a NUL are refused or written outside the folder when extracted",
     Remedy::reshard},
    {control_character, "control_character", kWarning, "names with control characters break line-based indexes",
     Remedy::reshard},
    {space_in_name, "space_in_name", kWarning, "DALI cannot parse an index with a space in a name", Remedy::reshard},
    {non_ascii_name, "non_ascii_name", kWarning, "wds2idx crashes on names that are not ASCII, or garbles them",
     Remedy::reshard},
    {name_too_long, "name_too_long", kWarning, "no file system supports a name this long, so it cannot be extracted",
     Remedy::reshard},
    {apple_double, "apple_double", kError, "macOS resource files become bogus samples or join others", Remedy::reshard},
    {macosx_folder, "macosx_folder", kError, "files added by macOS' archiver become bogus samples", Remedy::reshard},
    {hidden_name, "hidden_name", kError, "names that start with a dot get a wrong key, or are skipped",
     Remedy::reshard},
    {metadata_member, "metadata_member", kWarning,
     "webdataset skips names in double underscores, others treat them as samples", Remedy::reshard},
    {no_extension, "no_extension", kError, "most readers drop members without an extension", Remedy::rename},
    {nested_tar, "nested_tar", kError, "a tar of tars is not a shard; unpack it, then use the tars in it"},
    {uppercase_extension, "uppercase_extension", kWarning,
     "webdataset lowers the case of the extension, others do not find it", Remedy::reshard},
    {dot_in_stem, "dot_in_stem", kWarning,
     "the key ends at the first dot; the rest of the stem becomes part of the extension"},

    {empty_shard, "empty_shard", kError, "DALI and Energon refuse a shard without samples", Remedy::reshard},
    {duplicate_extension, "duplicate_extension", kError, "readers refuse a sample with two members of one extension",
     Remedy::mark_duplicates},
    {repeated_member, "repeated_member", kError,
     "a later member has the same name: tar and Python keep the later one, readers of shards see both or stop",
     Remedy::reshard},
    {split_sample, "split_sample", kError, "its members are not adjacent; readers make two samples of it",
     Remedy::reshard},
    {duplicate_key, "duplicate_key", kError,
     "another sample has the same key; Energon refuses the set and caches collide", Remedy::mark_duplicates},
    {missing_label, "missing_label", kError, "the sample has no .cls although others, or the source, have a label"},
    {missing_field, "missing_field", kError, "the source has this file for the sample, but the shard does not"},
    {bad_label, "bad_label", kError,
     "a .cls must contain a whole number from 0 to 9223372036854775807 in ASCII; loaders stop on anything else"},
    {label_out_of_range, "label_out_of_range", kError, "the manifest has no class for this label"},
    {class_count, "class_count", kError, "the number of samples of this class differs from the manifest"},
    {label_gap, "label_gap", kWarning, "labels without samples: loaders that count labels size the model incorrectly"},
    {label_conflict, "label_conflict", kError, "the manifests of two folders give a label different meanings",
     Remedy::merge_classes},
    {image_in_sets, "image_in_sets", kWarning,
     "the same images are in several sets: what is measured on one was learned from the other"},
    {orphan_member, "orphan_member", kError, "a label or text without data in the same sample: loaders stop here",
     Remedy::drop_bad},
    {differing_members, "differing_members", kWarning,
     "the sample has other members than most; Hugging Face datasets refuses such sets or loses members"},

    {image_truncated, "image_truncated", kError,
     "the image ends before its last row; loaders stop or fill the rest with gray", Remedy::drop_bad},
    {image_no_end, "image_no_end", kError, "the JPEG has all its rows but no end marker; Pillow and torchvision stop",
     Remedy::drop_bad},
    {image_data_after_end, "image_data_after_end", kWarning,
     "bytes follow the end of the image; readers ignore them, so a part of the file may be lost"},
    {image_corrupt, "image_corrupt", kError, "the image cannot be decoded", Remedy::drop_bad},
    {image_damaged, "image_damaged", kWarning, "the image can be decoded, but some of its data is damaged"},
    {image_not_an_image, "image_not_an_image", kError, "the content is not an image", Remedy::drop_bad},
    {image_unsupported, "image_unsupported", kError, "the content is an image of a format that loaders do not read"},
    {image_other_format, "image_other_format", kWarning,
     "the content has another format than its name; decoders that rely on the name stop"},
    {image_zero_pixels, "image_zero_pixels", kError, "width or height of the image is 0", Remedy::drop_bad},
    {image_too_large, "image_too_large", kError, "decoding would need more memory than any loader should use",
     Remedy::drop_bad},
    {image_too_many_scans, "image_too_many_scans", kError,
     "a progressive image that is made to take very long to decode", Remedy::drop_bad},
    {image_cmyk, "image_cmyk", kWarning, "CMYK: some decoders refuse it, others show wrong colors"},

    {differs_from_source, "differs_from_source", kError, "the bytes differ from those of the source's file"},
    {label_not_of_source, "label_not_of_source", kError, "the label differs from the source's class"},
    {not_in_source, "not_in_source", kError, "the source has no file for this member"},
    {missing_from_shards, "missing_from_shards", kError, "the source's image is in none of the shards"},

    {missing_shard, "missing_shard", kError, "the manifest lists this shard, but it does not exist", Remedy::of_state},
    {set_unfinished, "set_unfinished", kError, "the set is not complete", Remedy::of_state},
    {extra_shard, "extra_shard", kError, "the manifest does not list this shard, but loaders would read it",
     Remedy::move_away},
    {shard_size, "shard_size", kError, "the shard's size differs from the manifest", Remedy::restore},
    {sample_count, "sample_count", kError, "the shard's number of samples differs from the manifest"},
    {checksum, "checksum", kError, "the shard's bytes have changed since it was written", Remedy::restore},
    {sample_checksum, "sample_checksum", kError, "the sample's bytes have changed since it was written",
     Remedy::salvage},
    {index_damaged, "index_damaged", kError, "the shard's index cannot be read", Remedy::reshard},
    {index_mismatch, "index_mismatch", kError,
     "the shard's index describes another shard, or describes its samples differently", Remedy::reshard},
    {plan_damaged, "plan_damaged", kError, "no file can be added to the set, and no part of it written",
     Remedy::reshard},
    {foreign_index, "foreign_index", kError,
     "the index of another program next to the shards describes this shard differently", Remedy::index},
    {listed_file, "listed_file", kError,
     "a file that `index --extra` listed in the manifest is missing or has other bytes", Remedy::restore},
};

constexpr bool in_enum_order() {
  for (std::size_t i = 0; i < std::size(kProblemKinds); ++i) {
    if (static_cast<std::size_t>(kProblemKinds[i].code) != i) return false;
  }
  return true;
}
static_assert(in_enum_order(), "the table must follow the enum");
static_assert(std::ranges::none_of(kProblemKinds,
                                   [](const ProblemKind& kind) {
                                     return kind.remedy == Remedy::drop_bad && kind.severity == Severity::warning &&
                                            kind.code != large_member;
                                   }),
              "of warnings, --drop-bad leaves out only members that a shard cannot contain");
static_assert(std::size(kProblemKinds) == static_cast<std::size_t>(listed_file) + 1, "every code needs a row");

}  // namespace

std::span<const ProblemKind> problem_kinds() { return kProblemKinds; }

const ProblemKind& problem_kind(ProblemCode code) { return kProblemKinds[static_cast<std::size_t>(code)]; }

void Problem::describe(FieldList& v) {
  v.field({"code", "stable name of the finding"}, code);
  v.field({"severity", "error: readers lose or confuse data; warning: affects only some readers"}, severity, 2);
  v.field(
      {"shard", "file name of the shard, or its path if the shards are in several folders; empty for the whole set"},
      where.path);
  v.field({"offset", "offset of the first occurrence in the shard"}, where.offset);
  v.field({"key", "key of the sample, or name of the member"}, key);
  v.field({"text", "what it means"}, text);
  v.field({"count", Unit::count, "number of occurrences in this shard"}, count);
  v.field({"lost_samples", Unit::count, "samples lost in a cut shard, if known"}, lost_samples);
}

void ProblemLog::add(ProblemCode code, std::optional<std::uint64_t> offset, std::string_view key,
                     std::string_view detail, std::uint64_t count) {
  const bool listed = lists(code);
  Tally& tally = tallies_[static_cast<std::size_t>(code)];
  tally.count += count;
  if (!listed) {
    problems_[tally.last].count += count;
    return;
  }
  const ProblemKind& kind = problem_kind(code);
  ++tally.listed;
  tally.last = problems_.size();
  const std::string text = detail.empty() ? std::string(kind.meaning) : fmt::format("{}: {}", kind.meaning, detail);
  problems_.push_back({{std::string(kind.name), text, kind.severity, {shard_, offset}}, std::string(key), count});
}

bool ProblemLog::lists(ProblemCode code) const {
  return tallies_[static_cast<std::size_t>(code)].listed < most_listed(code);
}

std::uint64_t ProblemLog::total(Severity severity) const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kProblemCodes; ++i) {
    if (kProblemKinds[i].severity == severity) sum += tallies_[i].count;
  }
  return sum;
}

std::uint64_t ProblemLog::errors() const { return total(Severity::error); }
std::uint64_t ProblemLog::warnings() const { return total(Severity::warning); }

void ProblemLog::drop(ProblemCode code) {
  tallies_[static_cast<std::size_t>(code)] = {};
  std::erase_if(problems_, [&](const Problem& problem) { return problem.code == problem_kind(code).name; });
}

std::vector<Problem> ProblemLog::take() {
  for (Problem& problem : problems_) {
    if (problem.count > 1) problem.text += fmt::format(" ({} times in this shard)", format_count(problem.count));
  }
  return std::move(problems_);
}

}  // namespace shardkit::dataset
