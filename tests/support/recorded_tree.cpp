#include "support/recorded_tree.hpp"

#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "system/storage.hpp"

using namespace shardkit;
using namespace shardkit::system;

namespace {

std::string rooted(std::string_view path) {
  return path.starts_with('/') ? std::string(path) : "/" + std::string(path);
}

std::runtime_error cannot_read(const std::string& line) {
  return std::runtime_error("not a line of a recorded machine: " + line);
}

/// "{n}", "{n+48}" and "{n-48}" of `text` with the number of the path's range put in.
std::string with_number(std::string text, long number) {
  for (std::size_t at = text.find("{n"); at != std::string::npos; at = text.find("{n", at)) {
    const std::size_t end = text.find('}', at);
    if (end == std::string::npos) throw cannot_read(text);
    const std::string offset = text.substr(at + 2, end - at - 2);
    text.replace(at, end + 1 - at, std::to_string(number + (offset.empty() ? 0 : std::stol(offset))));
  }
  return text;
}

/// A range "{0-47}" of a path: what stands before it, behind it, and its ends.
struct NumberRange {
  std::string before;
  std::string behind;
  long first = 0;
  long last = -1;
};

bool find_range(const std::string& path, NumberRange& range) {
  const std::size_t open = path.find('{');
  if (open == std::string::npos) return false;
  const std::size_t dash = path.find('-', open);
  const std::size_t close = path.find('}', open);
  if (dash == std::string::npos || close == std::string::npos) throw cannot_read(path);
  range = {path.substr(0, open), path.substr(close + 1), std::stol(path.substr(open + 1)),
           std::stol(path.substr(dash + 1))};
  return true;
}

/// The value of a word "name=value" among the words of an answer.
std::string word_of(const std::string& words, const std::string& name) {
  std::istringstream in(words);
  for (std::string word; in >> word;) {
    if (word.starts_with(name + "=")) return word.substr(name.size() + 1);
  }
  return {};
}

std::uint64_t number_of(const std::string& words, const std::string& name, int base = 10) {
  const std::string text = word_of(words, name);
  return text.empty() ? 0 : std::stoull(text, nullptr, base);
}

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

PathFacts::Kind kind_of(const std::string& name) {
  if (name == "file") return PathFacts::Kind::file;
  if (name == "folder") return PathFacts::Kind::folder;
  return name == "block" ? PathFacts::Kind::block_device : PathFacts::Kind::other;
}

std::string trimmed_end(std::string text) {
  text.erase(text.find_last_not_of(" \t\n") + 1);
  return text;
}

}  // namespace

RecordedTree RecordedTree::machine(const std::string& name) {
  std::ifstream file(std::string(RECORDED_MACHINES) + "/" + name + ".txt");
  if (!file) throw std::runtime_error("no recorded machine " + name);
  RecordedTree tree;
  tree.record(std::string(std::istreambuf_iterator<char>(file), {}));
  return tree;
}

RecordedTree& RecordedTree::add(std::string_view path, std::string_view text) {
  files_[rooted(path)] = trimmed_end(std::string(text));
  return *this;
}

RecordedTree& RecordedTree::link(std::string_view path, std::string_view target) {
  links_[rooted(path)] = target;
  return *this;
}

RecordedTree& RecordedTree::record(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::string path;
  std::string block;
  const auto end_block = [&] {
    if (!path.empty()) record_file(path, block);
    path.clear();
    block.clear();
  };
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("  ")) {
      block += line.substr(2) + "\n";
      continue;
    }
    end_block();
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t colon = line.find(": ");
    if (line.starts_with("answer ")) {
      record_answer(line.substr(7));
    } else if (const std::size_t arrow = line.find(" -> "); arrow != std::string::npos) {
      link(line.substr(0, arrow), line.substr(arrow + 4));
    } else if (colon != std::string::npos) {
      record_file(line.substr(0, colon), line.substr(colon + 2));
    } else if (line.ends_with(':')) {
      path = line.substr(0, line.size() - 1);
    } else {
      throw cannot_read(line);
    }
  }
  end_block();
  return *this;
}

void RecordedTree::record_file(const std::string& path, const std::string& content) {
  NumberRange range;
  if (!find_range(path, range)) {
    add(path, content);
    return;
  }
  for (long n = range.first; n <= range.last; ++n) {
    add(range.before + std::to_string(n) + with_number(range.behind, n), with_number(content, n));
  }
}

/// "statfs PATH: ...", "stat PATH: ...", "xattr PATH NAME: hex", "call NAME: errno"
void RecordedTree::record_answer(const std::string& line) {
  const std::size_t blank = line.find(' ');
  const std::size_t colon = line.rfind(": ");
  if (blank == std::string::npos || colon == std::string::npos || colon < blank) throw cannot_read(line);
  const std::string call = line.substr(0, blank);
  const std::string object = line.substr(blank + 1, colon - blank - 1);
  const std::string words = line.substr(colon + 2);
  if (call == "statfs") {
    spaces_[object] = {number_of(words, "total"), number_of(words, "free")};
  } else if (call == "stat") {
    facts_[object] = {kind_of(word_of(words, "kind")), number_of(words, "size"), word_of(words, "device")};
  } else if (call == "mount_id") {
    without_mount_id_.insert(object);
  } else if (call == "xattr") {
    attributes_[object] = from_hex(words);
  } else if (call == "call") {
    calls_[object] = std::stoi(words);
  } else {
    throw cannot_read(line);
  }
}

