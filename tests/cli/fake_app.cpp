#include "cli/fake_app.hpp"

namespace shardkit_test {

using shardkit::FieldList;
using shardkit::Misnomers;
using shardkit::Role;
using shardkit::Unit;

void Latency::describe(FieldList& v) {
  v.field({"p50", Unit::seconds, "half of all reads took less"}, p50);
  v.field({"p99", Unit::seconds, "99 of 100 reads took less"}, p99);
}

void Problem::describe(FieldList& v) {
  v.field({"code", "name of the trap"}, code);
  v.field({"offset", Unit::count, "byte in the shard"}, offset);
}

void FakeOptions::describe(FieldList& v) {
  v.field({"SRC", "folder to work on", Role::positional}, source);
  v.field({"MORE", "further folders", Role::optional_positional}, more);
  v.field({"size", Unit::bytes, "close a shard before it passes this size"}, size);
  v.field({"samples", Unit::count, "close a shard after N samples"}, samples);
  v.field({"timeout", Unit::seconds, "give up after this time", Misnomers{"budget duration"}}, timeout);
  v.field({"headroom", Unit::ratio, "share of capacity to leave unused"}, ratio);
  v.topic("Looking");
  v.field({"depth", "how deep to look"}, depth);
  v.topic("Output");
  v.field({"index", "indexes to write", "dali,wids,energon", Misnomers{"readers"}}, index);
  v.field({"name", "prefix of the shards' names", "PREFIX", 'n'}, name);
  v.topic("Looking");
  v.field({"recheck", "trust checksums only"}, recheck);
  v.field({"rules", "what to look for", Role::input_file}, rules);
  v.topic("Output");
  v.field({"trace", "write what was done", Role::output_file}, trace);
  v.topic("Stores");
  v.field({"profile", "name of the credentials", "NAME"}, profile);
  v.field({"region", "place of the store"}, region);
  v.field({"anonymous", "send no credentials"}, anonymous);
}

void FakeResult::describe(FieldList& v) {
  v.field({"samples", Unit::count, "samples written"}, samples);
  v.field({"bytes", Unit::bytes, "bytes written"}, bytes);
  v.field({"bytes_fetched", Unit::bytes, "bytes read from the source"}, fetched);
  v.field({"files", Unit::per_second, "source files per second"}, files_per_second);
  v.field({"headroom", Unit::ratio, "capacity left unused"}, headroom);
  v.field({"latency", Unit::seconds, "time per read"}, latency);
  v.field({"cold", Unit::seconds, "time per read with cold caches"}, cold);
  v.field({"problems", "what was found"}, problems);
  v.field({"checked", "what was looked at"}, checked);
  v.field({"text", "what else there is to say"}, text);
}

namespace {

shardkit::cli::Command cache_verb(std::string_view name, std::string_view summary, Behavior behavior) {
  return shardkit::cli::make_command(
      {.name = name, .summary = summary, .description = "Looks after a cache, or pretends to.", .prometheus = true},
      behavior);
}

}  // namespace

shardkit::cli::App fake_app(Behavior behavior) {
  return {.name = "fake",
          .summary = "pretend to work",
          .commands = {shardkit::cli::make_command({.name = "work",
                                                    .summary = "work on a folder",
                                                    .description = "Works on a folder, or pretends to.",
                                                    .examples = {{"fake work photos", "work on photos"}},
                                                    .main = {"size", "depth", "trace"},
                                                    .resumable = true,
                                                    .prometheus = true,
                                                    .soft_fail = true},
                                                   behavior),
                       cache_verb("cache ls", "list what a cache holds", behavior),
                       cache_verb("cache warm", "read a cache into memory", behavior)},
          .elsewhere = {{"--colour", "set NO_COLOR"},
                        {"work --speed", "use --timeout"},
                        {"rest", "run work later"},
                        {"cache fill", "run cache warm"}},
          .shared_topics = {{"Stores", "stores", "options for objects", "Objects need credentials."}},
          .option_values = {{"profile", {"work", "home"}}}};
}

Ran run_fake(Behavior behavior, const std::vector<std::string>& args, const std::string& termination_log) {
  std::ostringstream out;
  std::ostringstream err;
  const int exit_code =
      shardkit::cli::run_app(fake_app(behavior), args, {.out = out, .err = err, .termination_log = termination_log});
  return {exit_code, out.str(), err.str()};
}

FakeResult succeed(const FakeOptions& options, shardkit::Context&) {
  FakeResult result;
  result.samples = options.samples;
  result.text = options.source;
  return result;
}

}  // namespace shardkit_test
