#include <doctest/doctest.h>

#include "net/http_client.hpp"

using namespace shardkit;
using namespace shardkit::net;
using namespace shardkit::system;

TEST_CASE("a connection is dead when next to nothing came while it was waited for") {
  StallWatch watch({1, Seconds(30)});
  watch.on_bytes(100);
  for (int i = 0; i < 29; ++i) CHECK_FALSE(watch.waited(Seconds(1)));
  CHECK_FALSE(watch.waited(Seconds(1)));  // the window's end; it had its bytes
  watch.on_bytes(29);
  CHECK(watch.waited(Seconds(30)));
}

TEST_CASE("a connection that stops after many bytes is dead a window and a quarter later") {
  StallWatch watch({1, Seconds(32)});
  for (int i = 0; i < 100; ++i) {
    watch.on_bytes(1000);
    CHECK_FALSE(watch.waited(Seconds(1)));
  }
  int seconds = 0;
  while (!watch.waited(Seconds(1))) ++seconds;
  CHECK(seconds >= 31);
  CHECK(seconds <= 40);
}

TEST_CASE("less than 1 KiB/s for 30 s is a dead connection, unless something else is set") {
  StallWatch watch(HttpOptions().stall);
  for (int i = 0; i < 30; ++i) {
    CHECK_FALSE(watch.waited(Seconds(1)));
    watch.on_bytes(1100);
  }
  int seconds = 0;
  do {
    watch.on_bytes(1000);
    ++seconds;
  } while (!watch.waited(Seconds(1)));
  CHECK(seconds <= 40);
}

TEST_CASE("time in which nobody waited does not count") {
  StallWatch watch({1, Seconds(30)});
  CHECK_FALSE(watch.waited(Seconds(29)));
  watch.on_bytes(30);
  CHECK_FALSE(watch.waited(Seconds(1)));
}
