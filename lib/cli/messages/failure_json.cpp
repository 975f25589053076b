#include "cli/messages/failure_json.hpp"

#include <nlohmann/json.hpp>

namespace shardkit {

nlohmann::ordered_json failure_json(const Failure& failure) {
  nlohmann::ordered_json error = {
      {"code", failure.code}, {"text", failure.text}, {"path", nullptr}, {"offset", nullptr}};
  if (!failure.path.empty()) error["path"] = failure.path;
  if (failure.offset) error["offset"] = *failure.offset;
  return error;
}

}  // namespace shardkit
