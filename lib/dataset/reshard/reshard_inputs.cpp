#include "dataset/reshard/reshard_inputs.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <mutex>
#include <set>

#include <fmt/format.h>
#include <sys/stat.h>

#include "core/error.hpp"
#include "core/folder.hpp"
#include "core/hash.hpp"
#include "core/remedies.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "dataset/checks/apart.hpp"
#include "dataset/checks/expected_shard.hpp"
#include "dataset/checks/image_fault.hpp"
#include "dataset/checks/whole_set.hpp"
#include "dataset/reshard/reshard.hpp"
#include "dataset/samples/sample_lister.hpp"
#include "formats/shard_index.hpp"
#include "formats/tar_header.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"
#include "sync/loan_pool.hpp"
#include "sync/task_group.hpp"
#include "system/limits.hpp"

namespace shardkit::dataset {
namespace {

namespace fs = std::filesystem;

/// The names of the labels in each folder's manifest; null without one.
using NamesByFolder = std::map<std::string, std::shared_ptr<const LabelNames>>;

/// The classes of all folders, with the labels that they have, or `merged` with new ones.
std::vector<formats::ManifestClass> all_classes(const NamesByFolder& folders, bool merged) {
  std::set<std::pair<std::uint64_t, std::string>> labeled;  // a class map may give several classes one label
  std::set<std::string> names;
  for (const auto& [folder, by_label] : folders) {
    for (const auto& [label, of_label] : by_label ? *by_label : LabelNames()) {
      for (const std::string& name : of_label) labeled.emplace(label, name);
      names.insert(of_label.begin(), of_label.end());
    }
  }
  std::vector<formats::ManifestClass> classes;
  if (merged) {
    for (const std::string& name : names) classes.push_back({name, classes.size(), 0});
  } else {
    for (const auto& [label, name] : labeled) classes.push_back({name, label, 0});
  }
  return classes;
}

/// For an object, its version replaces the time.
formats::PlanInput identity_of(const catalog::ShardFile& shard, catalog::Inputs& files) {
  if (catalog::is_address(shard.path)) {
    const std::string version = files.find(shard.path).value().version;
    return {shard.name, shard.bytes, static_cast<std::int64_t>(xxh3_64(as_bytes(version)) >> 1U)};
  }
  struct stat info {};
  if (::stat(shard.path.c_str(), &info) != 0) throw system_error(errno, "look at", shard.path);
  return {shard.name, static_cast<std::uint64_t>(info.st_size), io::mtime_ns(info)};
}

/// A tar may be compressed without its name saying so. Objects of a store are not looked into.
bool holds_compressed_data(const std::string& path) {
  if (catalog::is_address(path)) return false;
  std::array<std::byte, formats::kTarBlock> start{};
  const std::size_t got = io::FileSource(path).read_at(0, start);
  return !formats::compression_name(Bytes(start).first(got)).empty();
}

void refuse_own_output(const std::string& folder, const std::vector<std::string>& targets) {
  for (const std::string& target : targets) {
    if (resolved_path(folder) != resolved_path(target)) continue;
    throw Error(ErrorCode::usage, At{folder}, "'{}' is both input and output; write to another folder", folder);
  }
}

void note_options(const formats::Manifest& manifest, std::map<std::string, std::string>& made_with) {
  for (const char* name :
       {"fields", "list", "metadata", "on_bad", "primary", "quality", "resize", "sidecar", "unlabeled"}) {
    const auto option = manifest.options.find(name);
    if (option != manifest.options.end()) made_with.insert(*option);
  }
  // Paths of several sources cannot be separated afterwards: then the manifest gets no source folder.
  const auto source = manifest.options.find("source_folder");
  const std::string folder = source == manifest.options.end() ? std::string() : source->second;
  const auto [known, is_new] = made_with.try_emplace("source_folder", folder);
  if (!is_new && known->second != folder) known->second.clear();
}

/// The divisions behind one set of a split, or several: those of one set were all chosen by the same hash.
unsigned splits_before(const catalog::FolderManifests& manifests) {
  unsigned before = 0;
  std::set<std::string> sets;
  for (const auto& [folder, manifest] : manifests) {
    unsigned earlier = 0;
    const auto text = [&](const char* name) -> std::string {
      if (!manifest) return {};
      const auto option = manifest->options.find(name);
      return option == manifest->options.end() ? std::string() : option->second;
    };
    if (parse_number(text("earlier_splits"), earlier)) before = std::max(before, earlier);
    sets.insert(text("set"));
  }
  return sets.size() == 1 && !sets.begin()->empty() ? before + 1 : before;
}

/// Throws Error{conflict} if the tar has changed.
std::shared_ptr<ByteSource> open_unchanged(const ReshardInput& tar, catalog::Inputs& inputs) {
  if (catalog::is_address(tar.tar())) return inputs.open(tar.tar());  // it is read in the version of its identity
  auto file = std::make_shared<io::FileSource>(tar.tar());
  if (tar.unpacked) return file;  // only known here
  const struct stat info = file->file().info();
  if (static_cast<std::uint64_t>(info.st_size) == tar.identity.bytes && io::mtime_ns(info) == tar.identity.mtime_ns) {
    return file;
  }
  throw Error(ErrorCode::conflict, At{tar.path},
              "'{}' has changed since its samples were listed; reshard again into an empty folder", tar.path);
}

/// The input tars of a reshard, each opened when it is first needed and kept open up to a limit; past that one is
/// opened for each read. Thread-safe.
class InputFiles {
 public:
  explicit InputFiles(const ReshardInputs& inputs) : inputs_(inputs), files_(inputs.tars.size()) {}

