#include "dataset/reshard/reshard.hpp"

namespace shardkit::dataset {
namespace {

/// Which samples are taken.
void describe_filters(FieldList& v, ReshardOptions& options) {
  v.topic("Samples to take");
  v.field({"class",
           "keep only samples of this class: its name in the inputs' manifest, or its label; name:2 and label:2 distinguish "
           "them; may be repeated",
           "NAME|LABEL", kPlanned},
          options.classes);
  v.field({"key",
           "keep only samples whose key in the input matches this pattern (*, ?, [...]; * also matches '/'); may be "
           "repeated: one match is enough",
           "GLOB", kPlanned},
          options.keys);
  v.field({"sample",
           "keep this many of the remaining samples, or with a decimal point this share of them; chosen by a hash of "
           "key and --seed",
           "N|RATIO", kPlanned},
          options.sample);
}

/// The treatment of samples that cause trouble for readers.
void describe_repairs(FieldList& v, ReshardOptions& options) {
  v.topic("Repairs");
  v.field({"drop-bad",
           "decode each image like verify --depth decode and leave out samples with errors (image_truncated, "
           "image_no_end, image_corrupt, image_not_an_image, image_unsupported, image_zero_pixels, image_too_large, "
           "image_too_many_scans, orphan_member) and samples that are too large: with a member of 8 GiB, or for the "
           "memory; warnings stay (image_data_after_end, image_damaged, image_other_format, image_cmyk)",
           kPlanned},
          options.drop_bad);
  v.field({"mark-duplicates",
           "do not stop at duplicates: give samples that share a key a mark of 8 digits, and write the second of two "
           "members with one extension as 2.EXT",
           kPlanned},
          options.mark_duplicates);
  v.field({"salvage",
           "do not stop at cut or damaged shards: take the samples before the damage and those whose bytes did not "
           "change, and report how many samples and bytes are lost",
           kPlanned},
          options.salvage);
  v.field({"merge-classes",
           "merge sets with different classes by class name: number the names in bytewise order and write the new "
           "numbers to .cls; all other members stay byte for byte",
           kPlanned},
          options.merge_classes);
  v.field({"rename",
           "write members of one extension with another, such as jpeg=jpg, or members without an extension with one, "
           "such as =jpg; may be repeated",
           "OLD=NEW", kPlanned},
          options.rename);
}

}  // namespace

void ReshardOptions::describe(FieldList& v) {
  v.field({"IN",
           "shards to take samples from: folders, tars, patterns, list files, wids indexes, local or at s3:// or "
           "http(s):// URLs. Tars may be compressed (.tar.gz, .tgz, .tar.zst, .tar.xz, .tar.bz2, .tar.lz4); each run, "
           "including each part and each restart, first unpacks all of them next to OUT",
           Role::positional},
          inputs);
  v.field({"OUT", "folder for the shards, or s3://bucket/prefix: empty, or of the same reshard to continue",
           Role::positional, kOutputLocation},
          target);
  v.topic("Shards");
  sizes.describe(v);
  v.field({"shuffle", "write all samples in one random order with this seed (default: the inputs' order)", "SEED",
           kPlanned},
          shuffle);
  v.field({"sort", "write all samples in bytewise order of their keys"}, sort);
  describe_filters(v, *this);
  SplitOptions::describe(v, true);
  describe_repairs(v, *this);
  WriteOptions::describe(v);
  access.describe(v);
}

void ReshardResult::describe(FieldList& v) {
  WrittenSets::describe(v);
  v.field({"skipped", Unit::count, "samples of the inputs left out by filters and --sample"}, skipped);
  v.field({"renamed", Unit::count, "samples of the whole output whose key differs from the input"}, renamed);
  v.field({"dropped", Unit::count, "samples of this part left out by --drop-bad"}, dropped);
  v.field({"inputs", Unit::count, "tars that samples were taken from"}, inputs);
  v.field({"input_samples", Unit::count, "samples found in these tars"}, input_samples);
  v.field({"ignored_members", Unit::count,
           "members that belong to no sample: metadata, hidden files, links out of the tar"},
          ignored_members);
  v.field({"regrouped", Unit::count, "groups of members that were separated from the rest of their sample"}, regrouped);
  v.field(
      {"lost_samples", Unit::count,
       "samples that --salvage could not take; if neither manifest nor index has their number, those that were seen"},
      lost_samples);
  v.field({"lost_bytes", Unit::bytes, "bytes after the last complete sample of cut shards"}, lost_bytes);
  v.field({"lost_samples_known", "whether lost_samples is exact; else at least so many are lost"}, lost_samples_known);
  v.field({"dropped_samples", "at most 1000 of the samples left out by --drop-bad"}, dropped_samples);
}

}  // namespace shardkit::dataset
