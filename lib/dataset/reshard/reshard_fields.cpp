#include "dataset/reshard/reshard.hpp"

namespace shardkit {

void ReshardOptions::describe(FieldVisitor& v) {
  v.field({"IN", Unit::none,
           "shards to take samples from: folders, tars, brace patterns, list files, wids indexes; tars may be "
           "compressed (.tar.gz, .tgz, .tar.zst, .tar.xz, .tar.bz2, .tar.lz4): each run, that is each part and each "
           "restart, first unpacks all of them beside OUT",
           Role::positional},
          inputs);
  v.field({"OUT", Unit::none, "folder for the shards: empty, or of the same reshard to go on with", Role::positional},
          target);
  sizes.describe(v);
  v.field({"shuffle", Unit::none, "put all samples in one random order of this seed (default: the inputs' order)",
           Role::option, "SEED"},
          shuffle);
  v.field({"sort", Unit::none, "put all samples in bytewise order of their keys"}, sort);
  v.field({"class", Unit::none,
           "keep samples of this class alone: its name in the inputs' manifest, or its label; may be "
           "repeated",
           Role::option, "NAME|LABEL"},
          classes);
  v.field({"key", Unit::none,
           "keep samples whose key in the input matches this pattern alone (*, ?, [...]; * also spans '/'); "
           "may be repeated: one match is enough",
           Role::option, "GLOB"},
          keys);
  v.field({"min-size", Unit::bytes, "keep samples whose members hold at least this many bytes together"}, min_size);
  v.field({"max-size", Unit::bytes, "keep samples whose members hold at most this many bytes together"}, max_size);
  v.field({"sample", Unit::none,
           "keep this many of the samples that are left, or with a decimal point this share of them; which, "
           "depends on their keys and --seed alone",
           Role::option, "N|RATIO"},
          sample);
  SplitOptions::describe(v);
  v.field({"drop-bad", Unit::none,
           "judge each image as verify --depth decode does, and leave out samples with one that it counts as an error "
           "(image_truncated, image_corrupt, image_not_an_image, image_zero_pixels, image_too_large, "
           "image_too_many_scans), and labels or texts without data (orphan_member); what is a warning stays "
           "(image_damaged, image_other_format, image_cmyk)"},
          drop_bad);
  v.field({"mark-duplicates", Unit::none,
           "give samples of several tars that share a key a mark of 8 digits each, instead of stopping"},
          mark_duplicates);
  v.field({"rename", Unit::none, "write members of one extension with another, such as jpeg=jpg; may be repeated",
           Role::option, "OLD=NEW"},
          rename);
  WriteOptions::describe(v);
  v.field({"threads", Unit::count,
           "cores to use (default: those this process may use); reads in flight follow the inputs' latency, not "
           "this"},
          threads);
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
  v.field({"dropped_samples", Unit::none, "at most 1000 of them"}, dropped_samples);
}

}  // namespace shardkit
