#include "dataset/sharding/write_options.hpp"

namespace shardkit {

void WriteOptions::describe(FieldVisitor& v) {
  v.field({"part", Unit::none,
           "write only part I of N, counted from 0; auto: as the scheduler says (Slurm, Kubernetes "
           "Indexed Job, MPI); `shardctl merge` joins the parts, where there are several sets in each folder",
           Role::option, "I/N|auto"},
          part);
  v.field({"parts", Unit::count, "number of parts, for --part auto under Kubernetes", Role::option, "N"}, parts);
  v.field({"recheck", Unit::none, "read finished shards again and compare their checksums before trusting them"},
          recheck);
  v.field({"index", Unit::none,
           "also write what other readers want: dali (<shard>.idx), wids (shardindex.json, takes each shard's MD5), "
           "energon (<shard>.tar.idx, .nv-meta/)",
           Role::option, "dali,wids,energon"},
          index);
}

}  // namespace shardkit
