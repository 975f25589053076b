#include "dataset/stage_journal.hpp"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.hpp"
#include "formats/line_reader.hpp"
#include "formats/tsv.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"

namespace shardkit {
namespace {

std::string line_of(const std::string& name, const StageJournal::Entry& entry) {
  std::string line = fmt::format("{}\t{}\t{}\t", entry.done ? "done" : "part", entry.bytes, entry.pin);
  append_escaped(line, name);
  return line + "\n";
}

}  // namespace

StageJournal::Entries StageJournal::read(const std::string& path) {
  Entries entries;
  try {
    FileSource source(path);
    LineReader reader(source, 0, source.size());
    std::vector<std::string_view> columns;
    for (std::string_view line; reader.next(line);) {
      split_columns(line, columns);
      Entry entry;
      std::string name;
      if (columns.size() != 4 || !parse_number(columns[1], entry.bytes) || !unescape(columns[3], name)) continue;
      entry.done = columns[0] == "done";
      entry.pin = columns[2];
      entries[name] = std::move(entry);
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;
  }
  return entries;
}

StageJournal::StageJournal(FileSystem& files, const std::string& path, Entries entries) : entries_(std::move(entries)) {
  std::string text;
  for (const auto& [name, entry] : entries_) text += line_of(name, entry);
  publish(files, path, as_bytes(text));
  file_ = files.reopen(path, text.size());
}

StageJournal::Entry StageJournal::find(const std::string& name) const {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(name);
  return found == entries_.end() ? Entry{} : found->second;
}

void StageJournal::record(const std::string& name, Entry entry) {
  const std::scoped_lock lock(mutex_);
  file_->write(as_bytes(line_of(name, entry)));
  entries_[name] = std::move(entry);
}

void StageJournal::sync() {
  const std::scoped_lock lock(mutex_);
  file_->sync();
}

}  // namespace shardkit
