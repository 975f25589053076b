#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "report/page.hpp"

namespace shardkit::report {
namespace {

using Json = nlohmann::json;

Json with_text(const std::string& text) {
  return {{"schema", "shardkit/run"},
          {"host", {{"hostname", "gpu7.corp"}, {"node", "gpu7"}}},
          {"result", {{"text", text}}}};
}

std::string redacted_text(const std::string& text) { return redacted(with_text(text))["result"]["text"]; }

TEST_CASE("names of hosts and paths are replaced, the same by the same") {
  CHECK(redacted_text("read '/data/secret' on gpu7") == "read 'path-3' on host-1");
  CHECK(redacted_text("/a/b and /a/b, not /a/c.") == "path-3 and path-3, not path-4.");
  CHECK(redacted_text("s3://bucket/key shards/train ./x ~/y").find('/') == std::string::npos);
  CHECK(redacted(with_text(""))["host"]["hostname"] == "host-1");
  CHECK(redacted(with_text(""))["schema"] == "shardkit/run");
}

TEST_CASE("the name of a host is found before the sign that ends it, in its short and its long form") {
  CHECK(redacted_text("gpu7: slow, gpu7.corp. And gpu7.") == "host-1: slow, host-1. And host-1.");
  CHECK(redacted_text("'gpu7.corp:' (gpu7)") == "'host-1:' (host-1)");
  CHECK(redacted_text("gpu77 and mygpu7 are others") == "gpu77 and mygpu7 are others");
}

TEST_CASE("the hosts of other nodes are names too, wherever they are") {
  Json envelope = with_text("n02 was slow, n03 differs from gpu7.corp");
  envelope["result"]["nodes"] = {{{"name", "n02"}}};
  envelope["result"]["differences"] = {{{"path", "host.hostname"}, {"base", "gpu7.corp"}, {"new", "n03"}}};
  const std::string text = redacted(envelope).dump();
  for (const char* name : {"n02", "n03", "gpu7"}) CHECK(text.find(name) == std::string::npos);
}

TEST_CASE("a path with spaces or quotes goes as a whole") {
  Json envelope = with_text("fio --filename='Jane Doe study/it'\\''s.tar'; Jane Doe study/it's.tar");
  envelope["options"] = {{"paths", {"Jane Doe study/it's.tar"}}};
  const std::string text = redacted(envelope).dump();
  for (const char* part : {"Jane", "Doe", "study", "it'", "s.tar"}) CHECK(text.find(part) == std::string::npos);
}

TEST_CASE("an operand is a path, also without a slash") {
  Json envelope = with_text("same again: iobench run SECRET --budget 3; 'SECRET' was read");
  envelope["options"] = {{"path", {"SECRET"}}};
  CHECK(redacted(envelope).dump().find("SECRET") == std::string::npos);
}

TEST_CASE("servers, users, domains and addresses of mounts are names, and what is technical stays") {
  struct Row {
    std::string source;
    std::vector<std::string> options;
    std::vector<std::string> hidden;
  };
  for (const Row& row : {
           Row{"filer:/export/data", {"vers=4.2", "clientaddr=10.0.0.9", "addr=10.0.0.3"}, {"filer", "10.0.0"}},
           Row{"//smb1.corp/share", {"username=anna", "domain=CORP", "addr=fd00::3"}, {"smb1", "anna", "CORP", "fd00"}},
           Row{"10.0.0.1:6789,10.0.0.2:6789:/vol", {"name=training", "fsid=0c5e-11"}, {"10.0.0", "training", "0c5e"}},
           Row{"anna@0c5e-11.fs1=/", {"mon_addr=10.0.0.1:3300/10.0.0.2:3300"}, {"anna", "0c5e", "10.0.0"}},
           Row{"10.0.0.1@o2ib:10.0.0.2@o2ib:/scratch", {"flock"}, {"10.0.0", "scratch"}},
           Row{"backend1,backend2/fs1", {"writecache", "container_name=client"}, {"backend1", "client"}},
       }) {
    CAPTURE(row.source);
    Json envelope = with_text("hint: " + row.source + " is slow on gpu7");
    envelope["host"].erase("node");
    envelope["result"]["storage"] = {{"source", row.source}, {"mount_options", row.options}};
    envelope["result"]["storage"]["mount_options"].push_back("proto=tcp");
    const std::string text = redacted(envelope).dump();
    for (const std::string& name : row.hidden) CHECK_MESSAGE(text.find(name) == std::string::npos, name, " in ", text);
    for (const char* word : {"proto=tcp", "host-1"}) CHECK(text.find(word) != std::string::npos);
    CHECK(text.find("gpu7") == std::string::npos);
  }
}

TEST_CASE("rates and names of systems are no paths") {
  for (const char* text : {"1.20 GB/s", "1,200 samples/s", "Debian GNU/Linux 12", "/dev/shm has 64 MiB"}) {
    CHECK(redacted_text(text) == text);
  }
}

}  // namespace
}  // namespace shardkit::report
