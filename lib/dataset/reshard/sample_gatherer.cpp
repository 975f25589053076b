#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fnmatch.h>

#include "core/error.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "dataset/reshard/reshard.hpp"
#include "dataset/reshard/sample_table.hpp"
#include "dataset/samples/sample_lister.hpp"
#include "formats/plan_file.hpp"
#include "formats/portable_name.hpp"
#include "formats/sample_name.hpp"
#include "formats/shard_index.hpp"
#include "formats/tar_header.hpp"
#include "formats/tar_scanner.hpp"
#include "formats/tsv.hpp"
#include "sync/task_group.hpp"

namespace shardkit::dataset {
namespace {

[[noreturn]] void refuse(const std::string& text) { throw Error(ErrorCode::usage, text); }

/// Which samples a reshard keeps. Thread-safe.
class SampleFilter {
 public:
  /// `classes` are those that the inputs' manifests know. Throws Error{usage} for a class that is neither a name among
  /// them nor a number, and for sizes that exclude each other.
  SampleFilter(const ReshardOptions& options, const std::vector<formats::ManifestClass>& classes)
      : globs_(options.keys),
        min_size_(options.min_size.value_or(0)),
        max_size_(options.max_size.value_or(std::numeric_limits<std::uint64_t>::max())) {
    if (min_size_ > max_size_) refuse("--min-size is above --max-size: no sample would be left");
    for (const std::string& wanted : options.classes) {
      bool found = false;
      for (const formats::ManifestClass& item : classes) {
        if (item.name != wanted) continue;
        classes_[item.label].insert(item.name);
        found = true;
      }
      std::uint64_t label = 0;
      if (!found && !formats::parse_number(wanted, label)) {
        refuse(
            fmt::format("--class '{}' is no label, and no class of that name is in the inputs' manifests; give its "
                        "label, or choose by --key 'PATTERN'",
                        wanted));
      }
      if (!found) labels_.insert(label);
    }
    for (auto& [label, names] : names_by_label(classes)) {
      if (!classes_.contains(label)) continue;
      if (names.size() == 1) {
        labels_.insert(label);
      } else {
        names_.emplace(label, std::move(names));
      }
    }
  }

  /// By class or label, key in the input, and bytes of all members together. Of classes that share a label the
  /// sample's path tells which it is of.
  bool keeps(const formats::MovedSample& sample) const {
    if (!keeps_class(sample)) return false;
    const auto matches = [&](const std::string& glob) {
      return ::fnmatch(glob.c_str(), sample.source_key.c_str(), 0) == 0;
    };
    if (!globs_.empty() && std::ranges::none_of(globs_, matches)) return false;
    std::uint64_t bytes = 0;
    for (const formats::MovedMember& member : sample.members) bytes += member.size;
    return min_size_ <= bytes && bytes <= max_size_;
  }

 private:
  bool keeps_class(const formats::MovedSample& sample) const {
    if (labels_.empty() && classes_.empty()) return true;
    if (!sample.label) return false;
    if (labels_.contains(*sample.label)) return true;
    const auto names = names_.find(*sample.label);
    return names != names_.end() &&
           classes_.at(*sample.label).contains(names->second[formats::class_of_path(sample, names->second)]);
  }

