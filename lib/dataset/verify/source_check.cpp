#include "dataset/verify/source_check.hpp"

#include <algorithm>
#include <optional>
#include <ranges>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "catalog/image_folder.hpp"
#include "catalog/image_list.hpp"
#include "catalog/set_folders.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "dataset/checks/whole_set.hpp"
#include "dataset/samples/sample_lister.hpp"
#include "dataset/sharding/scanned_source.hpp"
#include "formats/manifest.hpp"
#include "formats/plan_file.hpp"
#include "formats/portable_name.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"
#include "system/limits.hpp"

namespace shardkit::dataset {
namespace {

constexpr std::size_t kBlock = 1U << 20U;

/// The parts of an option's text, separated by commas; none if the manifest lacks it.
std::vector<std::string_view> option_parts(const formats::Manifest& manifest, const std::string& name) {
  std::vector<std::string_view> parts;
  const auto option = manifest.options.find(name);
  if (option == manifest.options.end()) return parts;
  for (const auto part : option->second | std::views::split(',')) parts.emplace_back(part.begin(), part.end());
  return parts;
}

/// The templates of fields, a list in JSON.
std::vector<std::string> field_templates(const std::string& text, const std::string& folder) {
  std::vector<std::string> fields;
  const nlohmann::json list = parse_json(text);
  for (const nlohmann::json& field : list) {
    if (list.is_array() && field.is_string()) fields.push_back(field);
  }
  if (list.is_array() && fields.size() == list.size()) return fields;
  const std::string path = io::join_path(folder, formats::kManifestName);
  throw Error(ErrorCode::corrupt, At{path},
              "manifest '{}': the option fields is not a list of texts; restore it from a copy", path);
}

bool is_part_of_split(const catalog::FolderManifests& manifests) {
  std::set<std::string_view> given;
  std::set<std::string_view> all;
  for (const auto& [folder, manifest] : manifests) {
    if (!manifest) continue;
    for (const std::string_view name : option_parts(*manifest, "set")) given.insert(name);
    for (const std::string_view share : option_parts(*manifest, "split")) all.insert(share.substr(0, share.find('=')));
  }
  return !std::ranges::includes(given, all);
}

void add(ConvertFacts& facts, const formats::Manifest& manifest, const std::string& folder) {
  const auto& options = manifest.options;
  const auto on_bad = options.find("on_bad");
  facts.listed = facts.listed || options.contains("list");
  facts.resized = facts.resized || options.contains("resize");
  facts.noted = facts.noted || options.contains("metadata");
  facts.skipped_bad = facts.skipped_bad || (on_bad != options.end() && on_bad->second == "skip");
  const auto add_new = [](std::vector<std::string>& known, std::string_view text) {
    if (std::ranges::find(known, text) == known.end()) known.emplace_back(text);
  };
  for (const std::string_view suffix : option_parts(manifest, "sidecar")) add_new(facts.made.sidecars, suffix);
  for (const std::string_view extension : option_parts(manifest, "primary")) add_new(facts.made.primary, extension);
  facts.made.unlabeled = facts.made.unlabeled || options.contains("unlabeled");
  if (const auto fields = options.find("fields"); fields != options.end()) {
    for (const std::string& field : field_templates(fields->second, folder)) add_new(facts.made.fields, field);
  }
  // Templates start at the folder that contains the sets, unless the sets are those of a split.
  if (const auto set = options.find("set"); set != options.end() && !options.contains("split")) facts.set = set->second;
  for (const formats::ManifestClass& item : manifest.classes) {
    facts.labels.emplace(item.name, item.label);
    facts.class_map = facts.class_map || item.name != formats::label_text(item.label);
  }
}

/// Of all sets together: those of one split belong to one source. Without manifests nothing is known.
ConvertFacts convert_facts(const catalog::FolderManifests& manifests) {
  ConvertFacts facts;
  for (const auto& [folder, manifest] : manifests) {
    if (manifest) add(facts, *manifest, folder);
  }
  facts.part_of_split = is_part_of_split(manifests);
  return facts;
}

/// Labels of the classes of `scan`, in its order.
std::vector<std::optional<std::uint64_t>> labels_of(const catalog::ImageFolderScan& scan,
                                                    const std::map<std::string, std::uint64_t>& known) {
  std::vector<std::optional<std::uint64_t>> labels = catalog::labels_by_position(scan);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto found = known.find(formats::name_in_manifest(scan.classes[i].name));
    if (labels[i] && found != known.end()) labels[i] = found->second;
  }
  return labels;
}

/// Scanned as one tree, its sets would be treated as classes, and every member as missing.
void refuse_set_folders(const catalog::SourceFolder& source, bool labeled) {
  Context quiet;  // reported by convert as a warning
  const catalog::SetFolders sets = catalog::find_set_folders(source, quiet, labeled);
  if (sets.names.empty()) return;
  throw Error(ErrorCode::usage, At{source.path},
              "'{}' contains the sets {}: compare the shards of each with its own folder, such as --against {}",
              source.path, fmt::join(sets.names, ", "), source.path_of(sets.names.front()));
}

catalog::ImageFolderScan scan_of(const catalog::SourceFolder& source, const ListOptions& images,
                                 const ConvertFacts& facts, Context& context) {
  catalog::ScanOptions options = scan_options(facts.made, facts.set);
  options.allow_empty = true;
  options.cores = system::usable_threads();
  if (!images.list.empty()) {
    if (facts.listed && !facts.labels.empty() && images.label_column.empty()) {
      throw Error(ErrorCode::usage, "these shards have labels from the list: also give --label-column");
    }
    const auto& class_map = facts.class_map ? facts.labels : std::map<std::string, std::uint64_t>();
    return catalog::scan_image_list(source, image_list(images, class_map, *source.inputs), options, context).scan;
  }
  if (facts.listed) {
    throw usage_error(
        "these shards were made from a list of images: also give the list (--list, --path-column, --label-column)");
  }
  refuse_set_folders(source, !facts.made.unlabeled);
  return catalog::scan_image_folder(source, options, context);
}

}  // namespace

