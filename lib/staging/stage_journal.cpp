#include "staging/stage_journal.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "core/error.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "formats/tsv.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"

namespace shardkit::staging {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kMarkerFormat = "shardkit-staged";
constexpr std::uint64_t kMarkerVersion = 1;
constexpr std::uint64_t kLongestMarker = 1U << 20U;

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
  if (!unseal(root)) throw damaged("its checksum does not match");
  try {
    if (root.at("format") != format || root.at("version") != version) {
      throw Error(ErrorCode::corrupt, At{path}, "'{}' is not {} of version {}", path, what, version);
    }
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

std::optional<StagedMarker> find_staged_marker(const std::string& folder) {
  const std::string path = io::join_path(folder, kStagedMarkerPath);
  try {
    return read_staged_marker(io::read_text_file(io::File::open_regular(path), kLongestMarker), path);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::not_found || error.code() == ErrorCode::corrupt) return std::nullopt;
    throw;
  }
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
    formats::append_escaped(line, text);
  }
  formats::seal_line(line);
  return line;
}

std::string line_of(const StagedSetId& set) { return line_of(kSet, set.bytes, set.hash, "", "", set.source); }

std::string line_of(const std::string& name, const StagedFile& file) {
  return line_of(file.found ? kFound : kFile, file.bytes, file.hash, file.pin, file.seen, name);
}

std::string line_of(const StagedCommand& command) {
  return line_of(command.is_whole ? kWhole : kPart, 0, {}, command.options, "", command.sources);
}

void add_command(StagedCommand command, std::vector<StagedCommand>& commands) {
  if (command.is_whole) {
    commands = {std::move(command)};
  } else if (std::ranges::none_of(commands, &StagedCommand::is_whole) &&
             std::ranges::find(commands, command) == commands.end()) {
    commands.push_back(std::move(command));
  }
}

void take_line(std::string_view line, StageJournal::State& state, std::vector<std::string_view>& columns) {
  if (line.empty()) return;
  if (!formats::unseal_line(line)) {
    for (auto& [name, file] : state.files) file.seen.clear();
    return;
  }
  formats::split_columns(line, columns);
  StagedFile file;
  std::string name;
  if (columns.size() != 6 || !parse_number(columns[1], file.bytes) || !parse_hex(columns[2], file.hash) ||
      !formats::unescape(columns[3], file.pin) || !formats::unescape(columns[4], file.seen) ||
      !formats::unescape(columns[5], name)) {
    return;
  }
  if (columns[0] == kSet) state.set = StagedSetId{file.hash, file.bytes, name};
  if (columns[0] == kWhole || columns[0] == kPart) add_command({name, file.pin, columns[0] == kWhole}, state.commands);
  file.found = columns[0] == kFound;
  if (!file.found && columns[0] != kFile) return;
  state.files[name] = std::move(file);
}

std::optional<struct stat> regular_file_at(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    throw system_error(errno, "stat", path);
  }
  return S_ISREG(info.st_mode) ? std::optional(info) : std::nullopt;
}

std::string text_of(const struct stat& info) { return fmt::format("{}-{}", info.st_ino, io::mtime_ns(info)); }

}  // namespace

std::optional<std::uint64_t> size_on_disk(const std::string& path) {
  const auto info = regular_file_at(path);
  if (!info) return std::nullopt;
  return static_cast<std::uint64_t>(info->st_size);
}

std::string seen_at(const std::string& path) {
  const auto info = regular_file_at(path);
  return info ? text_of(*info) : std::string();
}

bool StagedFile::is_unchanged_at(const std::string& path) const {
  if (is_damaged()) return false;
  const auto info = regular_file_at(path);
  return info && static_cast<std::uint64_t>(info->st_size) == bytes && seen == text_of(*info);
}

void StageJournal::take(std::string_view text, State& state) {
  std::vector<std::string_view> columns;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    const std::string_view line = text.substr(0, end);
    if (state.read > 0 || line != kHead) take_line(line, state, columns);
    state.read += end + 1;
    text.remove_prefix(end + 1);
  }
}

StageJournal::State StageJournal::read(const std::string& path) {
  State state;
  try {
    take(io::read_text_file(io::File::open_regular(path)), state);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;
  }
  return state;
}

void StageJournal::rewrite(io::FileSystem& files, const std::string& path, const State& state) {
  std::string text = fmt::format("{}\n", kHead);
  if (state.set) text += line_of(*state.set);
  for (const StagedCommand& command : state.commands) text += line_of(command);
  for (const auto& [name, file] : state.files) text += line_of(name, file);
  io::publish(files, path, as_bytes(text));
}

StageJournal::StageJournal(io::FileSystem& files, std::string path) : path_(std::move(path)), state_(read(path_)) {
  file_ = files.open_append(path_);
}

std::optional<StagedFile> StageJournal::find(const std::string& name) const {
  const std::scoped_lock lock(mutex_);
  const auto found = state_.files.find(name);
  if (found == state_.files.end()) return std::nullopt;
  return found->second;
}

void StageJournal::refresh() {
  const std::scoped_lock lock(mutex_);
  take_news();
}

void StageJournal::take_news() {
  const io::File file = io::File::open_regular(path_);
  const std::uint64_t size = file.size();
  if (size <= state_.read) return;
  std::string text(size - state_.read, '\0');
  text.resize(file.read_at(state_.read, std::as_writable_bytes(std::span(text))));
  take(text, state_);
}

void StageJournal::announce(std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  take_news();
  if (!state_.set || bytes <= state_.set->bytes) return;
  state_.set->bytes = bytes;
  append(line_of(*state_.set));
}

void StageJournal::record(const std::string& name, const StagedFile& file) {
  const std::scoped_lock lock(mutex_);
  append(line_of(name, file));
  state_.files[name] = file;
}

void StageJournal::add(const StagedCommand& command) {
  const std::scoped_lock lock(mutex_);
  take_news();
  std::vector<StagedCommand> commands = state_.commands;
  add_command(command, commands);
  if (commands == state_.commands) return;
  append(line_of(command));
  state_.commands = std::move(commands);
}

/// Between line ends of its own: on a full disk another process may have left half a line before it, which must not
/// damage ours; and without the second one behind it, a change of its line end would look as if it was never written.
void StageJournal::append(const std::string& line) { file_->write(as_bytes("\n" + line + "\n")); }

void StageJournal::sync() {
  const std::scoped_lock lock(mutex_);
  file_->sync();
}

StageJournal::State StageJournal::state() const {
  const std::scoped_lock lock(mutex_);
  return state_;
}

}  // namespace shardkit::staging
