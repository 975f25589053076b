#include "dataset/stat/stat.hpp"

namespace shardkit {

void StatOptions::describe(FieldVisitor& v) {
  v.field({"SHARDS", Unit::none, "folders, tars, brace patterns, list files or wids indexes", Role::positional},
          shards);
  v.field({"threads", Unit::count, "shards read at a time; default: the CPUs this process may use", Role::option, "N"},
          threads);
}

void SpreadStep::describe(FieldVisitor& v) {
  v.field({"from", Unit::none, "a power of two, or 0"}, from);
  v.field({"to", Unit::none, "the largest value of this step"}, to);
  v.field({"values", Unit::count, "how many lie between, both included"}, count);
}

void Spread::describe(FieldVisitor& v) {
  v.field({"min", Unit::none, "the smallest"}, min);
  v.field({"median", Unit::none, "half are no larger; of sample sizes within 1 %"}, median);
  v.field({"max", Unit::none, "the largest"}, max);
  v.field({"histogram", Unit::none, "by powers of two"}, histogram);
}

void StatClass::describe(FieldVisitor& v) {
  v.field({"label", Unit::none, "as in the .cls members"}, label);
  v.field({"name", Unit::none, "the manifest's; empty without one"}, name);
  v.field({"samples", Unit::count, "of this class"}, samples);
}

void ClassBalance::describe(FieldVisitor& v) {
  v.field({"classes", Unit::count, "different labels that occur"}, classes);
  v.field({"smallest", Unit::count, "samples of the smallest class"}, smallest);
  v.field({"largest", Unit::count, "samples of the largest class"}, largest);
  v.field({"largest_to_smallest", Unit::ratio, "one over the other"}, largest_to_smallest);
}

void StatResult::describe(FieldVisitor& v) {
  v.field({"shards", Unit::count, "shards looked at"}, shards);
  v.field({"shards_by_index", Unit::count, "those whose index was read instead of their headers"}, shards_by_index);
  v.field({"samples", Unit::count, "in these shards"}, samples);
  v.field({"members", Unit::count, "files of these samples, labels included"}, members);
  v.field({"bytes", Unit::bytes, "size of the shards"}, bytes);
  v.field({"unlabelled", Unit::count, "samples without a label that is a whole number"}, unlabelled);
  v.field({"sample_size", Unit::bytes, "contents of a sample's members"}, sample_size);
  v.field({"samples_per_shard", Unit::count, "how many samples one shard holds"}, shard_samples);
  v.field({"class_balance", Unit::none, "how even the classes are"}, class_balance);
  v.field({"classes_per_shard", Unit::none, "how well the classes are mixed over the shards"}, classes_per_shard);
  v.field({"mixed", Unit::none, "neighbours within shards are of different classes, as in shuffled shards"}, mixed);
  v.field({"shuffle_buffer_samples", Unit::count, "shuffle buffer that a loader worker should use"},
          shuffle_buffer_samples);
  v.field({"shuffle_buffer_bytes", Unit::bytes, "memory of that buffer, per loader worker"}, shuffle_buffer_bytes);
  v.field({"classes", Unit::none, "by label"}, classes);
}

}  // namespace shardkit