SourceCheck::SourceCheck(const std::string& source, const ListOptions& images, const catalog::ShardSet& shards,
                         const catalog::FolderManifests& manifests, Context& context)
    : source_(source, !images.list.empty(), shards.inputs),
      facts_(convert_facts(manifests)),
      scan_(scan_of(source_, images, facts_, context)),
      left_out_(files_left_out(shards, manifests)) {
  if (facts_.skipped_bad) {
    for (const catalog::ScanProblem& problem : scan_.problems) left_out_.emplace(problem.path, "");
  }
  catalog::choose_keys(scan_);
  labels_ = labels_of(scan_, facts_.labels);
  facts_.noted = facts_.noted || facts_.listed;  // labels, or rows, of images that have several
  seen_ = std::vector<std::atomic<bool>>(scan_.images());
  add_keys();
}

SourceCheck::LeftOut SourceCheck::left_out() const {
  LeftOut result{left_out_.size(), 0};
  for (std::size_t c = 0; c < scan_.classes.size() && !left_out_.empty(); ++c) {
    const catalog::ScannedClass& owner = scan_.classes[c];
    for (std::size_t f = 0; f < owner.files.size(); ++f) {
      if (!left_out_.contains(owner.path_of(owner.files[f]))) continue;
      seen_[first_[c] + f] ? --result.files : ++result.images;
    }
  }
  return result;
}

std::uint64_t SourceCheck::images() const { return scan_.images() - left_out().images; }

std::string SourceCheck::not_compared() const {
  std::string text;
  if (facts_.resized) text += "; without the bytes of images, because they were resized";
  if (facts_.noted) text += "; without .json members that contain rows of tables";
  if (const std::uint64_t files = left_out().files; files > 0)
    text += fmt::format("; without {} that convert left out", format_count(files, "file"));
  if (facts_.part_of_split) text += "; images of other sets of the split are not missed";
  return text;
}

/// The keys that convert gives come first: an image at <a>/<stem> with another label does not take the key of one that
/// has label <a>.
void SourceCheck::add_keys() {
  keys_.reserve(scan_.images());
  paths_.reserve(scan_.images());
  std::size_t count = 0;
  for (std::uint32_t c = 0; c < scan_.classes.size(); ++c) {
    const catalog::ScannedClass& owner = scan_.classes[c];
    first_.push_back(count);
    count += owner.files.size();
    for (std::uint32_t f = 0; f < owner.files.size(); ++f)
      add_key(catalog::image_key(scan_, owner, owner.files[f]), {c, f});
  }
  for (std::uint32_t c = 0; c < scan_.classes.size(); ++c) {
    const catalog::ScannedClass& owner = scan_.classes[c];
    for (std::uint32_t f = 0; f < owner.files.size(); ++f) {
      const std::string path = owner.path_of(owner.files[f]);
      paths_.try_emplace(xxh3_64(as_bytes(path)), Position{c, f});
      add_key(formats::split_extension(path).stem, {c, f});
    }
  }
}

