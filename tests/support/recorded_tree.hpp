#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "system/probe.hpp"

/// Another machine as it was recorded, in memory: files of /proc and /sys and what system calls answered there. Paths
/// may be given without their first slash. Folders are there when something lies in them.
class RecordedTree final : public shardkit::system::Probe {
 public:
  RecordedTree() = default;
  /// A machine of tests/system/machines, whose README says how its text is written. Throws std::runtime_error for a
  /// text that it cannot read.
  static RecordedTree machine(const std::string& name);

  RecordedTree& add(std::string_view path, std::string_view text);
  RecordedTree& link(std::string_view path, std::string_view target);
  /// One line or block of a machine's text; later ones replace earlier ones.
  RecordedTree& record(std::string_view text);
  /// Takes away a path and all below it, as a container that masks it does.
  RecordedTree& without(std::string_view path);

  std::optional<std::string> text(const std::string& path) const override;
  std::vector<std::string> names(const std::string& folder) const override;
  std::optional<std::string> resolve(const std::string& path) const override;
  std::optional<shardkit::system::PathFacts> stat(const std::string& path) const override;
  /// By walking the recorded mount table as the kernel does; none after "answer mount_id PATH: none".
  std::optional<std::uint64_t> mount_id(const std::string& path) const override;
  std::optional<shardkit::system::SpaceFacts> space(const std::string& path) const override;
  std::optional<std::string> attribute(const std::string& path, const std::string& name) const override;
  int try_call(shardkit::system::SystemCall call) const override;

 private:
  std::string resolved(const std::string& path) const;
  bool has_folder(const std::string& path) const;
  void record_answer(const std::string& line);
  void record_file(const std::string& path, const std::string& content);

  std::map<std::string, std::string> files_;
  std::map<std::string, std::string> links_;
  std::map<std::string, shardkit::system::PathFacts> facts_;
  std::map<std::string, shardkit::system::SpaceFacts> spaces_;
  std::map<std::string, std::string> attributes_;  ///< by "path name"
  std::set<std::string> without_mount_id_;
  std::map<std::string, int> calls_;               ///< errno by name
};
