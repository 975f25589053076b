#include <algorithm>
#include <filesystem>
#include <set>

#include <doctest/doctest.h>

#include "dataset/convert/convert.hpp"
#include "dataset/plan/plan.hpp"
#include "dataset/verify/verify.hpp"
#include "net/store_server.hpp"
#include "support/errors.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit_test;

namespace fs = std::filesystem;

/// plan, convert and verify --against with images in a store.
namespace {

using Files = StoreServer::Files;

/// The files below a folder by their paths, without the plan: that knows times or versions.
Files files_below(const std::string& folder) {
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = fs::relative(entry.path(), folder);
    if (entry.is_regular_file() && !name.ends_with(".shardkit/plan")) files[name] = read_file(entry.path());
  }
  return files;
}

/// The same images here, below s3://bucket/photos and http://host/bucket/photos.
struct Images {
  explicit Images(Files images = {{"ant/1.jpg", "first"},
                                  {"ant/1.json", "{}"},
                                  {"ant/deep/2.jpg", "second"},
                                  {"ant/deep/notes.md", "no image"},
                                  {"bee/3.png", "third, which is longer"},
                                  {"bee/4.jpg", ""},
                                  {"bee/.trash/5.jpg", "hidden"},
                                  {"README", "no class"}}) {
    Files stored;
    for (const auto& [path, content] : images) {
      write_file(folder.path("photos/" + path), content);
      stored["bucket/photos/" + path] = content;
    }
    server.emplace(stored);
  }

  ConvertOptions options(const std::string& source, const std::string& target) const {
    ConvertOptions options;
    options.source = source;
    options.target = folder.path(target);
    options.sharding.samples = 2;
    options.sharding.validate = Validate::none;
    options.sharding.access.endpoint_url = server->url();
    options.sharding.access.anonymous = true;
    return options;
  }
  ConvertResult convert(const ConvertOptions& options) const {
    Context context;
    return dataset::convert(options, context);
  }
  ConvertResult convert(const std::string& source, const std::string& target) const {
    return convert(options(source, target));
  }
  void plan(const ConvertOptions& options, const std::string& output) const {
    PlanOptions planning;
    planning.source = options.source;
    planning.output = folder.path(output);
    planning.sharding = options.sharding;
    Context context;
    dataset::plan(planning, context);
  }
  /// The codes of what differs between shards and images.
  std::multiset<std::string> verify(const std::string& shards, const std::string& against,
                                    const ListOptions& list = {}) const {
    VerifyOptions options{.shards = {folder.path(shards)}, .against = against, .images = list};
    options.access.endpoint_url = server->url();
    options.access.anonymous = true;
    Context context;
    std::multiset<std::string> codes;
    for (const Problem& problem : dataset::verify(options, context).problems) {
      if (problem.code.find("source") != std::string::npos || problem.code == "missing_from_shards") {
        codes.insert(problem.code);
      }
    }
    return codes;
  }
  std::size_t requests_for(std::string_view path) const {
    const auto requests = server->requests();
    return static_cast<std::size_t>(
        std::ranges::count_if(requests, [&](const ServedRequest& request) { return request.path() == path; }));
  }
  std::string local() const { return folder.path("photos"); }
  Files shards(const std::string& target) const { return files_below(folder.path(target)); }

  TempDir folder;
  std::optional<StoreServer> server;
};

const std::string kBucket = "s3://bucket/photos";

}  // namespace

TEST_CASE("a tree in a store becomes the very shards of the same tree here") {
  const Images images;
  images.convert(images.local(), "here");
  for (const std::string& source : {kBucket, kBucket + "/"}) {
    CAPTURE(source);
    const std::string target = fmt::format("there-{}", source.size());
    const ConvertResult result = images.convert(source, target);
    CHECK(result.samples == 4);
    CHECK(images.shards(target) == images.shards("here"));
  }
  CHECK(images.requests_for("/bucket/photos/bee/3.png") == 2);  // one for each convert, and no look before
}

