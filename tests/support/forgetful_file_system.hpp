#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "io/file_system.hpp"
#include "io/publish.hpp"
#include "support/files.hpp"

/// A file system that works like the real one while it runs, and knows what a power cut would leave of it: only bytes
/// that were synced, under names whose folder was synced. `lose_power(path)` rebuilds that state.
///
/// It can also fail: `fail_at(n, code)` makes the n-th changing call throw.
class ForgetfulFileSystem : public shardkit::io::FileSystem {
 public:
  std::unique_ptr<shardkit::io::PatchFile> create(const std::string& path, const std::string& shown) override {
    step();
    auto real = real_->create(path, shown);
    return std::make_unique<PatchRecorder>(*this, std::move(real), new_node(path));
  }
  std::unique_ptr<shardkit::io::WritableFile> create_below(const shardkit::io::File& folder,
                                                           const std::string& name) override {
    step();
    auto real = real_->create_below(folder, name);
    return std::make_unique<Recorder>(*this, std::move(real), new_node(shardkit::io::join_path(folder.path(), name)));
  }
  std::unique_ptr<shardkit::io::PatchFile> open_patch(const std::string& path) override {
    step();
    auto real = real_->open_patch(path);
    if (!real) return nullptr;
    return std::make_unique<PatchRecorder>(*this, std::move(real), node_of(path));
  }
  std::unique_ptr<shardkit::io::WritableFile> open_append(const std::string& path) override {
    step();
    auto real = real_->open_append(path);
    return std::make_unique<Recorder>(*this, std::move(real), node_of(path));
  }
  void create_directories(const std::string& path) override {
    step();
    real_->create_directories(path);
  }
  void rename(const std::string& from, const std::string& to) override {
    step();
    real_->rename(from, to);
    rename_recorded(from, to);
  }
  bool rename_new(const std::string& from, const std::string& to) override {
    step();
    if (!real_->rename_new(from, to)) return false;
    rename_recorded(from, to);
    return true;
  }
  bool rename_new_below(const shardkit::io::File& from_folder, const std::string& from,
                        const shardkit::io::File& to_folder, const std::string& to) override {
    step();
    if (!real_->rename_new_below(from_folder, from, to_folder, to)) return false;
    rename_recorded(shardkit::io::join_path(from_folder.path(), from), shardkit::io::join_path(to_folder.path(), to));
    return true;
  }
  void sync_all(const shardkit::io::File& folder) override {
    step();
    real_->sync_all(folder);
    const std::scoped_lock lock(mutex_);
    for (const auto& [name, node] : names_) {
      node->durable = node->written;
      node->durable_changes = node->changes;
    }
    durable_names_ = names_;
  }
  void sync_directory(const std::string& path) override {
    step();
    real_->sync_directory(path);
    const std::scoped_lock lock(mutex_);
    std::erase_if(durable_names_, [&](const auto& item) { return shardkit::io::parent_folder(item.first) == path; });
    for (const auto& [name, node] : names_) {
      if (shardkit::io::parent_folder(name) == path) durable_names_[name] = node;
    }
  }
  void remove(const std::string& path) override {
    real_->remove(path);
    const std::scoped_lock lock(mutex_);
    names_.erase(path);
  }
  void remove_below(const shardkit::io::File& folder, const std::string& name) override {
    real_->remove_below(folder, name);
    const std::scoped_lock lock(mutex_);
    names_.erase(shardkit::io::join_path(folder.path(), name));
  }

  /// The n-th call from now (1 is the next) throws; calls after it too, as when a machine goes down.
  void fail_at(std::uint64_t n, shardkit::ErrorCode code) {
    steps_left_ = n;
    code_ = code;
  }
  bool failed() const { return failed_; }
  /// Takes the files below a folder as durable.
  void know(const std::string& folder) {
    for (const auto& [name, content] : tree_content(folder)) {
      const std::shared_ptr<Node> node = new_node(shardkit::io::join_path(folder, name));
      node->written = node->durable = content;
    }
    durable_names_ = names_;
  }
  /// From now on files cannot bypass the page cache, as on a network file system.
  void refuse_bypass() { refuses_bypass_ = true; }
  /// Calls `act` within the n-th call, before it has an effect: what another process does at this moment.
  void act_at(std::uint64_t n, std::function<void()> act) {
    act_at_ = n;
    act_ = std::move(act);
  }
  std::uint64_t steps() const { return steps_; }

  /// What a power cut now would leave: content by path.
  std::map<std::string, std::string> after_power_cut() const {
    const std::scoped_lock lock(mutex_);
    return content_of(durable_names_);
  }

  /// The same of a disk that wrote all names before any content that was not synced, as disks may.
  std::map<std::string, std::string> after_power_cut_names_first() const {
    const std::scoped_lock lock(mutex_);
    return content_of(names_);
  }

  /// All that a power cut now may leave: disks write nothing more, all names, or the names of one folder first.
  std::vector<std::map<std::string, std::string>> after_power_cuts() const {
    const std::scoped_lock lock(mutex_);
    std::vector<std::map<std::string, std::string>> cuts{content_of(durable_names_), content_of(names_)};
    std::set<std::string> folders;
    for (const Names& names : {names_, durable_names_})
      for (const auto& [name, node] : names) folders.insert(shardkit::io::parent_folder(name));
    for (const std::string& folder : folders) {
      const auto in_folder = [&](const auto& item) { return shardkit::io::parent_folder(item.first) == folder; };
      Names first = durable_names_;
      std::erase_if(first, in_folder);
      std::ranges::copy_if(names_, std::inserter(first, first.end()), in_folder);
      cuts.push_back(content_of(first));
    }
    return cuts;
  }

