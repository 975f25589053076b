/// A bucket for tests in Python, called "bucket", which needs no keys: prints its address and serves until the end of
/// standard input. Lines there are commands:
///   hold N done|open   the N-th request from now that writes is not answered, and neither are later ones of
///   connections
///                      that are open by then; with `done` it is performed. Prints "held" then
///   go                 none is held any more
///   later SECONDS      the bucket's clock, which stands still, goes on
///   forget             the requests so far need no memory any more

#include <algorithm>
#include <chrono>
#include <iostream>
#include <mutex>
#include <sstream>
#include <string>

#include "net/bucket_server.hpp"

int main() {
  using shardkit_test::WriteFault;
  shardkit_test::BucketServer server;
  std::mutex mutex;
  long left = 0;  // until a request is held; 0: none will be
  bool is_done = false;
  bool is_held = false;
  int newest = 0;  // connection
  server.set_fault([&](const shardkit_test::ServedRequest& request) {
    const std::scoped_lock lock(mutex);
    if (is_held) return request.connection > newest ? WriteFault::none : WriteFault::hung;
    newest = std::max(newest, request.connection);
    if (left == 0 || --left > 0) return WriteFault::none;
    is_held = true;
    std::cout << "held" << std::endl;
    return is_done ? WriteFault::silent : WriteFault::hung;
  });
  std::cout << server.url() << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    const std::scoped_lock lock(mutex);
    if (command == "hold") {
      std::string how;
      words >> left >> how;
      is_done = how == "done";
      is_held = false;
    } else if (command == "go") {
      left = 0;
      is_held = false;
    } else if (command == "later") {
      long seconds = 0;
      words >> seconds;
      server.clock().advance(std::chrono::seconds(seconds));
    } else if (command == "forget") {
      server.forget_requests();
    }
    std::cout << "ok" << std::endl;
  }
}
