#include "bench/start/common_start.hpp"

#include <algorithm>
#include <filesystem>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "io/file.hpp"
#include "io/file_system.hpp"
#include "io/publish.hpp"
#include "system/probe.hpp"

namespace shardkit::bench {
namespace {

/// A node that starts later than the others is reported.
constexpr double kMostLate = 1;

double unix_now() { return system::unix_seconds(system::system_clock().now()); }

void sleep_until(double unix_time, Context& context) {
  for (double left = unix_time - unix_now(); left > 0; left = unix_time - unix_now()) {
    system::system_clock().sleep(system::Seconds(std::min(left, 1.0)), context.stop_token());
  }
}

void check_options(const CommonStartOptions& options) {
  check_usage(!options.barrier || options.world, "--barrier needs --world N: how many nodes start together");
  check_usage(options.barrier || !options.world, "--world needs --barrier DIR, a folder that all nodes share");
  check_usage(!options.barrier || !options.start_at, "--barrier and --start-at exclude each other; give one of them");
}

/// A folder in which nodes wait for each other. Each writes a file "NODE.TOKEN.arrived" and writes it again while it
/// waits, which also makes NFS look at the folder again. A node counts only those files that were written since it
/// came, so files of earlier starts and of processes that were killed do not count.
///
/// A node that counts --world files publishes "NUMBER.start", with the time and those files, if no other node has. The
/// number follows that of the last start, so starts of one folder have an order, and a node belongs to at most one:
/// whoever came before the time of a start that does not name it is refused. A folder can be used again.
class Barrier {
 public:
  Barrier(const CommonStartOptions& options, const std::string& node, system::Seconds patience, Context& context)
      : options_(options), folder_(*options.barrier), node_(node), patience_(patience), context_(context) {
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    if (error) {
      throw Error(ErrorCode::not_found, At{folder_}, "--barrier: cannot create the folder '{}': {}", folder_,
                  error.message());
    }
    const std::string token = to_hex(xxh3_128(as_bytes(fmt::format("{} {} {:.9f}", node, ::getpid(), unix_now()))));
    file_ = fmt::format("{}.{}{}", node, token.substr(0, kTokenSize), kArrived);
    write_file();
    const double now = unix_now();
    came_ = mtime_of(file_).value_or(now);
    clock_offset_ = now - came_;
  }
  ~Barrier() {
    std::error_code ignored;
    std::filesystem::remove(path_of(file_), ignored);
  }
  Barrier(const Barrier&) = delete;
  Barrier& operator=(const Barrier&) = delete;

  double clock_offset() const { return clock_offset_; }

  /// Waits for the others. The time to start, on this node's clock, and the name of this start.
  std::pair<double, std::string> wait() {
    const system::Seconds pause(*options_.world < 50 ? 0.2 : 1);
    const system::Seconds deadline = system::system_clock().monotonic() + patience_;
    while (true) {
      context_.throw_if_stopped();
      write_file();
      const Folder seen = look();
      if (const auto start = read_start(seen.last_start)) {
        if (start->has(file_)) return {start->time + clock_offset_, start->id()};
        refuse_late(*start);
      }
      context_.progress().items = seen.waiting.size();
      refuse_others(seen.waiting);
      if (seen.waiting.size() == *options_.world) {
        publish_start(seen.last_start + 1, seen.waiting);
        continue;  // with the start that was published first
      }
      if (system::system_clock().monotonic() > deadline) throw_incomplete(seen.waiting);
      system::system_clock().sleep(pause, context_.stop_token());
    }
  }

 private:
  static constexpr std::string_view kArrived = ".arrived";
  static constexpr std::size_t kTokenSize = 12;
  static constexpr std::string_view kStart = ".start";
  static constexpr double kForgotten = 3600;  ///< seconds after which a file is nobody's
  /// Seconds before a start from which a node counts as later than it: the clock of a file system has coarse steps.
  static constexpr double kNext = 0.5;

  struct Start {
    double time = 0;                 ///< on the clock of the file server
    std::vector<std::string> files;  ///< of its nodes

    bool has(const std::string& file) const { return std::ranges::find(files, file) != files.end(); }
    std::string id() const {
      return to_hex(xxh3_128(as_bytes(fmt::format("{}", fmt::join(files, "/"))))).substr(0, 16);
    }
  };
  struct Folder {
    std::vector<std::string> waiting;  ///< files of nodes that wait now, with this one, sorted
    std::uint64_t last_start = 0;      ///< its number; 0 if there was none
  };

  static std::string node_of(const std::string& file) {
    return file.substr(0, file.size() - kArrived.size() - kTokenSize - 1);
  }
  void write_file() const {
    const auto system = io::posix_file_system();
    io::AtomicFile file(*system, path_of(file_));
    file.write(as_bytes(std::string_view("waiting\n")));
    file.commit_without_sync();
  }

  std::string path_of(const std::string& file) const { return io::join_path(folder_, file); }