  /// Fills `out` from the tar's byte `offset`. Throws Error{conflict} for a tar that is not what it was when the plan
  /// was made.
  void read(std::size_t input, std::uint64_t offset, MutableBytes out) {
    const std::size_t got = open(input)->read_at(offset, out);
    if (got == out.size()) return;
    const std::string& path = inputs_.tars[input].path;
    throw Error(ErrorCode::conflict, At{path, offset},
                "'{}' ends {} bytes into a member at byte {}: it has changed since its samples were listed or indexed; "
                "if it has an index in .shardkit, create that again, and reshard into an empty folder",
                path, got, offset);
  }

 private:
  std::shared_ptr<ByteSource> open(std::size_t input) {
    {
      const std::scoped_lock lock(mutex_);
      if (files_[input]) return files_[input];
    }
    // Not under the lock: it may take long.
    std::shared_ptr<ByteSource> file = open_unchanged(inputs_.tars[input], *inputs_.files);
    const std::scoped_lock lock(mutex_);
    if (files_[input]) return files_[input];
    if (open_ < most_open_) {
      files_[input] = file;
      ++open_;
    }
    return file;
  }

  const ReshardInputs& inputs_;
  const std::size_t most_open_ = std::min(system::usable_descriptors() / 4, 512U);
  std::mutex mutex_;
  std::vector<std::shared_ptr<ByteSource>> files_;
  std::size_t open_ = 0;
};

class ShardSource final : public SampleSource {
 public:
  ShardSource(const formats::PlanReader& plan, const ReshardInputs& inputs, const ReshardOptions& options,
              unsigned cores)
      : plan_(plan),
        inputs_(inputs),
        options_(options),
        files_(inputs),
        checkers_(options.drop_bad ? cores : 0),
        classes_(names_by_label(plan.head().classes)) {
    add_primary(inputs.made_with, primary_);
  }

  SampleCursor open(std::size_t shard) override {
    return [this, samples = plan_.read_shard(shard)]() mutable -> std::optional<PendingSample> {
      const auto sample = std::make_shared<formats::MovedSample>();
      if (!samples.next(*sample)) return std::nullopt;
      if (options_.drop_bad && formats::moved_sample_tar_bytes(*sample) > most_sample_bytes_) {
        return PendingSample{0, [this, sample](MutableBytes, sync::WaitMeter&) -> formats::IndexSample {
                               drop(*sample, sample->members.front(), "it is kept in memory, which is too small");
                             }};
      }
      return PendingSample{
          formats::moved_sample_tar_bytes(*sample),
          [this, sample](MutableBytes out, sync::WaitMeter& meter) { return read(*sample, out, meter); }};
    };
  }

 private:
  /// Starts with the class that the plan counts the sample in, because the manifest takes it off there.
  std::string skipped_path(const formats::MovedSample& sample) const {
    const auto of_label = sample.label ? classes_.find(*sample.label) : classes_.end();
    if (of_label == classes_.end()) {
      return sample.path.empty() ? fmt::format("{}/{}", inputs_.tars[sample.input].identity.name, sample.source_key)
                                 : sample.path;
    }
    const ReshardInput& tar = inputs_.tars[sample.input];
    const std::string& counted = of_label->second[class_of(tar, sample, of_label->second).value_or(0)];
    return sample.path.starts_with(counted + '/') ? sample.path : fmt::format("{}/{}", counted, sample.source_key);
  }