RecordedTree& RecordedTree::without(std::string_view path) {
  const std::string gone = rooted(path);
  const auto hidden = [&](const auto& entry) { return entry.first == gone || entry.first.starts_with(gone + "/"); };
  std::erase_if(files_, hidden);
  std::erase_if(links_, hidden);
  return *this;
}

/// The path with its links followed, "." and ".." taken out, as the kernel walks it.
std::string RecordedTree::resolved(const std::string& path) const {
  std::string resolved_path;
  std::string unresolved = path;
  for (int steps = 0; !unresolved.empty() && steps < 1000; ++steps) {
    const std::size_t start = unresolved.find_first_not_of('/');
    if (start == std::string::npos) break;
    const std::size_t end = std::min(unresolved.find('/', start), unresolved.size());
    const std::string part = unresolved.substr(start, end - start);
    unresolved.erase(0, end);
    if (part == ".") continue;
    if (part == "..") {
      resolved_path.erase(std::min(resolved_path.rfind('/'), resolved_path.size()));
      continue;
    }
    const auto target = links_.find(resolved_path + "/" + part);
    if (target == links_.end()) {
      resolved_path += "/" + part;
    } else {
      unresolved = target->second + unresolved;
      if (target->second.starts_with('/')) resolved_path.clear();
    }
  }
  return resolved_path.empty() ? "/" : resolved_path;
}

bool RecordedTree::has_folder(const std::string& path) const {
  const std::string below = path == "/" ? path : path + "/";
  const auto holds = [&](const auto& map) {
    const auto next = map.lower_bound(below);
    return next != map.end() && next->first.starts_with(below);
  };
  return holds(files_) || holds(links_);
}

std::optional<std::string> RecordedTree::text(const std::string& path) const {
  const auto file = files_.find(resolved(path));
  return file == files_.end() ? std::nullopt : std::optional(file->second);
}

std::vector<std::string> RecordedTree::names(const std::string& folder) const {
  const std::string resolved_path = resolved(folder);
  const std::string below = resolved_path == "/" ? resolved_path : resolved_path + "/";
  std::set<std::string> names;
  const auto collect = [&](const auto& map) {
    for (auto entry = map.lower_bound(below); entry != map.end() && entry->first.starts_with(below); ++entry) {
      names.insert(entry->first.substr(below.size(), entry->first.find('/', below.size()) - below.size()));
    }
  };
  collect(files_);
  collect(links_);
  return {names.begin(), names.end()};
}

/// Below /proc and /sys only what was recorded is there; elsewhere, where data lies, anything is.
std::optional<std::string> RecordedTree::resolve(const std::string& path) const {
  const std::string resolved_path = resolved(path);
  const bool exact = resolved_path.starts_with("/proc/") || resolved_path.starts_with("/sys/");
  if (!exact || files_.contains(resolved_path) || facts_.contains(resolved_path) || spaces_.contains(resolved_path) ||
      has_folder(resolved_path)) {
    return resolved_path;
  }
  errno = ENOENT;
  return std::nullopt;
}

std::optional<PathFacts> RecordedTree::stat(const std::string& path) const {
  const std::string resolved_path = resolved(path);
  if (const auto known = facts_.find(resolved_path); known != facts_.end()) return known->second;
  if (files_.contains(resolved_path)) return PathFacts{PathFacts::Kind::file, files_.at(resolved_path).size(), "0:1"};
  if (has_folder(resolved_path)) return PathFacts{PathFacts::Kind::folder, 0, "0:1"};
  return std::nullopt;
}

/// A mount hides what its parent has below the same point.
std::optional<std::uint64_t> RecordedTree::mount_id(const std::string& path) const {
  const std::string resolved_path = resolved(path);
  if (without_mount_id_.contains(path)) return std::nullopt;
  struct Line {
    std::uint64_t id, parent;
    std::string point;
  };
  std::vector<Line> lines;
  std::set<std::uint64_t> ids;
  std::istringstream in(text("/proc/self/mountinfo").value_or(""));
  for (std::string line; std::getline(in, line);) {
    Line mount;
    std::string device;
    std::string root;
    if (!(std::istringstream(line) >> mount.id >> mount.parent >> device >> root >> mount.point)) continue;
    mount.point = unescape_mount_name(mount.point);
    ids.insert(mount.id);
    lines.push_back(mount);
  }
  std::optional<std::uint64_t> at;
  while (true) {
    const Line* next = nullptr;
    for (const Line& mount : lines) {
      const bool is_root = !ids.contains(mount.parent) || mount.parent == mount.id;
      const bool is_child = at ? mount.parent == *at && mount.id != *at : is_root;
      if (!is_child || !is_below(resolved_path, mount.point)) continue;
      if (next == nullptr || mount.point.size() <= next->point.size()) next = &mount;
    }
    if (next == nullptr) return at;
    at = next->id;
  }
}

std::optional<SpaceFacts> RecordedTree::space(const std::string& path) const {
  const auto known = spaces_.find(resolved(path));
  return known == spaces_.end() ? std::nullopt : std::optional(known->second);
}

std::optional<std::string> RecordedTree::attribute(const std::string& path, const std::string& name) const {
  const auto known = attributes_.find(resolved(path) + " " + name);
  return known == attributes_.end() ? std::nullopt : std::optional(known->second);
}

int RecordedTree::try_call(SystemCall call) const {
  const auto known = calls_.find(call == SystemCall::io_uring_setup ? "io_uring_setup" : "cachestat");
  return known == calls_.end() ? ENOSYS : known->second;
}