  /// On the clock of the file server; empty if the file is gone.
  std::optional<double> mtime_of(const std::string& file) const {
    struct stat facts = {};
    if (::stat(path_of(file).c_str(), &facts) != 0) return std::nullopt;
    return static_cast<double>(io::mtime_ns(facts)) * 1e-9;
  }

  /// Removes files that nobody can need any more. The last start stays: its number is the state of the folder.
  Folder look() const {
    Folder seen;
    std::vector<std::string> forgotten;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      const std::string name = entry.path().filename();
      const bool is_arrival = name.ends_with(kArrived) && name.size() > kArrived.size() + kTokenSize + 1;
      const auto number = number_of_start(name);
      if (name.starts_with('.') || (!is_arrival && !number)) continue;
      seen.last_start = std::max(seen.last_start, number.value_or(0));
      const double age = came_ - mtime_of(name).value_or(0);
      if (is_arrival && age <= 0) seen.waiting.push_back(name);
      if (age > kForgotten) forgotten.push_back(name);
    }
    for (const std::string& name : forgotten) {
      std::error_code ignored;
      if (number_of_start(name) != seen.last_start) std::filesystem::remove(path_of(name), ignored);
    }
    std::ranges::sort(seen.waiting);
    return seen;
  }

  static std::optional<std::uint64_t> number_of_start(std::string_view file) {
    if (!file.ends_with(kStart)) return std::nullopt;
    return parse_count(file.substr(0, file.size() - kStart.size()));
  }

  void refuse_late(const Start& start) const {
    if (came_ > start.time - kNext) return;
    throw usage_error(
        "--barrier: {} nodes start in '{}' without node '{}', which came before they started; --world counts all nodes "
        "that share the folder, and other runs need another folder",
        start.files.size(), folder_, node_);
  }

  void refuse_others(const std::vector<std::string>& files) const {
    for (const std::string& file : files) {
      if (file == file_ || node_of(file) != node_) continue;
      throw usage_error("--barrier: another process waits in '{}' as node '{}'; set NODE_NAME on each machine", folder_,
                        node_);
    }
    if (files.size() <= *options_.world) return;
    throw usage_error(
        "--barrier: {} nodes wait in '{}', and --world is {}; give all of them the same --world, and other "
        "runs another folder",
        files.size(), folder_, *options_.world);
  }

  std::string path_of_start(std::uint64_t number) const { return path_of(fmt::format("{}{}", number, kStart)); }

  /// Does nothing if another node was first.
  void publish_start(std::uint64_t number, const std::vector<std::string>& files) const {
    const auto system = io::posix_file_system();
    io::AtomicFile file(*system, path_of_start(number));
    file.write(as_bytes(fmt::format("{:.3f}\n{}", unix_now() - clock_offset_ + kBarrierDelay, fmt::join(files, "\n"))));
    file.commit_new();
  }

  std::optional<Start> read_start(std::uint64_t number) const {
    if (number == 0) return std::nullopt;
    const std::string path = path_of_start(number);
    const std::string text = io::read_text_file(path);
    const std::vector<std::string_view> lines = system::split(text, '\n');
    const auto time = parse_decimal(lines.front().substr(0, 20));
    if (!time) throw Error(ErrorCode::corrupt, At{path}, "'{}' does not contain a time; give another --barrier", path);
    return Start{*time, {lines.begin() + 1, lines.end()}};
  }

  [[noreturn]] void throw_incomplete(const std::vector<std::string>& files) const {
    std::vector<std::string> came;
    for (const std::string& file : files) came.push_back(node_of(file));
    std::vector<std::string> missing = expand_hosts(system::process_environment()("SLURM_JOB_NODELIST").value_or(""));
    const NodeNames names(missing, came);
    for (const std::string& node : came) std::erase(missing, names.of(node));
    throw Error(
        ErrorCode::io, At{folder_},
        "only {} of {} nodes came to the barrier '{}' within {}; missing: {}; start all of them again, or use a "
        "smaller --world",
        came.size(), *options_.world, folder_, format_duration(patience_.count()),
        missing.empty() ? format_count(*options_.world - came.size(), "node")
                        : fmt::format("{}", fmt::join(missing, ", ")));
  }

  const CommonStartOptions& options_;
  const std::string folder_;
  const std::string node_;
  const system::Seconds patience_;
  Context& context_;
  std::string file_;
  double came_ = 0;  ///< on the clock of the file server
  double clock_offset_ = 0;
};

/// Adds the names of `pattern`, which may have several pairs of brackets. False if it is malformed or has too many.
bool add_hosts(const std::string& prefix, std::string_view pattern, std::vector<std::string>& names) {
  constexpr std::size_t kMost = 65536;
  const std::size_t open = pattern.find('[');
  const std::size_t close = pattern.find(']', std::min(open, pattern.size()));
  if (open == std::string_view::npos) {
    names.push_back(fmt::format("{}{}", prefix, pattern));
    return pattern.find(']') == std::string_view::npos;
  }
  if (close == std::string_view::npos || close == open + 1) return false;
  for (const std::string_view range : system::split(pattern.substr(open + 1, close - open - 1), ',')) {
    const std::size_t dash = std::min(range.find('-'), range.size());
    const auto first = parse_count(range.substr(0, dash));
    const auto last = dash < range.size() ? parse_count(range.substr(dash + 1)) : first;
    if (!first || !last || *last < *first) return false;
    for (std::uint64_t i = *first; i <= *last; ++i) {
      const std::string start = fmt::format("{}{}{:0{}}", prefix, pattern.substr(0, open), i, dash);
      if (names.size() >= kMost || !add_hosts(start, pattern.substr(close + 1), names)) return false;
    }
  }
  return true;
}

}  // namespace