TEST_CASE("images that an upload has not all sent yet are refused, also those of several sets") {
  Images images;
  Images sets({{"train/bee/2.jpg", "2"}, {"val/bee/3.jpg", "3"}});
  for (Images* source : {&images, &sets}) {
    source->server->replace("bucket/photos/.shardkit/uploads/upload.json", "{}");
    const Failure failure = failure_of([&] { source->convert(kBucket, "out"); });
    CHECK(failure == ErrorCode::conflict);
    CHECK(failure.says("has not finished"));
  }
}

TEST_CASE("hidden folders in a store are passed over as those here are") {
  const Images images;
  Context context;
  convert(images.options(kBucket, "out"), context);
  REQUIRE(context.warnings().size() == 2);
  CHECK(context.warnings().back().code == "files_ignored");
  CHECK(context.warnings().front().code == "hidden_folder_skipped");
  CHECK(context.warnings().front().text.find("'s3://bucket/photos/bee/.trash'") != std::string::npos);
}

TEST_CASE("train/ and val/ in a store become sets of their own, and a split works there") {
  std::map<std::string, std::string> tree{{"train/bee/2.jpg", "2"}, {"val/ant/3.jpg", "3"}};
  for (int i = 0; i < 9; ++i) tree.emplace(fmt::format("train/ant/{}.jpg", i), "1");
  const Images images(tree);
  CHECK(images.convert(images.local(), "here").sets.size() == 2);
  CHECK(images.convert(kBucket, "there").sets.size() == 2);
  CHECK(images.shards("there") == images.shards("here"));
  for (const auto& [source, target] : {std::pair(images.local() + "/train", "a"), {kBucket + "/train", "b"}}) {
    ConvertOptions options = images.options(source, target);
    options.split = {"one=0.5", "two=0.5"};
    images.convert(options);
  }
  CHECK(images.shards("b") == images.shards("a"));
}

TEST_CASE("a list names images anywhere, also where nothing can be listed") {
  const Images images;
  const std::string web = images.server->url("/bucket/photos/");
  const std::string rows = "path,label\nbee/3.png,7\n{}ant/1.jpg,2\n";
  write_file(images.folder.path("local.csv"), fmt::format(fmt::runtime(rows), ""));
  const auto with_list = [&](const std::string& source, const std::string& target, const std::string& list) {
    ConvertOptions options = images.options(source, target);
    options.sharding.images.list = images.folder.path(list);
    options.sharding.images.label_column = "label";
    return options;
  };
  images.convert(with_list(images.local(), "here", "local.csv"));
  for (const std::string& source : {web, kBucket}) {
    const std::string target = fmt::format("there-{}", source.size());
    write_file(images.folder.path("list.csv"),
               fmt::format(fmt::runtime(rows), source.ends_with('/') ? source : source + '/'));
    images.convert(with_list(source, target, "list.csv"));
    CHECK(images.shards(target) == images.shards("here"));
    const ConvertOptions options = with_list(source, target, "list.csv");
    CHECK(images.verify(target, source, options.sharding.images).empty());
  }
  write_file(images.folder.path("absent.csv"), "path,label\nbee/9.png,7\n");
  CHECK(failure_of([&] { images.convert(with_list(kBucket, "absent", "absent.csv")); }) == ErrorCode::not_found);
  write_file(images.folder.path("foreign.csv"), "path,label\ns3://other/photos/bee/3.png,7\n");
  CHECK(failure_of([&] {
          images.convert(with_list(kBucket, "foreign", "foreign.csv"));
        }).says("is not inside the source 's3://bucket/photos'"));
}

TEST_CASE("a folder behind HTTP needs a list or a plan") {
  const Images images;
  const ConvertOptions options = images.options(images.server->url("/bucket/photos?sig=hidden"), "out");
  for (const auto& attempt :
       std::vector<std::function<void()>>{[&] { images.convert(options); }, [&] { images.plan(options, "plan"); }}) {
    const Failure refused = failure_of(attempt);
    CHECK(refused == ErrorCode::usage);
    CHECK(refused.says("--list"));
    CHECK_FALSE(refused.says("hidden"));
  }
}

