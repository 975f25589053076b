// Two commands write to one prefix of a bucket at the same time, and one of them may be stopped: no object of others is
// replaced, nothing stays open, and one of the two makes the set that it makes on a disk.

#include <array>
#include <functional>
#include <map>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "core/prng.hpp"
#include "dataset/bucket/store_files.hpp"
#include "dataset/convert/convert.hpp"
#include "dataset/reshard/reshard.hpp"
#include "dataset/upload/upload.hpp"
#include "net/bucket_server.hpp"
#include "support/errors.hpp"
#include "support/image_tree.hpp"
#include "support/soak.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit_test;

namespace {

/// A command that makes a set, and the files of the same set on a disk.
struct Writer {
  std::string name;
  std::map<std::string, std::string> expected;
  std::function<void(BucketServer&, Context&)> run;
};

ConvertOptions convert_options(const ImageTree& tree, std::uint64_t samples) {
  ConvertOptions options;
  options.source = tree.root;
  options.sharding.samples = samples;
  options.threads = 1;
  return options;
}

/// Files that convert and upload have in common: the plan and MD5s stay where they are.
bool is_staged(const std::string& name) { return name != ".shardkit/plan" && !name.ends_with(".md5"); }

class Writers {
 public:
  Writers() {
    tree_.make();
    for (const std::uint64_t samples : {20, 30}) add_convert(samples);
    add_reshard();
    for (const char* set : {"convert 20", "convert 30"}) add_upload(set);
  }
  const std::vector<Writer>& all() const { return writers_; }

 private:
  static constexpr StoreMemory kMemory{.part_bytes = 100'000, .sent_parts = 2};

  std::string set_on_disk(const std::string& name) const { return dir_.path(name); }

  void add_convert(std::uint64_t samples) {
    const std::string name = "convert " + std::to_string(samples);
    ConvertOptions options = convert_options(tree_, samples);
    options.target = set_on_disk(name);
    Context context;
    convert(options, context);
    writers_.push_back({name, tree_content(options.target), [=](BucketServer& server, Context& running) mutable {
                          StoreFiles files(server.store("set"), running, kMemory);
                          options.target = files.location();
                          convert_on(files, options, running);
                        }});
  }

  void add_reshard() {
    ReshardOptions options;
    options.inputs = {set_on_disk("convert 20")};
    options.target = set_on_disk("reshard");
    options.sizes.samples = 25;
    Context context;
    reshard(options, context);
    writers_.push_back({"reshard", tree_content(options.target), [=](BucketServer& server, Context& running) mutable {
                          StoreFiles files(server.store("set"), running, kMemory);
                          options.target = files.location();
                          reshard_on(files, options, running);
                        }});
  }

  void add_upload(const std::string& set) {
    Writer writer{"upload of " + set, tree_content(set_on_disk(set)),
                  [folder = set_on_disk(set)](auto& server, auto& running) {
                    UploadOptions options;
                    options.part_bytes = 100'000;
                    options.concurrency = 2;
                    staging::StageRequest wanted;
                    wanted.manifest_name = "manifest.json";
                    upload_to(*server.store("set"), *io::open_object_source(folder), wanted, options, running);
                  }};
    std::erase_if(writer.expected, [](const auto& file) { return !is_staged(file.first); });
    writers_.push_back(std::move(writer));
  }

  TempDir dir_;
  ImageTree tree_{.root = dir_.path("src"), .largest = 20'000};
  std::vector<Writer> writers_;
};

std::map<std::string, std::string> content_of(const BucketServer& server) {
  std::map<std::string, std::string> content;
  for (const auto& [key, object] : server.objects()) content[key.substr(4)] = object.bytes;
  return content;
}

/// Runs both at the same time, the first until it is stopped at request `stop_at`. True for those that succeed.
std::array<bool, 2> run_both(BucketServer& server, const Writer& one, const Writer& two, std::uint64_t stop_at) {
  std::stop_source stop;
  server.set_fault([&, requests = std::uint64_t{0}](const ServedRequest&) mutable {
    if (++requests == stop_at) stop.request_stop();
    return WriteFault::none;
  });
  std::array<bool, 2> is_done{};
  {
    Context stopped(stop.get_token());
    std::jthread first([&] { is_done[0] = !failure_of([&] { one.run(server, stopped); }).failed; });
    Context context;
    is_done[1] = !failure_of([&] { two.run(server, context); }).failed;
  }
  server.set_fault({});
  return is_done;
}

}  // namespace

TEST_CASE("of two commands that write to one prefix, one makes its set, nothing is replaced, and nothing stays open") {
  const Writers writers;
  const std::uint64_t first = test_seed();
  for (std::uint64_t seed = first; seed < first + tries(12, 500); ++seed) {
    Prng random(seed);
    const Writer& one = writers.all().at(random.below(writers.all().size()));
    const Writer& two = writers.all().at(random.below(writers.all().size()));
    const std::uint64_t stop_at = random.below(2) == 0 ? 1 + random.below(60) : 0;
    BucketServer server;
    server.conditions = random.below(2) == 0 ? Conditions::work : Conditions::ignored_for_uploads;
    if (random.below(2) == 0) server.checksums = {};
    CAPTURE(seed);
    CAPTURE(one.name);
    CAPTURE(two.name);
    CAPTURE(stop_at);
    std::array<bool, 2> is_done = run_both(server, one, two, stop_at);
    for (const auto& [writer, done] : {std::pair(&one, &is_done[0]), {&two, &is_done[1]}}) {
      Context context;
      if (!*done) *done = !failure_of([&] { writer->run(server, context); }).failed;
    }
    CHECK((is_done[0] || is_done[1]));
    auto content = content_of(server);
    auto others = content;
    for (const auto& [writer, done] : {std::pair(&one, is_done[0]), {&two, is_done[1]}}) {
      if (!done) continue;
      for (const auto& [name, bytes] : writer->expected) {
        CHECK(content[name] == bytes);
        others.erase(name);
      }
    }
    std::string left;
    for (const auto& [name, bytes] : others) left += name + " ";
    CHECK(left == "");
    CHECK(server.open_uploads() == 0);
    CHECK(server.replaced() == std::set<std::string>());
  }
}
