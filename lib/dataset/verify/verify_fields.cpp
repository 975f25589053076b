#include "dataset/verify/verify.hpp"

namespace shardkit {

void VerifyOptions::describe(FieldVisitor& v) {
  v.field({"SHARDS", Unit::none, "folders, tars, brace patterns, list files or wids indexes", Role::positional},
          shards);
  v.field({"depth", Unit::none,
           "what to check: headers and samples; every byte too; or every byte and image. auto reads every byte where "
           "there are checksums"},
          depth);
  v.field({"against", Unit::none,
           "compare every byte and label with the ImageFolder tree that the shards were made from, or with the images "
           "of --list, and name what is missing, extra or different",
           Role::option, "SRC"},
          against);
  images.describe(v);
  v.field({"strict", Unit::none, "count warnings as findings"}, strict);
  v.field({"threads", Unit::count, "shards read at a time; default: the CPUs this process may use", Role::option, "N"},
          threads);
}

void VerifyResult::describe(FieldVisitor& v) {
  v.field({"depth", Unit::none, "what was really checked"}, depth);
  v.field({"checked", Unit::none, "the same in words"}, checked);
  v.field({"shards", Unit::count, "shards read"}, shards);
  v.field({"samples", Unit::count, "samples found in them"}, samples);
  v.field({"members", Unit::count, "tar members found in them"}, members);
  v.field({"bytes", Unit::bytes, "size of the shards"}, bytes);
  v.field({"images", Unit::count, "images looked at, with --depth decode"}, images);
  v.field({"classes", Unit::none, "the labels found"}, classes);
  v.field({"bytes_per_second", Unit::bytes_per_second, "size of the shards over wall time"}, bytes_per_second);
  v.field({"problems_total", Unit::count, "problems found, errors and warnings"}, problems_total);
  v.field({"errors", Unit::count, "problems by which readers lose or confuse data"}, errors);
  v.field({"warnings", Unit::count, "problems over which some reader stumbles"}, warnings);
  v.field({"problems", Unit::none, "the problems, repetitions within a shard in one line, at most 10,000 lines"},
          problems);
  v.field({"remedies", Unit::none, "commands that mend what can be mended"}, remedies);
}

void VerifyClasses::describe(FieldVisitor& v) {
  v.field({"count", Unit::count, "labels with samples"}, count);
  v.field({"largest_label", Unit::none, "the largest of them"}, largest_label);
  v.field({"fewest_samples", Unit::count, "of the smallest class"}, fewest_samples);
  v.field({"most_samples", Unit::count, "of the largest class"}, most_samples);
}

}  // namespace shardkit
