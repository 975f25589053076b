#include "dataset/reshard/reshard.hpp"

namespace shardkit::dataset {
namespace {

/// Which samples are taken.
void describe_filters(FieldVisitor& v, ReshardOptions& options) {
  v.field({"class", "keep samples of this class alone: its name in the inputs' manifest, or its label; may be repeated",
           "NAME|LABEL", kPlanned},
          options.classes);
  v.field({"key",
           "keep samples whose key in the input matches this pattern alone (*, ?, [...]; * also spans '/'); may be "
           "repeated: one match is enough",
           "GLOB", kPlanned},
          options.keys);
  v.field({"min-size", Unit::bytes, "keep samples whose members hold at least this many bytes together", kPlanned},
          options.min_size);
  v.field({"max-size", Unit::bytes, "keep samples whose members hold at most this many bytes together", kPlanned},
          options.max_size);
  v.field({"sample",
           "keep this many of the samples that are left, or with a decimal point this share of them; which, depends on "
           "their keys and --seed alone",
           "N|RATIO", kPlanned},
          options.sample);
}

/// What becomes of what readers would stumble over.
void describe_repairs(FieldVisitor& v, ReshardOptions& options) {
  v.field({"drop-bad",
           "judge each image as verify --depth decode does, and leave out samples with one that it counts as an error "
           "(image_truncated, image_corrupt, image_not_an_image, image_zero_pixels, image_too_large, "
           "image_too_many_scans), and labels or texts without data (orphan_member); what is a warning stays "
           "(image_no_end, image_damaged, image_other_format, image_cmyk)",
           kPlanned},
          options.drop_bad);
  v.field({"mark-duplicates",
           "give samples that share a key a mark of 8 digits each, and of members of a sample that share an extension "
           "the second one 2.EXT, instead of stopping",
           kPlanned},
          options.mark_duplicates);
  v.field(
      {"salvage",
       "of shards that are cut off or damaged, take the samples before the damage and those whose bytes did not change "
       "instead of stopping, and say how many samples and bytes are lost",
       kPlanned},
      options.salvage);
  v.field({"merge-classes",
           "merge sets with different classes by the names of their classes: number these in bytewise order, and write "
           "the new numbers to .cls; all other members stay byte for byte",
           kPlanned},
          options.merge_classes);
  v.field({"rename",
           "write members of one extension with another, such as jpeg=jpg, or members without an extension with one, "
           "such as =jpg; may be repeated",
           "OLD=NEW", kPlanned},
          options.rename);
}

}  // namespace

void ReshardOptions::describe(FieldVisitor& v) {
  v.field({"IN",
           "shards to take samples from: folders, tars, patterns, list files, wids indexes, here or at s3:// or "
           "http(s):// URLs; tars may be compressed (.tar.gz, .tgz, .tar.zst, .tar.xz, .tar.bz2, .tar.lz4): each run, "
           "that is each part and each restart, first unpacks all of them beside OUT",
           Role::positional},
          inputs);
  v.field(
      {"OUT", "folder for the shards: empty, or of the same reshard to go on with", Role::positional, kOutputFolder},
      target);
  sizes.describe(v);
  v.field(
      {"shuffle", "put all samples in one random order of this seed (default: the inputs' order)", "SEED", kPlanned},
      shuffle);
  v.field({"sort", "put all samples in bytewise order of their keys"}, sort);
  describe_filters(v, *this);
  SplitOptions::describe(v);
  describe_repairs(v, *this);
  WriteOptions::describe(v);
  access.describe(v);
}

void ReshardResult::describe(FieldVisitor& v) {
  WrittenSets::describe(v);
  v.field({"skipped", Unit::count, "samples of the inputs that filters and --sample left out"}, skipped);
  v.field({"renamed", Unit::count, "samples of the whole output whose key is another than in the input"}, renamed);
  v.field({"dropped", Unit::count, "samples of this part that --drop-bad left out"}, dropped);
  v.field({"inputs", Unit::count, "tars that samples were taken from"}, inputs);
  v.field({"input_samples", Unit::count, "samples found in them"}, input_samples);
  v.field({"ignored_members", Unit::count, "members that belong to no sample: metadata, hidden files, symbolic links"},
          ignored_members);
  v.field({"regrouped", Unit::count, "groups of members that stood apart from the rest of their sample"}, regrouped);
  v.field({"lost_samples", Unit::count,
           "samples that --salvage could not take; where neither manifest nor index says how many there were, those "
           "that were seen"},
          lost_samples);
  v.field({"lost_bytes", Unit::bytes, "bytes behind the last whole samples of cut shards"}, lost_bytes);
  v.field({"dropped_samples", "at most 1000 of them"}, dropped_samples);
}

}  // namespace shardkit::dataset