std::vector<std::string> expand_hosts(std::string_view list) {
  std::vector<std::string> names;
  std::size_t start = 0;
  bool in_brackets = false;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    const char c = i < list.size() ? list[i] : ',';
    if (c == '[' || c == ']') in_brackets = c == '[';
    if (c != ',' || (in_brackets && i < list.size())) continue;
    if (i > start && !add_hosts("", list.substr(start, i - start), names)) {
      throw usage_error("'{}' is not a list of at most 65,536 nodes, such as node[01-16],gpu1",
                        list.substr(start, i - start));
    }
    start = i + 1;
  }
  return names;
}

namespace {

std::string short_name(const std::string& name) { return name.substr(0, name.find('.')); }

}  // namespace

NodeNames::NodeNames(std::vector<std::string> of_scheduler, const std::vector<std::string>& others)
    : of_scheduler_(std::move(of_scheduler)) {
  for (const std::string& name : of_scheduler_) by_short_name_[short_name(name)].insert(name);
  for (const std::string& name : others) by_short_name_[short_name(name)].insert(name);
}

std::string NodeNames::of(const std::string& name) const {
  const auto same = by_short_name_.find(short_name(name));
  std::set<std::string> all{name};
  if (same != by_short_name_.end()) all.insert(same->second.begin(), same->second.end());
  const std::string& first = *all.begin();  // the short one, if it is there
  if (all.size() > (first == short_name(name) ? 2 : 1)) return name;
  const auto known = std::ranges::find_first_of(of_scheduler_, all);
  return known == of_scheduler_.end() ? first : *known;
}

double parse_start(const std::string& text) {
  const std::string_view digits = text.starts_with('@') ? std::string_view(text).substr(1) : std::string_view(text);
  if (const auto seconds = parse_decimal(digits)) return *seconds;
  if (const auto time = system::parse_iso8601(text)) return system::unix_seconds(*time);
  throw usage_error("--start-at: '{}' is not a time such as 2026-11-26T12:00:00Z or @1764158400", text);
}

CommonStart wait_for_start(const CommonStartOptions& options, const std::string& node, Context& context,
                           system::Seconds patience) {
  check_options(options);
  CommonStart start;
  start.node = node;
  double planned = unix_now();
  std::optional<Barrier> barrier;  // this node waits there until it starts
  if (options.barrier) {
    if (node.find('/') != std::string::npos) throw usage_error("the node's name '{}' contains a slash", node);
    context.progress().start("waiting for other nodes", *options.world, 0, "nodes");
    barrier.emplace(options, node, patience, context);
    start.clock_offset = barrier->clock_offset();
    std::tie(planned, start.id) = barrier->wait();
  }
  if (options.start_at) {
    planned = parse_start(*options.start_at);
    context.progress().start_for("waiting for --start-at", std::max(planned - unix_now(), 0.0));
  }
  sleep_until(planned, context);
  start.started_at = unix_now();
  start.late = std::max(start.started_at - planned, 0.0);
  if (start.late > kMostLate) {
    context.warn("started_late", "this node started {:.1f} s after the others; its first seconds are missing in sums",
                 start.late);
  }
  return start;
}

void CommonStartOptions::describe(FieldList& v) {
  v.topic("Many nodes");
  v.field(
      {"barrier",
       "start together: wait in this folder, which all nodes share, until --world nodes are there, at most 10 minutes",
       "DIR", kMayDiffer, kSharedOutput},
      barrier);
  v.field({"world", Unit::count, "with --barrier: how many nodes start together", kMayDiffer, at_least(1),
           Misnomers{"nodes"}},
          world);
  v.field({"start-at", "start together: at this time, 2026-11-26T12:00:00Z or @SECONDS", "TIME", kMayDiffer}, start_at);
}

void CommonStart::describe(FieldList& v) {
  v.field({"node", "name of this node"}, node);
  v.field({"id", "of the start, the same on all nodes of a barrier"}, id);
  v.field({"started_at_unix", Unit::seconds, "start of the measurement, as Unix time"}, started_at);
  v.field({"clock_offset", Unit::seconds, "this node's clock less that of the file server, from the barrier"},
          clock_offset);
  v.field({"late", Unit::seconds, "how long after the agreed time it started"}, late);
}

}  // namespace shardkit::bench
