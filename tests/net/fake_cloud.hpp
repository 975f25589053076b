#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "net/credential_providers.hpp"
#include "support/fake_clock.hpp"

namespace shardkit_test {

/// A machine in some cloud that exists in memory only: its variables, files, programs and services.
class FakeCloud final : public shardkit::net::Http {
 public:
  using Service = std::function<std::pair<int, std::string>(const shardkit::net::HttpRequest& request)>;

  std::map<std::string, std::string> variables{{"HOME", "/home/me"}};
  std::map<std::string, std::string> files;
  std::map<std::string, std::string> programs;  ///< output by command
  std::map<std::string, Service> services;      ///< by "http://host"
  std::vector<shardkit::net::HttpRequest> requests;
  FakeClock clock;

  shardkit::net::CloudEnvironment around() {
    return {[this](const std::string& name) { return found(variables, name); },
            [this](const std::string& path) { return found(files, path); },
            [this](const std::string& what, const std::string& command, const std::stop_token&) {
              if (const auto output = found(programs, command)) return *output;
              throw shardkit::Error(shardkit::ErrorCode::denied, what + " does not exist");
            },
            &clock, this};
  }

  shardkit::net::HttpResponse send(const shardkit::net::HttpRequest& request, const shardkit::net::HeadHandler& on_head,
                                   const std::stop_token& /*stop*/) override {
    requests.push_back(request);
    const auto service = services.find(request.url.scheme + "://" + request.url.authority());
    if (service == services.end()) throw shardkit::Error(shardkit::ErrorCode::network, "nobody there");
    const auto [status, body] = service->second(request);
    shardkit::net::HttpResponse response{status, {}};
    const shardkit::BodyWriter write = on_head(response);
    if (write) write(shardkit::as_bytes(body));
    return response;
  }

 private:
  static std::optional<std::string> found(const std::map<std::string, std::string>& in, const std::string& name) {
    const auto at = in.find(name);
    return at == in.end() ? std::nullopt : std::optional(at->second);
  }
};

}  // namespace shardkit_test
