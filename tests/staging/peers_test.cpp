#include "staging/peers.hpp"

#include <functional>
#include <string>

#include <doctest/doctest.h>

#include "core/error.hpp"

namespace {

using namespace shardkit;

/// One file "x", of which each request gets at most `most` bytes before `fail` is called.
class OneFile final : public io::ObjectSource {
 public:
  OneFile(std::string location, std::string content) : location_(std::move(location)), content_(std::move(content)) {}

  const std::string& location() const override { return location_; }
  std::vector<io::ObjectInfo> list(const std::string& /*folder*/) override { return {}; }
  std::vector<std::string> names_in(const std::string& /*folder*/) override { return {}; }
  std::optional<io::ObjectInfo> find(const std::string& name) override {
    return io::ObjectInfo{name, content_.size(), {}};
  }
  io::Fetched fetch(const io::ObjectInfo& /*object*/, std::uint64_t offset, std::uint64_t length,
                    const BodyWriter& write, const std::stop_token& /*stop*/) override {
    ++requests;
    const std::uint64_t bytes = std::min(length, most);
    if (bytes > 0) write(as_bytes(std::string_view(content_).substr(offset, bytes)));
    sent += bytes;
    return bytes < length ? fail() : io::Fetched::whole;
  }
  io::Fetched fetch_whole(const io::ObjectInfo& /*object*/, const std::function<BodyWriter()>& /*start*/,
                          const std::stop_token& /*stop*/) override {
    return io::Fetched::whole;
  }

  std::uint64_t most = ~0ULL;
  std::function<io::Fetched()> fail = [] { return io::Fetched::changed; };
  unsigned requests = 0;
  std::uint64_t sent = 0;

 private:
  std::string location_;
  std::string content_;
};

const staging::StageFile kListed{{"x", 10, {}}, Hash128{}, {}};
const staging::StageFile kUnlisted{{"notes.txt", 10, "v1"}, {}, {}};

struct Fixture {
  explicit Fixture(std::size_t count, const std::string& content = "0123456789") : store("store", content) {
    std::vector<std::unique_ptr<io::ObjectSource>> opened;
    for (std::size_t i = 0; i < count; ++i) {
      auto peer = std::make_unique<OneFile>("peer" + std::to_string(i), content);
      peers.push_back(peer.get());
      opened.push_back(std::move(peer));
    }
    copies = std::make_unique<staging::Peers>(std::move(opened), context);
  }

  std::string fetch(std::uint64_t offset, std::uint64_t length, const staging::StageFile& file = kListed) {
    std::string got;
    const auto write = [&](Bytes bytes) { got += as_text(bytes); };
    CHECK(copies->fetch(store, file, {offset, offset + length}, write, {}) == io::Fetched::whole);
    return got;
  }

  Context context;
  OneFile store;
  std::vector<OneFile*> peers;
  std::unique_ptr<staging::Peers> copies;
};

io::Fetched refuse() { throw Error(ErrorCode::network, "connection refused"); }

}  // namespace

TEST_CASE("bytes come from a peer, and none from the source") {
  Fixture fixture(2);
  CHECK(fixture.fetch(2, 5) == "23456");
  CHECK(fixture.store.requests == 0);
  CHECK(fixture.copies->bytes() == 5);
  CHECK(fixture.context.warnings().empty());
}

TEST_CASE("files that are not compared with a checksum come from the source") {
  Fixture fixture(1);
  CHECK(fixture.fetch(0, 10, kUnlisted) == "0123456789");
  CHECK(fixture.peers[0]->requests == 0);
}

TEST_CASE("without peers everything comes from the source") {
  Fixture fixture(0);
  CHECK(fixture.fetch(0, 10) == "0123456789");
  CHECK(fixture.copies->bytes() == 0);
}

TEST_CASE("the next peer, then the source, goes on where a peer stopped") {
  Fixture fixture(2);
  for (OneFile* peer : fixture.peers) peer->most = 3;
  CHECK(fixture.fetch(0, 10) == "0123456789");
  CHECK(fixture.peers[0]->sent + fixture.peers[1]->sent == 6);
  CHECK(fixture.store.sent == 4);
}

TEST_CASE("a peer that fails is dropped with its reason, and not asked again") {
  Fixture fixture(1);
  fixture.peers[0]->most = 0;
  fixture.peers[0]->fail = refuse;
  fixture.fetch(0, 4);
  fixture.fetch(4, 4);
  CHECK(fixture.peers[0]->requests == 1);
  REQUIRE(fixture.context.warnings().size() == 1);
  CHECK(fixture.context.warnings()[0].code == "peer_dropped");
  CHECK(fixture.context.warnings()[0].text == "--peer peer0 is no longer used: connection refused");
}

TEST_CASE("a peer that sends files only as a whole is dropped") {
  Fixture fixture(1);
  fixture.peers[0]->most = 0;
  fixture.peers[0]->fail = [] { return io::Fetched::no_ranges; };
  CHECK(fixture.fetch(0, 4) == "0123");
  CHECK(fixture.context.warnings().at(0).text == "--peer peer0 is no longer used: it sends files only as a whole");
}

TEST_CASE("bytes that are requested again come from the source, and their peer is dropped as a liar") {
  Fixture fixture(1);
  fixture.fetch(0, 8);
  fixture.fetch(8, 2);
  CHECK(fixture.store.requests == 0);
  CHECK(fixture.fetch(4, 2) == "45");
  CHECK(fixture.store.sent == 2);
  CHECK(fixture.context.warnings().at(0).text == "--peer peer0 is no longer used: it sent wrong bytes of 'x'");
}

TEST_CASE("a peer without any of the files is named at the end, one that was never asked is not") {
  Fixture fixture(1);
  fixture.copies->warn_of_useless();
  CHECK(fixture.context.warnings().empty());
  fixture.peers[0]->most = 0;
  fixture.fetch(0, 4);
  fixture.fetch(4, 4);
  CHECK(fixture.peers[0]->requests == 2);
  fixture.copies->warn_of_useless();
  CHECK(fixture.context.warnings().at(0).code == "peer_useless");
}

TEST_CASE("errors of the receiver end the fetch, and are not blamed on the peer") {
  Fixture fixture(1);
  const auto full = [](Bytes) { throw Error(ErrorCode::no_space, "disk full"); };
  CHECK_THROWS_AS(fixture.copies->fetch(fixture.store, kListed, {0, 10}, full, {}), Error);
  CHECK(fixture.context.warnings().empty());
}
