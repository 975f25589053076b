#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "core/prng.hpp"
#include "dataset/bucket/store_files.hpp"
#include "dataset/convert/convert.hpp"
#include "dataset/reshard/reshard.hpp"
#include "dataset/upload/upload.hpp"
#include "io/file_system.hpp"
#include "io/object_source.hpp"
#include "net/bucket_server.hpp"
#include "support/errors.hpp"
#include "support/image_tree.hpp"
#include "support/soak.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit_test;

namespace {

using Files = std::map<std::string, std::string>;  // content by name

/// A command that writes a set to a prefix, and the set as it is on disk.
struct Writer {
  std::function<void(BucketServer&, Context&)> run;
  Files set;
};

/// Two trees of the same names with other bytes, and what convert, reshard and upload make of them.
class Writers {
 public:
  Writers() {
    for (const std::uint64_t largest : {30'000, 29'000}) {
      const std::string tree = dir_.path(std::to_string(largest));
      ImageTree{.root = tree, .classes = 2, .per_class = 8, .largest = largest}.make();
      add_convert(tree, 7, tree + "-of-7");
      add_convert(tree, 4, tree + "-of-4");
      add_upload(tree + "-of-4");
      add_reshard(tree + "-of-4");
    }
  }

  const Writer& pick(Prng& prng) const { return all_.at(prng.next() % all_.size()); }

 private:
  static constexpr StoreMemory kMemory{.part_bytes = 1 << 16, .sent_parts = 2};  // some shards have several parts

  void add_convert(const std::string& tree, std::uint64_t samples, const std::string& set) {
    ConvertOptions options;
    options.source = tree;
    options.sharding.samples = samples;
    options.threads = 2;
    add_made(options, set, convert_on);
  }

  void add_reshard(const std::string& set) {
    ReshardOptions options;
    options.inputs = {set};
    options.sizes.samples = 5;
    options.shuffle = 7;
    add_made(options, set + "-again", reshard_on);
  }

  /// Makes the set on a disk, so that it is known, and adds the command that makes it in a bucket.
  template <class Options, class RunOn>
  void add_made(Options options, const std::string& set, const RunOn& run_on) {
    options.target = set;
    Context context;
    run_on(*io::posix_file_system(), options, context);
    all_.push_back({[options, run_on](BucketServer& server, Context& run) {
                      StoreFiles files(server.store("set"), run, kMemory);
                      Options there = options;
                      there.target = files.location();
                      run_on(files, there, run);
                    },
                    tree_content(set)});
  }

  /// upload sends what the manifest lists, and not the plan.
  void add_upload(const std::string& set) {
    Files sent = tree_content(set);
    sent.erase(".shardkit/plan");
    all_.push_back({[set](BucketServer& server, Context& run) {
                      const auto source = io::open_object_source(set);
                      const auto store = server.store("set");
                      UploadOptions options;
                      options.part_bytes = kMemory.part_bytes;
                      options.concurrency = 2;
                      staging::StageRequest wanted;
                      wanted.manifest_name = "manifest.json";
                      upload_to(*store, *source, wanted, options, run);
                    },
                    std::move(sent)});
  }

  TempDir dir_;
  std::vector<Writer> all_;
};

/// What of `set` the prefix lacks or has otherwise.
std::set<std::string> wrong_in(const BucketServer& server, const Files& set) {
  const auto objects = server.objects();
  std::set<std::string> wrong;
  for (const auto& [name, bytes] : set) {
    const auto found = objects.find("set/" + name);
    if (found == objects.end() || found->second.bytes != bytes) wrong.insert(name);
  }
  return wrong;
}

void clean(BucketServer& server) {
  server.clock().advance(std::chrono::hours(1));
  UploadOptions options;
  options.older_than_seconds = 0;
  Context context;
  clean_uploads(*server.store("set"), options, context);
}

}  // namespace

TEST_CASE("of two commands that write to one prefix at once, each that ends well has its set, and nothing stays open") {
  const Writers writers;
  for (std::uint64_t seed = 0; seed < tries(24, 500); ++seed) {
    CAPTURE(seed);
    Prng prng(seed);
    BucketServer server;
    if (prng.next() % 2 == 0) server.checksums = {};
    if (prng.next() % 3 == 0) server.conditions = Conditions::unknown;
    const std::array chosen{&writers.pick(prng), &writers.pick(prng)};
    // A stop after some requests of both stands for a command that is interrupted.
    const std::uint64_t stop_at = prng.next() % 3 == 0 ? prng.next() % 120 : ~0ULL;
    std::stop_source stop;
    server.set_fault([&, requests = std::uint64_t{0}](const ServedRequest&) mutable {
      if (requests++ == stop_at) stop.request_stop();
      return WriteFault::none;
    });
    std::array<Failure, 2> failures;
    {
      std::jthread first([&] {
        Context context(stop.get_token());
        failures[0] = failure_of([&] { chosen[0]->run(server, context); });
      });
      std::this_thread::sleep_for(std::chrono::microseconds(prng.next() % 20'000));
      Context context;
      failures[1] = failure_of([&] { chosen[1]->run(server, context); });
    }
    CHECK(server.replaced().empty());
    for (std::size_t i = 0; i < 2; ++i) {
      CAPTURE(i);
      CAPTURE(failures[i].text);
      if (!failures[i].failed) CHECK(wrong_in(server, chosen[i]->set).empty());
      if (failures[i].failed) {
        CHECK((failures[i] == ErrorCode::in_use || failures[i] == ErrorCode::conflict ||
               failures[i] == ErrorCode::cancelled));
      }
    }
    if (stop_at == ~0ULL) CHECK((!failures[0].failed || !failures[1].failed));
    if (stop_at == ~0ULL) CHECK(server.open_uploads() == 0);
    clean(server);
    CHECK(server.open_uploads() == 0);
  }
}
