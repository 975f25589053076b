#include "formats/stage_records.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "formats/tsv.hpp"

namespace shardkit::formats {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kMarkerFormat = "shardkit-staged";
constexpr std::uint64_t kMarkerVersion = 1;

}  // namespace

std::string write_staged_marker(const StagedMarker& marker) {
  Json root;
  root["format"] = kMarkerFormat;
  root["version"] = kMarkerVersion;
  root["source"] = marker.source;
  root["verified"] = enum_name(marker.verified);
  root["verified_at"] = marker.verified_at;
  root["manifest_xxh3_128"] = to_hex(marker.manifest);
  root["files"] = marker.files;
  root["bytes"] = marker.bytes;
  if (!marker.subsets.empty()) root["subsets"] = marker.subsets;
  return sealed_json_text(std::move(root));
}

void read_state_file(std::string_view text, const std::string& path, const char* what, const char* format,
                     std::uint64_t version, const std::function<void(const Json&)>& take) {
  const auto damaged = [&](std::string_view why) {
    return Error(ErrorCode::corrupt, At{path}, "'{}' is damaged ({})", path, why);
  };
  Json root = parse_ordered_json(text);
  if (root.is_discarded()) throw damaged("it is not JSON");
  try {
    if (root.at("format") != format) throw damaged(fmt::format("it is not {}", what));
    if (json_count(root.at("version")) > version)
      throw Error(ErrorCode::unsupported, At{path}, "'{}' is not {} of version {}", path, what, version);
    if (!unseal(root)) throw damaged("its checksum does not match");
    take(root);
  } catch (const Json::exception& error) {
    throw damaged(error.what());
  }
}

namespace {

std::uint64_t count_in(const Json& root, const char* field, const std::string& path) {
  if (const auto number = json_count(root.at(field))) return *number;
  throw Error(ErrorCode::corrupt, At{path}, "'{}' is damaged ({} is not a whole number)", path, field);
}

Verified verified_in(const Json& root, const std::string& path) {
  const auto name = root.at("verified").get<std::string>();
  const auto* const found = std::ranges::find(kEnumNames<Verified>, name);
  if (found != kEnumNames<Verified>.end()) return static_cast<Verified>(found - kEnumNames<Verified>.begin());
  throw Error(ErrorCode::corrupt, At{path}, "'{}' is damaged (verified has the unknown value '{}')", path, name);
}

}  // namespace

StagedMarker read_staged_marker(std::string_view text, const std::string& path) {
  StagedMarker marker;
  read_state_file(text, path, "a staged marker", kMarkerFormat, kMarkerVersion, [&](const Json& root) {
    root.at("source").get_to(marker.source);
    marker.verified = verified_in(root, path);
    root.at("verified_at").get_to(marker.verified_at);
    marker.files = count_in(root, "files", path);
    marker.bytes = count_in(root, "bytes", path);
    if (root.contains("subsets")) root.at("subsets").get_to(marker.subsets);
    if (!parse_hex(root.at("manifest_xxh3_128").get<std::string>(), marker.manifest)) {
      throw Error(ErrorCode::corrupt, At{path}, "'{}': manifest_xxh3_128 is not 32 hexadecimal digits", path);
    }
  });
  return marker;
}

namespace {

constexpr std::string_view kHead = "shardkit-journal\t1";  // the first line
constexpr std::string_view kSet = "set";
constexpr std::string_view kFile = "file";
constexpr std::string_view kFound = "found";
constexpr std::string_view kWhole = "whole";
constexpr std::string_view kPart = "part";

std::string line_of(std::string_view kind, std::uint64_t bytes, const Hash128& hash, std::string_view pin,
                    std::string_view seen, std::string_view name) {
  std::string line = fmt::format("{}\t{}\t{}", kind, bytes, to_hex(hash));
  for (const std::string_view text : {pin, seen, name}) {
    line += '\t';
    append_escaped(line, text);
  }
  seal_line(line);
  return line;
}

}  // namespace

std::string journal_line(const StagedSetId& set) { return line_of(kSet, set.bytes, set.hash, "", "", set.source); }

std::string journal_line(const std::string& name, const StagedFile& file) {
  return line_of(file.found ? kFound : kFile, file.bytes, file.hash, file.pin, file.seen, name);
}

std::string journal_line(const StagedCommand& command) {
  return line_of(command.is_whole ? kWhole : kPart, 0, {}, command.options, "", command.sources);
}

bool StageJournalState::add(StagedCommand command) {
  if (command.is_whole) {
    if (commands == std::vector{command}) return false;
    commands = {std::move(command)};
    return true;
  }
  if (std::ranges::any_of(commands, &StagedCommand::is_whole) || std::ranges::find(commands, command) != commands.end())
    return false;
  commands.push_back(std::move(command));
  return true;
}

namespace {

void take_line(std::string_view line, StageJournalState& state, std::vector<std::string_view>& columns) {
  if (line.empty()) return;
  if (!unseal_line(line)) {
    for (auto& [name, file] : state.files) file.seen.clear();
    return;
  }
  split_columns(line, columns);
  StagedFile file;
  std::string name;
  if (columns.size() != 6 || !parse_number(columns[1], file.bytes) || !parse_hex(columns[2], file.hash) ||
      !unescape(columns[3], file.pin) || !unescape(columns[4], file.seen) || !unescape(columns[5], name)) {
    return;
  }
  if (columns[0] == kSet) state.set = StagedSetId{file.hash, file.bytes, name};
  if (columns[0] == kWhole || columns[0] == kPart) state.add({name, file.pin, columns[0] == kWhole});
  file.found = columns[0] == kFound;
  if (!file.found && columns[0] != kFile) return;
  state.files[name] = std::move(file);
}

}  // namespace

void StageJournalState::take(std::string_view text) {
  std::vector<std::string_view> columns;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    const std::string_view line = text.substr(0, end);
    if (read > 0 || line != kHead) take_line(line, *this, columns);
    if (read == 0) is_newer = line != kHead && line.starts_with(kHead.substr(0, kHead.find('\t') + 1));
    read += end + 1;
    text.remove_prefix(end + 1);
  }
}

std::string StageJournalState::text() const {
  std::string text = fmt::format("{}\n", kHead);
  if (set) text += journal_line(*set);
  for (const StagedCommand& command : commands) text += journal_line(command);
  for (const auto& [name, file] : files) text += journal_line(name, file);
  return text;
}

}  // namespace shardkit::formats
