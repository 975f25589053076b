#include <vector>

#include <doctest/doctest.h>

#include "staging/copy_support.hpp"
#include "staging/stage_copier.hpp"

using namespace shardkit;
using namespace shardkit::staging;

TEST_CASE("small files are committed in batches, and what is left by flush") {
  CopyFixture fixture("0123456789");
  const auto copy = fixture.open();
  std::vector<std::size_t> batches;
  SmallFiles small(256, [&](const std::vector<CopiedFile>& batch) { batches.push_back(batch.size()); });
  for (int i = 0; i < 600; ++i) small.add({copy, {}});
  CHECK(batches == std::vector<std::size_t>{256, 256});
  small.flush();
  CHECK(batches == std::vector<std::size_t>{256, 256, 88});
  small.flush();
  CHECK(batches.size() == 3);
}

TEST_CASE("an old batch is committed although it is not full") {
  CopyFixture fixture("0123456789");
  std::size_t committed = 0;
  SmallFiles small(256, [&](const std::vector<CopiedFile>& batch) { committed += batch.size(); });
  small.add({fixture.open(), {}});
  small.flush(std::chrono::hours(1));
  CHECK(committed == 0);
  small.flush(std::chrono::milliseconds(0));
  CHECK(committed == 1);
}
