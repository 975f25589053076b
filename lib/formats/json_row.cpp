#include "formats/json_row.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "formats/utf8.hpp"

namespace shardkit {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kDeepest = 100;

/// Builds the row from the parser's events. nlohmann's own builder takes the last of equal names and any depth, and
/// looks for a name among all before it: quadratic for an object of many.
class RowBuilder final : public nlohmann::json_sax<Json> {
 public:
  explicit RowBuilder(Json& root) : root_(root) {}
  const RowFault& fault() const { return fault_; }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(Json::number_integer_t value) override { return add(value); }
  bool number_unsigned(Json::number_unsigned_t value) override { return add(value); }
  bool number_float(Json::number_float_t value, const std::string& /*text*/) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(Json::binary_t& /*value*/) override { return false; }  // JSON text has none
  bool start_object(std::size_t /*count*/) override { return open(Json::object()); }
  bool start_array(std::size_t /*count*/) override { return open(Json::array()); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    name_ = std::move(name);
    return true;
  }

  bool end_object() override {
    const Json& object = *open_.back();
    names_.clear();
    for (const auto& item : object.get_ref<const Json::object_t&>()) names_.push_back(item.first);
    std::sort(names_.begin(), names_.end());
    const auto twice = std::adjacent_find(names_.begin(), names_.end());
    if (twice == names_.end()) return close();
    return failed(fmt::format("the name '{}' stands twice in one object; keep one", twice->substr(0, 100)), 0);
  }

  bool parse_error(std::size_t position, const std::string& /*token*/, const Json::exception& error) override {
    constexpr int kOutOfRange = 406;
    const std::size_t at = position == 0 ? 0 : position - 1;  // the parser counts the byte that it stopped at
    if (error.id == kOutOfRange) return failed("a number is too large to be kept; write it as a string", at);
    return failed(fmt::format("not JSON from byte {} of the line on; a line holds one whole object", position), at);
  }

 private:
  bool add(Json&& value) {
    place(std::move(value));
    return true;
  }

  bool open(Json&& value) {
    if (open_.size() == kDeepest) {
      return failed(fmt::format("objects or lists stand more than {} deep; flatten the row", kDeepest), 0);
    }
    open_.push_back(&place(std::move(value)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  /// Puts a value where the row has come to. Only the innermost open object or list grows, so those around it stay put.
  Json& place(Json&& value) {
    if (open_.empty()) return root_ = std::move(value);
    Json& around = *open_.back();
    if (around.is_array()) {
      around.push_back(std::move(value));
      return around.back();
    }
    auto& members = around.get_ref<Json::object_t&>();
    members.emplace_back(std::move(name_), std::move(value));
    return members.back().second;
  }

  bool failed(std::string text, std::size_t at) {
    fault_ = {std::move(text), at};
    return false;
  }

  Json& root_;
  std::vector<Json*> open_;
  std::string name_;
  std::vector<std::string_view> names_;
  RowFault fault_;
};

}  // namespace

std::optional<RowFault> read_json_row(std::string_view text, Json& row) {
  if (const std::size_t bad = find_invalid_utf8(text); bad != std::string_view::npos) {
    return RowFault{"bytes that are not UTF-8; JSON is written in UTF-8", bad};
  }
  row = nullptr;
  RowBuilder builder(row);
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) {
    RowFault fault = builder.fault();
    fault.at = std::min(fault.at, text.size());
    return fault;
  }
  if (!row.is_object()) return RowFault{"not a JSON object; a line holds one object, {\"name\": value, ...}", 0};
  return std::nullopt;
}

}  // namespace shardkit
