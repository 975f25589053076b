#include "bench/read/store_read.hpp"

#include <chrono>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "bench/store/store_data.hpp"
#include "net/store_server.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::net;
using namespace shardkit::test;
using namespace shardkit_test;

TEST_CASE("each level has a rate and a time to the first byte; the figures of the result are those of the knee") {
  const FaultyStore server(200'000);
  const ReadResult result = read_quietly(store_options(server.url("/a.tar")));
  REQUIRE(result.store);
  const StoreReport& store = *result.store;
  REQUIRE(store.levels.size() == 2);
  CHECK(store.levels[0].connections == 1);
  CHECK(store.levels[1].connections == 2);
  for (const StoreLevel& level : store.levels) {
    CHECK(level.bytes_per_second > 0);
    CHECK(level.bytes_per_second_per_connection * static_cast<double>(level.connections) ==
          doctest::Approx(level.bytes_per_second));
    CHECK(level.requests > 0);
    CHECK(*level.ttfb_p99 >= *level.ttfb_p50);
    CHECK(level.retries == 0);
  }
  CHECK(store.set_bytes == 200'000);
  CHECK(store.best_bytes_per_second >= result.bytes_per_second);
  CHECK(store.cpu_seconds_per_gb > 0);
  CHECK(result.threads == store.knee_connections);
  CHECK(result.bytes_per_second == doctest::Approx(static_cast<double>(result.bytes) / result.read_seconds));
  CHECK(result.latency.p50 >= store.ttfb->p50);
  CHECK(result.engine == "http");
  CHECK(result.files == 1);
  CHECK_FALSE(result.samples);
  CHECK_FALSE(result.samples_per_second);
  CHECK_FALSE(store.streaming);
  CHECK_FALSE(result.has_findings());
}

TEST_CASE("what servers cache is said to be unknown, and so is that a small set was read more than once") {
  const FaultyStore server(200'000);
  const ReadResult result = read_quietly(store_options(server.url("/a.tar")));
  CHECK(result.cache.state == CacheState::client_cold);
  CHECK_FALSE(result.cache.residency_before_ratio);
  CHECK(has_hint(result, "cannot be made cold"));
  CHECK(has_hint(result, "requested repeatedly"));
}

TEST_CASE("a server that thinks for 50 ms has a time to the first byte of no less") {
  const FaultyStore server(200'000, [](const ServedRequest&, ServerConnection&, int) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return false;
  });
  ReadOptions options = store_options(server.url("/a.tar"));
  options.budget = 2;
  const ReadResult result = read_quietly(options);
  for (const StoreLevel& level : result.store->levels) {
    REQUIRE(level.ttfb_p50);
    CHECK(*level.ttfb_p50 >= 0.0495);  // a histogram's bucket is 1 % wide
  }
}

TEST_CASE("objects of a server without ranges are read whole, and the result says so") {
  FaultyStore* store = nullptr;
  FaultyStore server(200'000, [&](const ServedRequest&, ServerConnection& connection, int) {
    store->give_whole(connection);
    return true;
  });
  store = &server;
  const ReadResult result = read_quietly(store_options(server.url("/a.tar")));
  CHECK(result.store->objects_without_ranges == 1);
  CHECK(result.bytes_per_second > 0);
  CHECK(has_hint(result, "came whole"));
}

TEST_CASE("requests that the server asks to send later are counted") {
  const FaultyStore server(200'000, [](const ServedRequest&, ServerConnection& connection, int number) {
    if (number % 3 != 2) return false;
    connection.answer(503, "", "");
    return true;
  });
  Context context;
  const ReadResult result = read_impatiently(server, {{"a.tar", 200'000, ""}}, context);
  CHECK(result.bytes_per_second > 0);
  CHECK(result.store->throttled > 0);
  CHECK(result.store->retries >= result.store->throttled);
  CHECK(has_hint(result, "the store was busy"));
}

TEST_CASE("a server that never gives anything is an error that says why") {
  const FaultyStore server(200'000, [](const ServedRequest&, ServerConnection& connection, int) {
    connection.answer(503, "", "");
    return true;
  });
  Context context;
  RetryCount retries;
  StoreOptions options;
  options.retry.on_retry = [&](const RetryEvent& event) { retries.note(event); };
  const std::shared_ptr<shardkit::io::ObjectSource> source = StoreOpener(options).open(server.url());
  try {
    read_objects(of_source(source, {{"a.tar", 200'000, ""}}), "store", retries, store_options(""), context);
    FAIL("nothing came, and that is no error");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::network);
    CHECK(std::string(error.what()).find("503") != std::string::npos);
  }
}

TEST_CASE("objects that go meanwhile are left out with a warning") {
  const FaultyStore server(200'000, [](const ServedRequest& request, ServerConnection& connection, int) {
    if (request.path() != "/gone.tar") return false;
    connection.answer(404, "", "");
    return true;
  });
  Context context;
  const ReadResult result = read_impatiently(server, {{"gone.tar", 200'000, ""}, {"stays.tar", 200'000, ""}}, context);
  CHECK(result.store->objects_changed == 1);
  CHECK(has_warning(context, "objects_changed"));
  CHECK(error_code_of([&] { read_impatiently(server, {{"gone.tar", 200'000, ""}}, context); }) == ErrorCode::not_found);
}

TEST_CASE("with a requirement the verdict is to stream or to stage, and staging is a finding") {
  const FaultyStore server(200'000);
  ReadOptions options = store_options(server.url("/a.tar"));
  options.required_rate = 1;
  const ReadResult fast = read_quietly(options);
  CHECK(fast.store->streaming->verdict == StreamOrStage::stream);
  CHECK_FALSE(fast.has_findings());
  options.required_rate = 1e15;
  const ReadResult slow = read_quietly(options);
  CHECK(slow.store->streaming->verdict == StreamOrStage::stage);
  CHECK(*slow.store->streaming->break_even_epochs >= 1);
  CHECK(slow.has_findings());
}

TEST_CASE("options of local files are refused for a store, those of a store for local files") {
  const auto store = [](auto change) {
    ReadOptions options = store_options("http://127.0.0.1:1/a.tar");
    change(options);
    return code_of(options);
  };
  CHECK(store([](auto& o) { o.mode = ReadMode::random; }) == ErrorCode::usage);
  CHECK(store([](auto& o) { o.engine = io::EngineKind::pread; }) == ErrorCode::usage);
  CHECK(store([](auto& o) { o.direct = true; }) == ErrorCode::usage);
  CHECK(store([](auto& o) { o.depth = 4; }) == ErrorCode::usage);
  CHECK(store([](auto& o) { o.min_time = 4; }) == ErrorCode::usage);
  CHECK(store([](auto& o) { o.cache = CacheRequest::cold; }) == ErrorCode::usage);
  CHECK(store([](auto& o) { o.cache = CacheRequest::warm; }) == ErrorCode::usage);
  CHECK(store([](auto& o) { o.samples = 5; }) == ErrorCode::usage);
  CHECK(store([](auto& o) { o.threads = 0; }) == ErrorCode::usage);
  CHECK(store([](auto& o) { o.threads = 5000; }) == ErrorCode::usage);
  CHECK(store([](auto& o) { o.budget = 0.5; }) == ErrorCode::usage);
  CHECK(store([](auto& o) { o.block = 0; }) == ErrorCode::usage);
  CHECK(store([](auto& o) { o.sample_bytes = 8; }) == ErrorCode::usage);
  const ShardFolder folder;
  write_shards(folder);
  const auto local = [&](auto change) {
    ReadOptions options = read_options(folder.path());
    change(options);
    return code_of(options);
  };
  CHECK(local([](auto& o) { o.required_rate = 5; }) == ErrorCode::usage);
  CHECK(local([](auto& o) { o.access.anonymous = true; }) == ErrorCode::usage);
  CHECK(local([](auto& o) { o.access.region = "eu"; }) == ErrorCode::usage);
  CHECK(local([](auto& o) { o.paths.emplace_back("s3://bucket/x"); }) == ErrorCode::usage);
}

TEST_CASE("a bucket's shards are measured by a prefix, which is listed") {
  const StoreServer server{{"bucket/train/a.tar", std::string(5000, 'a')},
                           {"bucket/train/b.tar", std::string(3000, 'b')},
                           {"bucket/train/a.idx", "index"}};
  ReadOptions options = store_options("s3://bucket/train");
  options.access.endpoint_url = server.url();
  options.access.anonymous = true;
  const ReadResult result = read_quietly(options);
  CHECK(result.files == 2);
  CHECK(result.store->set_bytes == 8000);
  CHECK(result.store->location == "s3://bucket/train");
  CHECK(result.storage.source == "s3://bucket/train");
}

TEST_CASE("what is not there, no address that is read, or stopped is a clear error") {
  const StoreServer server{{"bucket/a.tar", "a"}};
  CHECK(code_of(store_options(server.url("/bucket/b.tar"))) == ErrorCode::not_found);
  CHECK(code_of(store_options("abfs://bucket/x")) == ErrorCode::unsupported);
  std::stop_source stop;
  stop.request_stop();
  Context context(stop.get_token());
  CHECK(error_code_of([&] { read(store_options(server.url("/bucket/a.tar")), context); }) == ErrorCode::cancelled);
}

TEST_CASE("a level at which no request ended is not steady") {
  const FaultyStore server(200'000, [](const ServedRequest&, ServerConnection& connection, int) {
    connection.answer(503, "", "");
    return true;
  });
  Context context;
  RetryCount retries;
  StoreOptions options;
  options.retry.on_retry = [&](const RetryEvent& event) { retries.note(event); };
  const std::shared_ptr<shardkit::io::ObjectSource> source = StoreOpener(options).open(server.url());
  StoreRequests requests(of_source(source, {{"a.tar", 200'000, ""}}), 64U << 10U, 0);
  const LevelTimes times{.warm_up = 0.1, .least = 0.2, .most = 0.3, .ending = 0.1};
  const LevelMeasurement measured = measure_level(requests, retries, 2, times, context);
  CHECK(measured.level.requests == 0);
  CHECK(measured.level.steady == false);
}