  formats::IndexSample read(const formats::MovedSample& sample, MutableBytes out, sync::WaitMeter& meter) {
    if (options_.drop_bad) check_not_orphan(sample);
    formats::IndexSample result{sample.key, sample.label, sample.path, {}};
    std::uint64_t at = 0;
    for (const formats::IndexMember& member : sample.members) {
      const MutableBytes content = out.subspan(at + formats::kTarBlock, member.size);
      if (!inputs_.merged.empty() && sample.label && member.extension == kLabelExtension) {
        std::ranges::copy(as_bytes(formats::label_text(*sample.label)), content.begin());
      } else {
        timed(meter, [&] { files_.read(sample.input, member.offset, content); });
      }
      if (options_.drop_bad) check_image(sample, member, content);
      result.members.push_back(finish_member(out, at, sample.key, member.extension, member.size));
      result.members.back().path = member.path;
      if (member.xxh3 && *member.xxh3 != result.members.back().xxh3) refuse_changed(sample, member);
      at += formats::tar_member_bytes(member.size);
    }
    return result;
  }

  /// With --salvage the sample is left out.
  [[noreturn]] void refuse_changed(const formats::MovedSample& sample, const formats::IndexMember& member) const {
    const ProblemKind& kind = problem_kind(ProblemCode::sample_checksum);
    if (options_.salvage) drop(sample, member, fmt::format("{}: {}", kind.name, kind.meaning));
    const std::string& path = inputs_.tars[sample.input].path;
    const remedy::Repairs repairs{.salvage = true};
    throw Error(ErrorCode::conflict, At{path, member.offset},
                "'{}' at byte {}: the content of '{}.{}' differs from the shard's index; {} shows more, {} leaves such "
                "samples out; {}",
                path, member.offset, sample.source_key, member.extension, remedy::in_text(remedy::verify({path})),
                remedy::in_text(remedy::reshard(options_.inputs, repairs)), remedy_of_changed(path));
  }

  /// Throws BadSample, whose text starts with the code of verify, for an image that verify counts as an error.
  void check_image(const formats::MovedSample& sample, const formats::IndexMember& member, Bytes content) {
    if (!is_image_member(member.extension, content)) return;
    const std::optional<ImageFault> fault = image_fault(*checkers_.borrow(), content, member.extension);
    if (fault && fault->is_error()) {
      drop(sample, member, fault->describe());
    }
  }

  void check_not_orphan(const formats::MovedSample& sample) const {
    const SampleContent content = content_of(sample, primary_);
    if (content == SampleContent::data || (content == SampleContent::text && inputs_.texts_are_data)) return;
    const ProblemKind& kind = problem_kind(ProblemCode::orphan_member);
    drop(sample, sample.members.front(), fmt::format("{}: {}", kind.name, kind.meaning));
  }

  [[noreturn]] void drop(const formats::MovedSample& sample, const formats::IndexMember& member,
                         const std::string& why) const {
    const formats::PlanInput& input = inputs_.tars[sample.input].identity;
    throw BadSample(skipped_path(sample),
                    {ErrorCode::corrupt, fmt::format("{} ('{}.{}' in '{}' at byte {})", why, sample.source_key,
                                                     member.extension, input.name, member.offset)});
  }

