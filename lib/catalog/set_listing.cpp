#include "catalog/set_listing.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "catalog/shard_set.hpp"
#include "core/error.hpp"
#include "core/folder.hpp"
#include "formats/stage_records.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"
#include "io/run_file.hpp"
#include "sync/task_group.hpp"
#include "system/clock.hpp"

namespace shardkit::catalog {
namespace {

namespace fs = std::filesystem;

void sort(Listing& listing) { std::ranges::sort(listing.files, {}, &Listing::File::name); }

/// Lists a local folder.
class FolderListing {
 public:
  explicit FolderListing(std::string folder) { listing_.folder = std::move(folder); }

  Listing list(bool groups) {
    add({});
    const auto is_own = [](const Listing::File& file) {
      return file.name.ends_with(".tar") || file.name == formats::kManifestName || file.name == formats::plan_path(0);
    };
    const std::vector<std::string> folders = std::exchange(folders_, {});
    if (groups && std::ranges::none_of(listing_.files, is_own)) {
      for (const std::string& name : folders) add(name + '/');
    } else {
      for (const std::string& name : folders) listing_.files.push_back({name + '/'});
    }
    if (closed_ && listing_.files.empty()) throw Error(*closed_);
    sort(listing_);
    measure_tars();
    find_runs();
    find_stage_above();
    return std::move(listing_);
  }

 private:
  /// `prefix`: "" or a folder with a slash at its end.
  void add(const std::string& prefix) {
    std::error_code error;
    const std::string path = io::join_path(listing_.folder, prefix);
    for (const FolderEntry& entry : folder_entries(path, error)) {
      if (io::is_temp_name(entry.name)) continue;
      if (!entry.is_folder()) {
        listing_.files.push_back({prefix + entry.name});
      } else if (entry.name == formats::kStateFolder || prefix.find(formats::kStateFolder) != std::string::npos) {
        add(prefix + entry.name + '/');
      } else if (prefix.empty() && !is_hidden_or_system(entry.name)) {
        folders_.push_back(entry.name);
      }
    }
    if (error) closed_ = system_error(error.value(), "list", path);
    if (error && prefix.empty()) throw Error(*closed_);
  }

  /// In batches: a size costs less than handing it to a thread, but for network file systems.
  void measure_tars() {
    std::vector<Listing::File*> tars;
    for (Listing::File& file : listing_.files) {
      if (is_tar_name(file.name)) tars.push_back(&file);
    }
    constexpr std::size_t kTarsAtOnce = 64;
    constexpr std::size_t kStatThreads = 32;
    const std::size_t batches = (tars.size() + kTarsAtOnce - 1) / kTarsAtOnce;
    sync::for_each_index(batches, std::min(batches, kStatThreads), {}, [&](std::size_t batch, std::size_t) {
      for (std::size_t i = batch * kTarsAtOnce; i < std::min(tars.size(), (batch + 1) * kTarsAtOnce); ++i) {
        const std::string path = io::join_path(listing_.folder, tars[i]->name);
        std::error_code unknown;
        const std::uint64_t bytes = fs::file_size(path, unknown);
        if (unknown) refuse_special_file(path);
        tars[i]->bytes = unknown ? 0 : bytes;
      }
    });
  }

  void find_runs() {
    const std::string prefix = formats::kStateFolder + std::string("/");
    const auto is_run = [&](const Listing::File& file) {
      return file.name.starts_with(prefix) && io::is_run_name(std::string_view(file.name).substr(prefix.size()));
    };
    if (std::ranges::none_of(listing_.files, is_run)) return;
    const std::string state = io::join_path(listing_.folder, prefix);
    listing_.is_live = !io::live_runs(state, io::lock_reach(state), system::system_clock().now()).empty();
  }

  void find_stage_above() {
    fs::path above = fs::absolute(listing_.folder).lexically_normal();
    if (!above.has_filename()) above = above.parent_path();
    Listing::StagedIn in;
    for (int i = 0; i < formats::kDeepestStagedFolder && above.has_relative_path(); ++i) {
      in.up += "../";
      in.below.insert(0, above.filename().string() + '/');
      above = above.parent_path();
      std::error_code none;
      if (!fs::exists(above / formats::kStageJournalPath, none)) continue;
      in.has_marker = fs::exists(above / formats::kStagedMarkerPath, none);
      listing_.staged_in = std::move(in);
      return;
    }
  }

