#include <doctest/doctest.h>

#include "bench/pipeline/batch.hpp"
#include "bench/pipeline/sample_source.hpp"

using namespace shardkit;
using namespace shardkit::bench;

namespace {

std::vector<std::unique_ptr<BatchMemory>> memories(std::size_t count, std::size_t bytes) {
  std::vector<std::unique_ptr<BatchMemory>> made;
  const auto sink = host_sink();
  for (std::size_t i = 0; i < count; ++i) made.push_back(sink->make_memory(bytes));
  return made;
}

}  // namespace

TEST_CASE("a batch is passed on when its last slot is filled, in whatever order that happens") {
  const auto memory = memories(2, 3 * 4);
  BatchBuilder builder(memory, 3, 4);
  std::vector<BatchSlot> slots;
  for (int i = 0; i < 3; ++i) slots.push_back(*builder.take_slot({}));
  CHECK(slots[0].batch == slots[2].batch);
  CHECK(slots[1].sample.data() == slots[0].sample.data() + 4);
  CHECK(slots[2].sample.size() == 4);
  builder.fill(slots[2], {});
  builder.fill(slots[0], {});
  builder.fill(slots[1], {});
  const auto batch = builder.next({});
  REQUIRE(batch);
  CHECK(batch->batch == slots[0].batch);
  CHECK(batch->samples == 3);
}

TEST_CASE("a batch that is begun later may be finished earlier") {
  const auto memory = memories(2, 1);
  BatchBuilder builder(memory, 1, 1);
  const BatchSlot first = *builder.take_slot({});
  const BatchSlot second = *builder.take_slot({});
  builder.fill(second, {});
  CHECK(builder.next({})->batch == second.batch);
  builder.fill(first, {});
  CHECK(builder.next({})->batch == first.batch);
}

TEST_CASE("memory goes round: a slot waits until a batch was given back") {
  const auto memory = memories(1, 1);
  BatchBuilder builder(memory, 1, 1);
  const BatchSlot slot = *builder.take_slot({});
  builder.fill(slot, {});
  std::stop_source stop;
  stop.request_stop();
  CHECK_FALSE(builder.take_slot(stop.get_token()));
  builder.give_back(builder.next({})->batch);
  CHECK(builder.take_slot({})->batch == slot.batch);
}

TEST_CASE("what does not fill the last batch is a short one") {
  const auto memory = memories(2, 4);
  BatchBuilder builder(memory, 4, 1);
  for (int i = 0; i < 6; ++i) builder.fill(*builder.take_slot({}), {});
  builder.close({});
  CHECK(builder.next({})->samples == 4);
  CHECK(builder.next({})->samples == 2);
  CHECK_FALSE(builder.next({}));
}

TEST_CASE("a builder that got nothing ends with nothing") {
  const auto memory = memories(1, 1);
  BatchBuilder builder(memory, 1, 1);
  builder.close({});
  CHECK_FALSE(builder.next({}));
}

TEST_CASE("tickets are taken one by one, and none once closed or stopped") {
  Tickets tickets;
  tickets.add(2);
  CHECK(tickets.take({}));
  std::stop_source stop;
  stop.request_stop();
  CHECK_FALSE(tickets.take(stop.get_token()));
  CHECK(tickets.take({}));
  tickets.add(1);
  tickets.close();
  CHECK_FALSE(tickets.take({}));
}