  const formats::PlanReader& plan_;
  const ReshardInputs& inputs_;
  const ReshardOptions& options_;
  PrimaryExtensions primary_;
  InputFiles files_;
  sync::LoanPool<image::PixelChecker> checkers_;  ///< for hundreds of threads that read
  const LabelNames classes_;
  const std::uint64_t most_sample_bytes_ = most_sample_bytes();
};

}  // namespace

std::uint64_t most_sample_bytes() { return system::usable_memory() / 2; }

LabelNames names_by_label(const std::vector<formats::ManifestClass>& classes) {
  LabelNames names;
  for (const formats::ManifestClass& item : classes) names[item.label].push_back(item.name);
  return names;
}

std::optional<std::size_t> class_of(const ReshardInput& tar, const formats::MovedSample& sample,
                                    const std::vector<std::string>& of_label) {
  if (of_label.size() == 1) return 0;
  return tar.by_list ? std::nullopt : formats::class_of_path(sample, of_label);
}

std::size_t require_class_of(const ReshardInput& tar, const formats::MovedSample& sample,
                             const std::vector<std::string>& of_label, std::string_view option) {
  if (const std::optional<std::size_t> found = class_of(tar, sample, of_label)) return *found;
  throw Error(
      ErrorCode::unsupported, At{tar.path},
      "{} classes share label {}, such as '{}' and '{}', and nothing shows to which of them sample '{}' in '{}' "
      "belongs, which {} needs to know: {}",
      of_label.size(), *sample.label, of_label[0], of_label[1], sample.source_key, tar.path, option,
      tar.by_list ? "its set was made with --list. Make it again with a --class-map that gives each class its own "
                    "label"
                  : "no index of the shard with its original path could be used. To restore it, run the command "
                    "that made the set again");
}

ReshardInputs find_reshard_inputs(const ReshardOptions& options, const std::vector<std::string>& targets,
                                  Context& context) {
  ReshardInputs inputs;
  NamesByFolder folders;
  std::set<fs::path> given;
  for (const std::string& target : targets) require_apart(target, options.inputs, "input");
  for (const std::string& input : options.inputs) {
    if (!given.insert((fs::path(input) / "").lexically_normal()).second)
      context.warn("input_twice", "'{}' was given twice; its samples are taken only once", input);
  }
  const auto verb = options.salvage ? catalog::SetVerb::salvage : catalog::SetVerb::read;
  const catalog::ShardSet set =
      catalog::resolve_shards(options.inputs, verb, context, options.access, catalog::FolderTars::all);
  inputs.files = set.inputs;
  const catalog::FolderManifests manifests = catalog::manifests_by_folder(set);
  const LabelComparison labels = compare_labels(manifests);
  if (!labels.conflicts.empty() && (!options.merge_classes || !labels.unclear_name.empty())) {
    const std::string merge = remedy::in_text(remedy::with_merge_classes(command_of(options)));
    throw Error(ErrorCode::conflict, {}, "{}: together they would mix up two classes; {}", labels.conflicts.front(),
                advice_for_conflicts(labels, merge + " merges the sets by class names"));
  }
  for (auto& [path, reason] : files_left_out(set, manifests)) inputs.left_out.push_back({path, reason});
  const auto listed = catalog::listed_shards(set, manifests);
  for (const catalog::ShardFile& shard : set.shards) {
    ReshardInput& tar = inputs.tars.emplace_back(shard.path, identity_of(shard, *set.inputs));
    tar.is_compressed = catalog::is_compressed_tar_name(shard.path) || holds_compressed_data(shard.path);
    const std::string folder = io::parent_folder(shard.path);
    const auto [found, is_new] = folders.try_emplace(folder);
    if (is_new) {
      if (!catalog::is_address(folder)) refuse_own_output(folder, targets);
      if (const auto& manifest = manifests.at(folder)) {
        found->second = std::make_shared<LabelNames>(names_by_label(manifest->classes));
        note_options(*manifest, inputs.made_with);
      }
    }
    if (const auto& manifest = manifests.at(folder)) tar.by_list = manifest->options.contains("list");
    tar.names = found->second;
    if (const auto* of_tar = listed[inputs.tars.size() - 1]) tar.listed = *of_tar;
    tar.has_names = tar.listed && !manifests.at(folder)->plan_hash.empty();
  }
  if (const auto source = inputs.made_with.find("source_folder");
      source != inputs.made_with.end() && source->second.empty()) {
    inputs.made_with.erase(source);
  }
  inputs.earlier_splits = splits_before(manifests);
  if (inputs.earlier_splits > 0) inputs.made_with["earlier_splits"] = fmt::to_string(inputs.earlier_splits);
  inputs.classes = all_classes(folders, options.merge_classes);
  if (!options.merge_classes) return inputs;
  for (const formats::ManifestClass& item : inputs.classes) inputs.merged.emplace(item.name, item.label);
  if (inputs.merged.empty()) {
    throw usage_error("--merge-classes uses the names of classes, but no manifest.json has any");
  }
  return inputs;
}

void unpack_inputs(ReshardInputs& inputs, const ReshardOptions& options, const std::string& folder, unsigned threads,
                   io::FileSystem& files, Context& context) {
  std::vector<ReshardInput*> compressed;
  std::uint64_t packed_bytes = 0;
  for (ReshardInput& input : inputs.tars) {
    if (!input.is_compressed) continue;
    compressed.push_back(&input);
    packed_bytes += input.identity.bytes;
  }
  if (compressed.empty()) return;
  catalog::require_space_to_unpack(folder, packed_bytes, format_count(compressed.size(), "compressed input"));
  context.progress().start("unpack", compressed.size());
  sync::for_each_index(compressed.size(), threads, context.stop_token(), [&](std::size_t at, std::size_t) {
    const std::string& path = compressed[at]->path;
    try {
      compressed[at]->unpacked = std::make_unique<catalog::UnpackedTar>(inputs.files->open(path), path, folder, files,
                                                                        context, options.salvage);
    } catch (const Error& error) {
      if (options.salvage || error.code() != ErrorCode::corrupt || error.offset().value_or(0) == 0) throw;
      throw Error(error.code(), At{path, *error.offset()}, "{}; {} takes the samples before that", error.what(),
                  remedy::in_text(remedy::with_salvage(command_of(options))));
    }
    ++context.progress().items;
  });
}

std::unique_ptr<SampleSource> shard_source(const formats::PlanReader& plan, const ReshardInputs& inputs,
                                           const ReshardOptions& options, unsigned cores) {
  return std::make_unique<ShardSource>(plan, inputs, options, cores);
}

}  // namespace shardkit::dataset