  Listing listing_;
  std::vector<std::string> folders_;
  std::optional<Error> closed_;  ///< of a folder that cannot be listed
};

SeenSet look_at_folder(const std::string& folder, bool groups) {
  return look(FolderListing(folder).list(groups), [&](const std::string& name) {
    return std::make_unique<io::FileSource>(io::File::open_regular(io::join_path(folder, name)));
  });
}

Listing listing_of(std::string folder, const std::vector<io::ObjectInfo>& objects, const std::string& prefix = {}) {
  Listing listing{std::move(folder), {}};
  for (auto object = std::ranges::lower_bound(objects, prefix, {}, &io::ObjectInfo::name);
       object != objects.end() && object->name.starts_with(prefix); ++object) {
    const std::string name = object->name.substr(prefix.size());
    if (!io::is_temp_name(std::string_view(name).substr(name.rfind('/') + 1)))
      listing.files.push_back({name, object->size});
  }
  return listing;
}

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

/// On a web server, where names are looked up one by one.
class WebLook {
 public:
  WebLook(Inputs& inputs, std::string folder) : inputs_(inputs) {
    listing_.folder = std::move(folder);
    listing_.is_whole = false;
  }

  SeenSet look(bool shards) {
    look_up({formats::kManifestName, formats::plan_path(0), formats::kStageJournalPath, formats::kStagedMarkerPath,
             formats::kUploadRecord});
    for (std::uint64_t plan = 0; listing_.has(formats::plan_path(plan)); ++plan)
      look_up({formats::plan_path(plan + 1)});
    SeenSet seen = look_once();
    std::vector<std::string> names;
    if (seen.manifest && shards) {
      for (const formats::ManifestShard& shard : seen.manifest->shards) names.push_back(shard.name);
    } else if (!seen.manifest) {  // what a plan names is not all there
      for (const SeenPlan& plan : seen.plans) names.insert(names.end(), plan.shards.begin(), plan.shards.end());
    }
    if (names.empty()) return seen;
    look_up(names);
    return look_once();
  }

 private:
  void look_up(const std::vector<std::string>& names) {
    std::vector<std::string> addresses;
    for (const std::string& name : names) addresses.push_back(io::join_path(listing_.folder, name));
    const auto found = inputs_.find_all(addresses);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (found[i]) {
        listing_.files.push_back({names[i], found[i]->size});
      } else {
        listing_.absent.insert(names[i]);
      }
    }
    sort(listing_);
  }

  SeenSet look_once() {
    return catalog::look(listing_, [this](const std::string& name) {
      const auto [text, is_new] = texts_.try_emplace(name);
      if (is_new) text->second = inputs_.text(io::join_path(listing_.folder, name));
      return std::make_unique<MemorySource>(as_bytes(text->second));
    });
  }

  Inputs& inputs_;
  Listing listing_;
  std::map<std::string, std::string> texts_;
};

}  // namespace

SeenSet look_at(Inputs& inputs, const NamedInput& folder, LookFor wanted) {
  const std::string path = without_slash(folder.path.substr(0, folder.path.find("?...")));
  if (folder.location.kind == ObjectLocation::Kind::local)
    return look_at_folder(without_slash(folder.path), wanted.groups);
  if (folder.location.kind == ObjectLocation::Kind::web) return WebLook(inputs, path).look(wanted.shards);
  return look_at(inputs, path, inputs.list(folder.location, true));
}

SeenSet look_at(Inputs& inputs, const std::string& folder, const std::vector<io::ObjectInfo>& objects) {
  const std::string path = without_slash(folder);
  return look(listing_of(path, objects),
              [&](const std::string& name) { return inputs.open(io::join_path(path, name)); });
}

SeenSet look_at(io::ObjectSource& source, const std::vector<io::ObjectInfo>& objects, const std::string& folder,
                const std::stop_token& stop) {
  const std::string path = folder.empty() ? source.location() : without_slash(source.address_of(folder));
  return look(listing_of(path, objects, folder), [&](const std::string& name) {
    const auto object = std::ranges::lower_bound(objects, folder + name, {}, &io::ObjectInfo::name);
    return std::make_unique<io::ObjectReader>(std::shared_ptr<io::ObjectSource>(std::shared_ptr<void>(), &source),
                                              *object, stop);
  });
}

SeenSet look_at(io::OutputFiles& files, const std::string& folder) {
  if (files.is_local()) {
    std::error_code closed;
    return fs::exists(folder, closed) || closed ? look_at_folder(folder, true) : SeenSet{folder, Empty{}};
  }
  Listing listing{folder, {}};
  const std::function<void(const std::string&)> add = [&](const std::string& prefix) {
    for (const std::string& name : files.names_in(without_slash(io::join_path(folder, prefix)))) {
      const auto bytes = files.size_of(io::join_path(folder, prefix + name));
      bytes ? listing.files.push_back({prefix + name, bytes}) : add(prefix + name + '/');
    }
  };
  add({});
  sort(listing);
  return look(listing, [&](const std::string& name) { return files.open(io::join_path(folder, name)); });
}

}  // namespace shardkit::catalog