TEST_CASE("a plan of a store is followed, wherever the plan lies, and names no secrets") {
  Images images;
  images.plan(images.options(kBucket, ""), "plan");
  const std::string plan = read_file(images.folder.path("plan"));
  CHECK(plan.find("\nobjects\n") != std::string::npos);
  CHECK(plan.find(":@\"v1\"") != std::string::npos);
  images.server->replace("bucket/plans/1", plan);
  images.convert(images.options(images.local(), "here"));
  for (const std::string& path :
       {images.folder.path("plan"), std::string("s3://bucket/plans/1"), images.server->url("/bucket/plans/1")}) {
    ConvertOptions options = images.options(kBucket, fmt::format("there-{}", path.size()));
    options.plan = path;
    options.sharding.samples.reset();
    options.sharding.validate.reset();
    images.convert(options);
    CHECK(images.shards(fmt::format("there-{}", path.size())) == images.shards("here"));
  }
  ConvertOptions elsewhere = images.options(images.local(), "elsewhere");
  elsewhere.plan = images.folder.path("plan");
  elsewhere.sharding.samples.reset();
  elsewhere.sharding.validate.reset();
  CHECK(failure_of([&] { images.convert(elsewhere); }).says("it was an object of a store"));
}

TEST_CASE("an object that changed after the plan is refused as a changed file is") {
  Images images;
  images.plan(images.options(kBucket, ""), "plan");
  const auto fails = [&] {
    ConvertOptions options = images.options(kBucket, "out");
    options.plan = images.folder.path("plan");
    options.sharding.samples.reset();
    options.sharding.validate.reset();
    return failure_of([&] { images.convert(options); });
  };
  images.server->replace("bucket/photos/bee/3.png", "third, which is Longer");
  CHECK(fails() == ErrorCode::conflict);
  CHECK(fails().says("'s3://bucket/photos/bee/3.png' has changed since the plan was made (another version)"));
  images.server->replace("bucket/photos/bee/3.png", "short");
  CHECK(fails().says("(22 bytes then, 5 now)"));
  images.server->erase("bucket/photos/bee/3.png");
  CHECK(fails() == ErrorCode::not_found);
}

TEST_CASE("a convert from a store goes on where it was stopped") {
  Images images;
  images.convert(images.local(), "here");
  ConvertOptions options = images.options(kBucket, "there");
  options.sharding.no_shuffle = true;
  ConvertOptions local = options;
  local.source = images.local();
  local.target = images.folder.path("in-order");
  images.convert(local);
  images.server->refuse("bucket/photos/bee/3.png", 403);
  CHECK(failure_of([&] { images.convert(options); }) == ErrorCode::denied);
  const std::size_t before = images.requests_for("/bucket/photos/ant/1.jpg");
  images.server->refuse("bucket/photos/bee/3.png", 0);
  const ConvertResult result = images.convert(options);
  CHECK(result.shards_reused + result.shards_written == 2);
  CHECK(images.requests_for("/bucket/photos/ant/1.jpg") == before + (result.shards_reused == 0 ? 1 : 0));
  CHECK(images.shards("there") == images.shards("in-order"));

  images.server->replace("bucket/photos/ant/1.jpg", "First");
  CHECK(failure_of([&] { images.convert(options); }) == ErrorCode::conflict);
}

TEST_CASE("shards are compared with images in a store") {
  Images images;
  images.convert(images.local(), "out");
  CHECK(images.verify("out", kBucket).empty());
  images.server->replace("bucket/photos/ant/1.jpg", "First");
  images.server->replace("bucket/photos/bee/3.png", "short");
  images.server->erase("bucket/photos/ant/deep/2.jpg");
  images.server->replace("bucket/photos/bee/6.jpg", "new");
  const std::multiset<std::string> codes = images.verify("out", kBucket);
  CHECK(codes.count("differs_from_source") == 2);
  CHECK(codes.count("not_in_source") == 2);  // the image and its label
  CHECK(codes.count("missing_from_shards") == 1);
  CHECK(codes.size() == 5);
  CHECK(failure_of([&] { images.verify("out", images.server->url("/bucket/photos")); }) == ErrorCode::usage);
}

TEST_CASE("names in a store that cannot be files are refused") {
  for (const char* name : {"ant/a//b.jpg", "ant/../b.jpg"}) {
    Images images;
    images.server->replace(fmt::format("bucket/photos/{}", name), "x");
    CHECK(failure_of([&] { images.convert(kBucket, "out"); }) == ErrorCode::unsupported);
  }
}
