// Lets tests in Python drive the store client: one JSON document on standard output, exit 0; or the error as
// {"error": {"code", "text"}}, exit 1.
//
//   net_probe list ADDRESS
//   net_probe find ADDRESS NAME
//   net_probe settings
//   net_probe get ADDRESS NAME OFFSET LENGTH FILE    (LENGTH "all": in one stream)
//
// Keys may hold bytes that no JSON can: they are printed percent-encoded.

#include <csignal>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "net/aws_profile.hpp"
#include "net/s3_store.hpp"
#include "net/store_opener.hpp"
#include "net/url.hpp"
#include "system/probe.hpp"

using namespace shardkit;
using namespace shardkit::io;
using namespace shardkit::net;
using namespace shardkit::system;
using nlohmann::json;

namespace {

json described(const ObjectInfo& object) {
  return {{"key", percent_encode(object.name)}, {"size", object.size}, {"version", object.version}};
}

json list(ObjectSource& source) {
  json result = {{"objects", json::array()}, {"names", json::array()}};
  for (const ObjectInfo& object : source.list()) result["objects"].push_back(described(object));
  for (const std::string& name : source.names_in("")) result["names"].push_back(percent_encode(name));
  return result;
}

json find(ObjectSource& source, const std::string& name) {
  const auto found = source.find(name);
  return found ? described(*found) : json();
}

const char* name_of(Fetched fetched) {
  if (fetched == Fetched::no_ranges) return "no_ranges";
  return fetched == Fetched::whole ? "whole" : "changed";
}

json get(ObjectSource& source, const std::string& name, const std::string& offset, const std::string& length,
         const std::string& path) {
  const auto found = source.find(name);
  if (!found) return nullptr;
  std::ofstream out;
  const auto start = [&]() -> BodyWriter {
    out.close();
    out.open(path, std::ios::binary | std::ios::trunc);
    return [&](Bytes bytes) { out << as_text(bytes); };
  };
  const Fetched fetched = length == "all" ? source.fetch_whole(*found, start, {})
                                          : source.fetch(*found, std::stoull(offset), std::stoull(length), start(), {});
  return {{"fetched", name_of(fetched)}};
}

/// What the environment and the files of AWS say, with a key's id only.
json settings_of_environment() {
  HttpPool http{{}};
  const CloudEnvironment around = machine_surroundings(http);
  const S3Settings settings = s3_settings({}, around);
  const auto found = profile_provider(around).find({});
  return {{"region", settings.region},
          {"authorities", settings.authorities},
          {"url", s3_url(settings, "my-bucket", "key").text()},
          {"key", found ? found->key.access_key_id : ""},
          {"token", found ? found->key.session_token.reveal() : ""}};
}

json run(const std::vector<std::string>& words) {
  if (words.at(0) == "settings") return settings_of_environment();
  StoreOptions options;
  options.retry.attempts = 3;
  options.s3.anonymous = process_environment()("NET_PROBE_ANONYMOUS").has_value();
  const auto source = StoreOpener(options).open(words.at(1));
  if (words[0] == "list") return list(*source);
  if (words[0] == "find") return find(*source, words.at(2));
  return get(*source, words.at(2), words.at(3), words.at(4), words.at(5));
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // as run_app does
  try {
    std::cout << run(std::vector<std::string>(argv + 1, argv + argc)).dump() << '\n';
    return 0;
  } catch (const Error& error) {
    const json failure = {{"code", error_code_name(error.code())}, {"text", error.what()}, {"path", error.path()}};
    std::cout << json{{"error", failure}}.dump(-1, ' ', false, json::error_handler_t::replace) << '\n';
    return 1;
  }
}