  std::set<std::uint64_t> labels_;                           ///< of which all samples are wanted
  std::map<std::uint64_t, std::set<std::string>> classes_;   ///< wanted by name, by label
  std::map<std::uint64_t, std::vector<std::string>> names_;  ///< of labels that several classes share
  std::vector<std::string> globs_;                           ///< empty: any
  std::uint64_t min_size_;
  std::uint64_t max_size_;
};

/// --rename: "OLD=NEW" each. Throws Error{usage} for anything else, and for extensions that no portable member can
/// have.
std::map<std::string, std::string> parse_renames(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> renames;
  for (const std::string& rename : texts) {
    const std::size_t equals = rename.find('=');
    const std::string from = formats::portable_moved_extension(rename.substr(0, equals));
    const std::string to = equals == std::string::npos ? "" : rename.substr(equals + 1);
    if (from.empty() || to.empty() || to != formats::portable_moved_extension(to) || to.starts_with('.') ||
        to.ends_with('.')) {
      refuse(
          fmt::format("--rename '{}': say OLD=NEW, such as jpeg=jpg; the new extension has letters in lower case, "
                      "digits, '_', '-' and dots between them",
                      rename));
    }
    if (!renames.emplace(from, to).second) refuse(fmt::format("--rename names '{}' twice", from));
  }
  return renames;
}

constexpr std::size_t kMostMembers = 4096;

/// True for names of files that an operating system put beside samples (".DS_Store", "__MACOSX/x"), of hidden ones, and
/// of none: readers disagree about them.
bool is_stray_name(std::string_view name) {
  const std::string_view base = name.substr(name.rfind('/') + 1);
  return base.empty() || base.starts_with('.') || name.starts_with("__MACOSX/") ||
         name.find("/__MACOSX/") != std::string_view::npos;
}

constexpr unsigned kFewestReaders = 8;         // on a slow source one waits most of the time
constexpr std::size_t kLongestExtension = 60;  // leaves a key room for a hash and a mark

[[noreturn]] void refuse_tar(ErrorCode code, const std::string& path, std::uint64_t offset, const std::string& text) {
  throw Error(code,
              fmt::format("shard '{}' cannot be read, at byte {}: {}; `shardctl verify` tells all that is wrong with a "
                          "tar",
                          path, offset, text),
              path, offset);
}

/// Makes a link the file that it stands for; false when its content is not known.
bool follow_link(const std::map<std::uint64_t, LinkedContent>& links, formats::TarEntry& entry) {
  const auto link = links.find(entry.header_offset);
  if (link == links.end()) return false;
  entry.type = formats::TarType::regular;
  entry.data_offset = link->second.offset;
  entry.size = link->second.size;
  return true;
}

/// A sample of the tar at `path`, with its key and extensions as they are there, the latter in lower case.
formats::MovedSample moved_sample(ListedSample&& listed, std::size_t input, const std::string& path) {
  if (listed.members.size() > kMostMembers) {
    refuse_tar(ErrorCode::unsupported, path, listed.members.front().offset,
               fmt::format("more than {} members in a row share the key '{}'; is this a tar of samples?", kMostMembers,
                           listed.key));
  }
  formats::MovedSample sample;
  sample.input = input;
  sample.source_key = std::move(listed.key);
  sample.label = listed.label;
  for (ListedMember& member : listed.members) {
    if (!member.plain) {
      refuse_tar(ErrorCode::unsupported, path, member.offset,
                 fmt::format("'{}' is stored as a sparse file; pack it again without --sparse", member.name));
    }
    sample.members.push_back({std::move(member.extension), member.offset, member.size, std::nullopt});
  }
  return sample;
}

/// Where in its tar the sample starts, for messages.
std::uint64_t first_offset(const formats::MovedSample& sample) {
  std::uint64_t first = sample.members.front().offset;
  for (const formats::MovedMember& member : sample.members) first = std::min(first, member.offset);
  return first;
}

/// The first pass of a reshard: what samples the inputs hold and where they lie.
class SampleGatherer {
 public:
  SampleGatherer(const ReshardOptions& options, const ReshardInputs& inputs, Context& ctx)
      : inputs_(inputs), filter_(options, inputs.classes), renames_(parse_renames(options.rename)), ctx_(ctx) {}

  GatheredSamples run(SampleTable& table, unsigned threads) {
    std::uint64_t bytes = 0;
    for (const ReshardInput& input : inputs_.tars) bytes += input.tar_bytes();
    ctx_.progress().start("look for samples", inputs_.tars.size(), bytes);
    sync::for_each_index(inputs_.tars.size(), std::max(threads, kFewestReaders), ctx_.stop_token(),
                         [&](std::size_t input, std::size_t) {
                           if (!read_index(input, table)) read_headers(input, table);
                           ++ctx_.progress().items;
                         });
    table.close();
    if (found_ > 0) return {found_, ignored_};
    throw Error(ErrorCode::not_found, fmt::format("there is no sample in {}; `shardctl ls` shows what there is",
                                                  format_count(inputs_.tars.size(), "input")));
  }

 private:
  /// What one tar gave.
  struct Gathered {
    explicit Gathered(SampleTable& table) : batch(table) {}
    SampleTable::Batch batch;
    std::uint64_t found = 0;
    std::uint64_t ignored = 0;
    bool lacks_end = false;
  };

  /// False when there is no index that can be used.
  bool read_index(std::size_t input, SampleTable& table) {
    const ReshardInput& tar = inputs_.tars[input];
    const std::string path = io::join_path(io::parent_folder(tar.path), formats::shard_index_path(tar.identity.name));
    if (tar.unpacked || !inputs_.files->exists(path)) return false;
    Gathered gathered(table);
    formats::ShardIndexVisitor visitor;
    visitor.sample = [&](formats::IndexSample&& line) {
      formats::MovedSample sample;
      sample.input = input;
      sample.source_key = std::move(line.key);
      sample.label = line.label;
      sample.path = std::move(line.path);
      for (formats::IndexMember& member : line.members) {
        sample.members.push_back(
            {std::move(member.extension), member.offset, member.size, member.xxh3, std::move(member.path)});
      }
      keep(std::move(sample), gathered);
      if (gathered.found % 1024 == 0) ctx_.throw_if_stopped();
    };
    try {
      const auto source = inputs_.files->open(path);
      if (formats::read_shard_summary(*source, path).bytes != tar.tar_bytes()) return false;
      formats::read_shard_index(*source, path, visitor);
    } catch (const Error& error) {
      if (error.path() != path || (error.code() != ErrorCode::corrupt && error.code() != ErrorCode::unsupported)) throw;
      ctx_.warn("index_unusable", fmt::format("{}; the tar was read instead", error.what()));
      return false;
    }
    take(input, std::move(gathered), table);
    ctx_.progress().bytes.fetch_add(tar.tar_bytes(), std::memory_order_relaxed);
    return true;
  }