 private:
  struct Node {
    std::string written;
    std::string durable;
    // Of files that several threads write: a sync promises nothing about what is written while it runs.
    std::uint64_t changes = 0;
    std::uint64_t durable_changes = 0;
  };
  using Names = std::map<std::string, std::shared_ptr<Node>>;

  static std::map<std::string, std::string> content_of(const Names& names) {
    std::map<std::string, std::string> content;
    for (const auto& [name, node] : names) content[name] = node->durable;
    return content;
  }

  class Recorder final : public shardkit::io::WritableFile {
   public:
    Recorder(ForgetfulFileSystem& owner, std::unique_ptr<shardkit::io::WritableFile> real, std::shared_ptr<Node> node)
        : owner_(owner), real_(std::move(real)), node_(std::move(node)) {}
    void write(shardkit::Bytes bytes) override {
      owner_.step();
      real_->write(bytes);
      const std::scoped_lock lock(owner_.mutex_);
      node_->written += shardkit::as_text(bytes);
    }
    void sync() override {
      owner_.step();
      real_->sync();
      const std::scoped_lock lock(owner_.mutex_);
      node_->durable = node_->written;
    }

   private:
    ForgetfulFileSystem& owner_;
    std::unique_ptr<shardkit::io::WritableFile> real_;
    std::shared_ptr<Node> node_;
  };

  class PatchRecorder final : public shardkit::io::PatchFile {
   public:
    PatchRecorder(ForgetfulFileSystem& owner, std::unique_ptr<shardkit::io::PatchFile> real, std::shared_ptr<Node> node)
        : owner_(owner), real_(std::move(real)), node_(std::move(node)) {}
    void write_at(std::uint64_t offset, shardkit::Bytes bytes) override {
      owner_.step();
      real_->write_at(offset, bytes);
      const std::scoped_lock lock(owner_.mutex_);
      std::string& text = node_->written;
      if (text.size() < offset + bytes.size()) text.resize(offset + bytes.size());
      text.replace(offset, bytes.size(), shardkit::as_text(bytes));
      ++node_->changes;
    }
    void resize(std::uint64_t size) override {
      owner_.step();
      real_->resize(size);
      const std::scoped_lock lock(owner_.mutex_);
      node_->written.resize(size);
      ++node_->changes;
    }
    void reserve(std::uint64_t size) override {
      owner_.step();
      real_->reserve(size);
      const std::scoped_lock lock(owner_.mutex_);
      if (node_->written.size() < size) node_->written.resize(size);
    }
    bool bypass_cache() override { return !owner_.refuses_bypass_ && real_->bypass_cache(); }
    void sync() override {
      owner_.step();
      Node before;
      {
        const std::scoped_lock lock(owner_.mutex_);
        before = *node_;
      }
      real_->sync();
      const std::scoped_lock lock(owner_.mutex_);
      if (before.changes < node_->durable_changes) return;  // another, later sync was quicker
      node_->durable = before.written;
      node_->durable_changes = before.changes;
    }
    void write_back(std::uint64_t offset, std::uint64_t length) override { real_->write_back(offset, length); }
    void drop_cached(std::uint64_t end) override { real_->drop_cached(end); }
    const shardkit::io::File& file() const override { return real_->file(); }

   private:
    ForgetfulFileSystem& owner_;
    std::unique_ptr<shardkit::io::PatchFile> real_;
    std::shared_ptr<Node> node_;
  };

  /// What is known of the file at `path`; a new one when it is none of ours.
  std::shared_ptr<Node> node_of(const std::string& path) {
    const std::scoped_lock lock(mutex_);
    std::shared_ptr<Node>& node = names_[path];
    if (!node) node = std::make_shared<Node>();
    return node;
  }

  std::shared_ptr<Node> new_node(const std::string& path) {
    const std::scoped_lock lock(mutex_);
    return names_[path] = std::make_shared<Node>();
  }

  void rename_recorded(const std::string& from, const std::string& to) {
    const std::scoped_lock lock(mutex_);
    names_[to] = std::exchange(names_[from], nullptr);
    names_.erase(from);
  }

  void step() {
    std::unique_lock lock(mutex_);
    if (++steps_ == act_at_) {
      lock.unlock();
      act_();
      lock.lock();
    }
    if (steps_left_ == 0) return;
    if (steps_left_ > 1) {
      --steps_left_;
      return;
    }
    failed_ = true;
    throw shardkit::Error(code_, "the file system failed as the test asked for");
  }

  std::unique_ptr<shardkit::io::FileSystem> real_ = shardkit::io::posix_file_system();
  mutable std::mutex mutex_;
  Names names_;
  Names durable_names_;
  std::uint64_t steps_left_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t act_at_ = 0;
  std::function<void()> act_;
  shardkit::ErrorCode code_ = shardkit::ErrorCode::io;
  bool failed_ = false;
  bool refuses_bypass_ = false;
};