void SourceCheck::add_key(std::string_view key, const Position& position) {
  keys_.try_emplace(xxh3_64(as_bytes(key)), position);  // for two images with one stem, the convert's keys decide
}

const SourceCheck::Position* SourceCheck::find(const Positions& positions, std::string_view text) {
  const auto found = positions.find(xxh3_64(as_bytes(text)));
  return found == positions.end() ? nullptr : &found->second;
}

/// A key depends on the files that were beside the image when it was made, and reshard may change it; the path remains.
SourceCheck::Positions SourceCheck::indexed(const std::string& index) const {
  Positions positions;
  if (index.empty()) return positions;
  formats::ShardIndexVisitor visitor;
  visitor.sample = [&](formats::IndexSample&& sample) {
    if (const Position* position = find(paths_, sample.path))
      positions.try_emplace(xxh3_64(as_bytes(sample.key)), *position);
  };
  try {
    formats::read_shard_index(*source_.inputs->open(index), index, visitor);
  } catch (const Error& error) {  // verify_shard() reports it
    if (error.code() == ErrorCode::cancelled) throw;
  }
  return positions;
}

const catalog::ScannedFile* SourceCheck::file_of(const Position& position, std::string_view extension) const {
  const catalog::ScannedClass& owner = scan_.classes[position.class_index];
  const catalog::ScannedFile& file = owner.files[position.file];
  const std::string_view image = owner.name_of(file);
  const std::string wanted = formats::portable_extension(extension);
  if (formats::portable_extension(formats::split_extension(image).extension) == wanted) return &file;
  for (const catalog::ScannedMember& member : members_of(position)) {
    if (scan_.member_name(member) == wanted) return &member.file;
  }
  return nullptr;
}

std::span<const catalog::ScannedMember> SourceCheck::members_of(const Position& position) const {
  return std::ranges::equal_range(scan_.classes[position.class_index].members, position.file, {},
                                  &catalog::ScannedMember::image);
}

std::unique_ptr<ByteSource> SourceCheck::open(const Position& position, const catalog::ScannedFile& file) const {
  const catalog::ScannedClass& owner = scan_.classes[position.class_index];
  std::string path = owner.path_of(file);
  if (!source_.store) return std::make_unique<io::FileSource>(source_.opened_path(path));
  return std::make_unique<io::ObjectReader>(
      source_.store, io::ObjectInfo{std::move(path), file.size, owner.version_of(file).value_or("")},
      source_.inputs->stop());
}

/// Compares the members of one shard with their files, piece by piece.
class SourceCheck::Comparer final : public MemberWatcher {
 public:
  Comparer(SourceCheck& owner, ProblemLog& log, const std::string& index)
      : owner_(owner), log_(log), indexed_(owner.indexed(index)), block_(kBlock) {}

  bool begin(const formats::TarEntry& entry, const formats::SampleName& name) override {
    offset_ = entry.data_offset;
    name_ = entry.name;
    position_ = find(name.key);
    is_label_ = lower_case(name.extension) == kLabelExtension;
    if (position_ && is_label_ && owner_.labels_[position_->class_index]) {
      has_label_ = true;
      label_.start();
      return true;
    }
    const catalog::ScannedFile* file = position_ ? owner_.file_of(*position_, name.extension) : nullptr;
    if (!file && position_ && owner_.facts_.noted && lower_case(name.extension) == "json") return false;
    if (!file) {
      log_.add(ProblemCode::not_in_source, offset_, name_);
      return false;
    }
    found_.push_back(file);
    owner_.seen_[owner_.first_[position_->class_index] + position_->file] = true;
    const catalog::ScannedClass& in_class = owner_.scan_.classes[position_->class_index];
    if (owner_.facts_.resized && file == &in_class.files[position_->file]) return false;
    return open(in_class, *file, entry.size);
  }