  void read_headers(std::size_t input, SampleTable& table) {
    const std::string& path = inputs_.tars[input].path;
    const auto source = inputs_.files->open(inputs_.tars[input].tar());
    std::map<std::uint64_t, LinkedContent> links;
    while (true) {
      Gathered gathered(table);
      bool needs_links = false;
      ListingVisitor visitor;
      visitor.admit = [&](formats::TarEntry& entry) {
        const bool resolved = entry.type == formats::TarType::hard_link && follow_link(links, entry);
        needs_links = needs_links || (entry.type == formats::TarType::hard_link && !resolved);
        const auto name = formats::split_sample_name(entry.name);
        return !is_stray_name(entry.name) && !(name && name->extension.empty());
      };
      visitor.sample = [&](ListedSample&& listed) {
        if (!needs_links) keep(moved_sample(std::move(listed), input, path), gathered);
        return !needs_links;
      };
      visitor.other = [&](formats::TarEntry&& entry) {
        gathered.ignored += entry.type == formats::TarType::directory ? 0 : 1;
      };
      visitor.finding = [&](const formats::TarFinding& finding) {
        refuse_tar(ErrorCode::corrupt, path, finding.offset, finding.text);
      };
      gathered.lacks_end = !list_headers(*source, path, visitor, ctx_);
      if (!needs_links) return take(input, std::move(gathered), table);
      links = resolve_hard_links(*source, path, ctx_);
    }
  }

  void keep(formats::MovedSample&& sample, Gathered& gathered) const {
    gathered.ignored +=
        std::erase_if(sample.members, [](const formats::MovedMember& member) { return member.extension.empty(); });
    if (sample.members.empty()) return;
    if (is_stray_name(sample.source_key)) {
      gathered.ignored += sample.members.size();
      return;
    }
    ++gathered.found;
    if (!filter_.keeps(sample)) return;
    settle_members(sample);
    std::size_t longest = 0;
    for (const formats::MovedMember& member : sample.members) longest = std::max(longest, member.extension.size());
    sample.key = formats::portable_moved_key(sample.source_key, formats::kTarNameLimit - 1 - longest);
    gathered.batch.add(sample);
  }

  void take(std::size_t input, Gathered&& gathered, SampleTable& table) {
    if (gathered.lacks_end) {
      ctx_.warn(
          "end_of_archive_missing",
          fmt::format("shard '{}' has no end-of-archive blocks: if it was cut off, the members after that are missing",
                      inputs_.tars[input].path));
    }
    found_ += gathered.found;
    ignored_ += gathered.ignored;
    table.take(input, std::move(gathered.batch));
  }

  /// Output extensions in output order, checked.
  void settle_members(formats::MovedSample& sample) const {
    const std::uint64_t offset = first_offset(sample);
    const auto fail = [&](ErrorCode code, const std::string& text) {
      const std::string& path = inputs_.tars[sample.input].path;
      throw Error(code, fmt::format("sample '{}' of shard '{}', at byte {}: {}", sample.source_key, path, offset, text),
                  path, offset);
    };
    for (formats::MovedMember& member : sample.members) {
      member.extension = formats::portable_moved_extension(member.extension);
      if (const auto renamed = renames_.find(member.extension); renamed != renames_.end()) {
        if (member.path.empty() && !sample.path.empty()) {
          member.path = formats::implied_path(sample.path, member.extension);
        }
        member.extension = renamed->second;
      }
      if (member.extension.size() > kLongestExtension) {
        fail(ErrorCode::unsupported,
             fmt::format("the extension '{}' is longer than {} bytes; give it another with --rename", member.extension,
                         kLongestExtension));
      }
      if (member.size >= formats::kTarSizeLimit) {
        fail(ErrorCode::unsupported,
             fmt::format("its member '{}' has {} bytes; members of portable shards stay below 8 GiB", member.extension,
                         member.size));
      }
    }
    std::ranges::sort(sample.members, {}, &formats::MovedMember::extension);
    const auto twice = std::ranges::adjacent_find(sample.members, {}, &formats::MovedMember::extension);
    if (twice != sample.members.end()) {
      const bool renamed =
          std::ranges::any_of(renames_, [&](const auto& rule) { return rule.second == twice->extension; });
      fail(ErrorCode::corrupt,
           fmt::format("two members have the extension '{}'{}, of which readers keep one or none; {}, or choose other "
                       "samples with --key",
                       twice->extension, renamed ? " by --rename" : " in lower case",
                       renamed ? "leave that --rename out" : "unpack the tar and give one of the files another name"));
    }
  }

  const ReshardInputs& inputs_;
  const SampleFilter filter_;
  const std::map<std::string, std::string> renames_;  ///< extensions by those that they replace
  Context& ctx_;
  std::atomic<std::uint64_t> found_{0};
  std::atomic<std::uint64_t> ignored_{0};
};

}  // namespace

GatherSamples sample_gatherer(const ReshardOptions& options, const ReshardInputs& inputs, Context& ctx) {
  return [gatherer = std::make_shared<SampleGatherer>(options, inputs, ctx)](SampleTable& table, unsigned threads) {
    return gatherer->run(table, threads);
  };
}

}  // namespace shardkit::dataset
