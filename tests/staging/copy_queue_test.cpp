#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "staging/copy_support.hpp"
#include "staging/stage_copier.hpp"

using namespace shardkit;
using namespace shardkit::staging;

namespace {

using As = CopyQueue::Opened::As;

/// Files of ten bytes each, that are opened as a test wants.
struct QueueFixture {
  explicit QueueFixture(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) fixtures.push_back(std::make_unique<CopyFixture>("0123456789"));
  }

  CopyQueue::Opened open(std::size_t number) {
    ++opened[number];
    if (elsewhere.contains(number) && elsewhere[number]-- > 0) return {As::elsewhere, {}};
    if (in_place.contains(number)) return {As::in_place, {}};
    return {As::copy, fixtures[number]->open()};
  }

  CopyQueue queue() {
    return CopyQueue(fixtures.size(), {[this](std::size_t number) { return open(number); }, [this] { ++waits; }});
  }

  /// Does all the work of a queue as one worker; returns the ranges in order.
  std::vector<ByteRange> drain(CopyQueue& queue, std::uint64_t longest) {
    std::vector<ByteRange> ranges;
    std::shared_ptr<FileCopy> last;
    while (auto work = queue.next(last, longest, {})) {
      ranges.push_back(work->range);
      if (fixtures[0]->deliver(*work->copy, work->range)) queue.finished(work->copy);
      last = work->copy;
    }
    return ranges;
  }

  std::vector<std::unique_ptr<CopyFixture>> fixtures;
  std::map<std::size_t, int> opened;
  std::map<std::size_t, int> elsewhere;
  std::map<std::size_t, int> in_place;
  int waits = 0;
};

}  // namespace

TEST_CASE("a worker stays with its file, then takes the next") {
  QueueFixture fixture(2);
  CopyQueue queue = fixture.queue();
  CHECK(fixture.drain(queue, 4) == std::vector<ByteRange>{{0, 4}, {4, 8}, {8, 10}, {0, 4}, {4, 8}, {8, 10}});
}

TEST_CASE("files that are in place are no work") {
  QueueFixture fixture(3);
  fixture.in_place = {{0, 1}, {2, 1}};
  CopyQueue queue = fixture.queue();
  CHECK(fixture.drain(queue, 100) == std::vector<ByteRange>{{0, 10}});
}

TEST_CASE("without an unopened file a worker helps with one that is open") {
  QueueFixture fixture(1);
  CopyQueue queue = fixture.queue();
  const auto mine = queue.next(nullptr, 4, {});
  const auto help = queue.next(nullptr, 4, {});
  REQUIRE(mine);
  REQUIRE(help);
  CHECK(mine->copy == help->copy);
  CHECK(help->range == ByteRange{4, 8});
}

TEST_CASE("what another process has is looked at again until it is there or that process is gone") {
  QueueFixture fixture(2);
  fixture.elsewhere = {{0, 2}};
  CopyQueue queue = fixture.queue();
  CHECK(fixture.drain(queue, 100) == std::vector<ByteRange>{{0, 10}, {0, 10}});
  CHECK(fixture.opened[0] == 3);
  CHECK(fixture.waits >= 1);
}

TEST_CASE("a worker with nothing to do waits for a file that starts over") {
  QueueFixture fixture(1);
  CopyQueue queue = fixture.queue();
  const auto work = queue.next(nullptr, 100, {});
  std::jthread other([&] {
    const auto again = queue.next(nullptr, 100, {});
    REQUIRE(again);
    if (fixture.fixtures[0]->deliver(*again->copy, again->range)) queue.finished(again->copy);
  });
  work->copy->mark_outdated();
  CHECK(work->copy->release(work->range, 0));
  work->copy->start_over({"x.bin", 10, "v2"});
  queue.wake();
  other.join();
  CHECK_FALSE(queue.next(nullptr, 100, {}));
  CHECK(queue.unfinished().empty());
}

TEST_CASE("a stop ends the waiting, and tells what is unfinished") {
  QueueFixture fixture(1);
  CopyQueue queue = fixture.queue();
  std::stop_source stop;
  const auto work = queue.next(nullptr, 100, stop.get_token());
  stop.request_stop();
  CHECK_THROWS_AS(queue.next(nullptr, 100, stop.get_token()), Error);
  CHECK(queue.unfinished().size() == 1);
}