  void piece(Bytes bytes) override {
    if (is_label_) return label_.add(bytes);
    while (!bytes.empty() && same_) {
      const std::size_t want = std::min(bytes.size(), block_.size());
      const std::size_t got = file_->read_at(done_, MutableBytes(block_).first(want));
      const auto first = std::ranges::mismatch(bytes.first(want), std::span(block_).first(got)).in1;
      const auto same = static_cast<std::size_t>(first - bytes.begin());
      same_ = same == want;
      if (!same_) note_difference(fmt::format("byte {} of it is the first that differs", done_ + same));
      done_ += want;
      bytes = bytes.subspan(want);
    }
  }

  void end() override {
    if (!is_label_) return;
    const std::uint64_t expected = owner_.labels_[position_->class_index].value();
    if (label_.label() == expected) return;
    log_.add(ProblemCode::label_not_of_source, offset_, name_,
             fmt::format("'{}', expected {} for class '{}'", label_.text(), expected,
                         owner_.scan_.classes[position_->class_index].name));
  }

  /// Labels and side-cars of the source have to be there.
  void sample_end(const formats::IndexSample& sample) override {
    const bool has_label = std::exchange(has_label_, false);
    const std::vector<const catalog::ScannedFile*> found = std::exchange(found_, {});
    const Position* position = find(sample.key);
    if (position == nullptr) return;
    const catalog::ScannedClass& in_class = owner_.scan_.classes[position->class_index];
    if (owner_.labels_[position->class_index] && !has_label) {
      log_.add(ProblemCode::missing_label, sample.offset, sample.key,
               fmt::format("the source has it in class '{}'", in_class.name));
    }
    for (const catalog::ScannedMember& member : owner_.members_of(*position)) {
      if (std::ranges::find(found, &member.file) != found.end()) continue;
      const std::string path = in_class.path_of(member.file);
      if (owner_.facts_.noted && lower_case(path).ends_with(".json")) continue;
      log_.add(ProblemCode::missing_field, sample.offset, sample.key,
               fmt::format("'{}', expected .{}", path, owner_.scan_.member_name(member)));
    }
  }

 private:
  const Position* find(std::string_view key) const {
    const Position* position = SourceCheck::find(indexed_, key);
    return position != nullptr ? position : SourceCheck::find(owner_.keys_, key);
  }

  /// False if the sizes already differ.
  bool open(const catalog::ScannedClass& in_class, const catalog::ScannedFile& file, std::uint64_t size) {
    try {
      file_ = owner_.open(*position_, file);
    } catch (const Error& error) {  // the shard is not to blame
      note_difference(error.what());
      return false;
    }
    done_ = 0;
    same_ = file_->size() == size;
    if (!same_) {
      note_difference(
          fmt::format("{} bytes, '{}' has {}", size, owner_.source_.path_of(in_class.path_of(file)), file_->size()));
    }
    return same_;
  }

  void note_difference(const std::string& text) { log_.add(ProblemCode::differs_from_source, offset_, name_, text); }

  SourceCheck& owner_;
  ProblemLog& log_;
  const Positions indexed_;
  std::vector<std::byte> block_;
  const Position* position_ = nullptr;
  bool is_label_ = false;
  bool has_label_ = false;                          ///< the current sample
  std::vector<const catalog::ScannedFile*> found_;  ///< of the current sample
  LabelReader label_;
  std::unique_ptr<ByteSource> file_;
  std::uint64_t offset_ = 0;
  std::uint64_t done_ = 0;
  std::string name_;
  bool same_ = true;
};

std::unique_ptr<MemberWatcher> SourceCheck::comparer(ProblemLog& log, const std::string& index) {
  return std::make_unique<Comparer>(*this, log, index);
}

void SourceCheck::note_unreadable(ProblemLog& log) const {
  if (facts_.skipped_bad) return;
  for (const catalog::ScanProblem& problem : scan_.problems) {
    log.add(ProblemCode::differs_from_source, std::nullopt, problem.path, problem.error.what());
  }
}

void SourceCheck::note_missing(ProblemLog& log) const {
  if (facts_.part_of_split) return;
  for (std::size_t c = 0; c < scan_.classes.size(); ++c) {
    const catalog::ScannedClass& owner = scan_.classes[c];
    for (std::size_t f = 0; f < owner.files.size(); ++f) {
      if (seen_[first_[c] + f] || left_out_.contains(owner.path_of(owner.files[f]))) continue;
      log.add(ProblemCode::missing_from_shards, std::nullopt, owner.path_of(owner.files[f]));
    }
  }
}

}  // namespace shardkit::dataset
