#include "dataset/sharding/sharding_options.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/field_tree.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "dataset/checks/dry_run.hpp"
#include "formats/portable_name.hpp"
#include "formats/sample_name.hpp"
#include "system/limits.hpp"

namespace shardkit::dataset {
namespace {

constexpr std::uint64_t kDefaultShardSamples = 5000;
constexpr std::uint64_t kDefaultShardBytes = 256U * 1024U * 1024U;
constexpr std::uint64_t kDefaultQuality = 90;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

using Labels = std::map<std::string, std::uint64_t>;

[[noreturn]] void bad(const std::string& path, const std::string& why) {
  throw Error(ErrorCode::corrupt, At{path}, "class map '{}': {}", path, why);
}

/// An array has the names in the order of their labels, as a list of lines has.
Labels from_json_array(const nlohmann::json& json, const std::string& path) {
  Labels labels;
  for (const nlohmann::json& name : json) {
    if (!name.is_string() || name.get_ref<const std::string&>().empty())
      bad(path, fmt::format("element {} of the array is not the name of a class", labels.size() + 1));
    if (!labels.emplace(name, labels.size()).second)
      bad(path, fmt::format("element {} repeats '{}'", labels.size() + 1, name.get_ref<const std::string&>()));
  }
  return labels;
}

Labels from_json(const std::string& text, const std::string& path) {
  Labels labels;
  // nlohmann keeps the last of two equal names; a class map with two is a mistake, so they are counted while parsing.
  std::size_t names = 0;
  const auto count = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json&) {
    if (depth == 1 && event == nlohmann::json::parse_event_t::key) ++names;
    return true;
  };
  const nlohmann::json json = nlohmann::json::parse(text, count, false);
  if (json.is_array()) return from_json_array(json, path);
  if (!json.is_object()) bad(path, "is neither a JSON object {\"class\": label} nor an array of names");
  for (const auto& [name, label] : json.items()) {
    const auto number = json_count(label);
    if (!number || *number > formats::kLargestLabel) {
      bad(path, fmt::format("the label of '{}' is not {}", name, formats::kLabelRange));
    }
    labels[name] = *number;
  }
  if (names != labels.size()) bad(path, "lists a class twice");
  return labels;
}

void refuse_utf16(std::string_view text, const std::string& path) {
  const bool is_marked = text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
  if (!is_marked && text.find('\0') == std::string_view::npos) return;
  bad(path, fmt::format("{}; save it as UTF-8",
                        is_marked ? "is in UTF-16" : "is not UTF-8: it has zero bytes, as UTF-16 has"));
}

Labels from_lines(std::string_view text, const std::string& path) {
  Labels labels;
  std::uint64_t label = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) bad(path, fmt::format("line {} is empty", label + 1));
    if (!labels.emplace(line, label).second) bad(path, fmt::format("line {} repeats '{}'", label + 1, line));
    ++label;
  }
  return labels;
}

constexpr double kMostShards = 1e9;

void describe_members(FieldList& v, ShardingOptions& options) {
  v.topic("Samples and labels");
  v.field({"class-map",
           "labels from a file: a JSON object {\"class\": label}, or one class name per line, starting with label 0",
           Role::input_file},
          options.class_map);
  v.field({"metadata",
           "give each sample a .json with its image's row in this .csv, .tsv or .jsonl file, or with its annotations "
           "in COCO's .json; an image without a row is a bad file (--on-bad)",
           Role::input_file},
          options.metadata);
  v.field({"sidecar",
           "add files named <stem>SUFFIX to the sample of the image with that stem, such as .seg.png or _mask.png; "
           "they are no longer images of their own. In a tree, .json and .txt are always added",
           "SUFFIX", kPlanned},
          options.sidecars);
  v.field({"field",
           "add the file at TEMPLATE to each sample as member NAME; use 'NAME?=' if some samples have none. A template "
           "is relative to SRC and may contain parts of the path of the file that starts the sample: {dir} is its "
           "folder, {class} the first part of that, {name} its name, {stem} its name without extension, {stem-SUFFIX} "
           "its stem without SUFFIX. A * matches several files, which become NAME.0, NAME.1 and so on",
           "NAME=TEMPLATE"},
          options.fields);
}

/// Each suffix and each declared field must give a member a different extension.
void check_members(const ShardingOptions& options, const catalog::ScanOptions& scanning) {
  std::set<std::string> extensions{"cls"};
  for (const catalog::FieldTemplate& field : scanning.fields) {
    if (!extensions.insert(field.name()).second)
      throw usage_error("--field '{}': there is already a field '{}'", field.text(), field.name());
  }
  for (const std::string& extension : scanning.primary) {
    const std::string name = formats::portable_extension(extension);
    if (extension.empty() || extension.size() > 12 ||
        extension.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789") != std::string::npos)
      throw usage_error("--primary '{}': an extension has 1 to 12 letters and digits, such as wav", extension);
    if (extensions.contains(name))
      throw usage_error("--primary '{}': it is already declared by the field '{}'", extension, name);
  }
  if (options.images.list.empty()) extensions.insert({"json", "txt"});  // always added
  for (const std::string& suffix : options.sidecars) {
    const auto refuse_it = [&](std::string_view why) { throw usage_error("--sidecar '{}': {}", suffix, why); };
    if (suffix.size() < 2 || suffix.size() > 24 || std::string_view("._-").find(suffix[0]) == std::string_view::npos) {
      refuse_it("a suffix starts with '.', '_' or '-' and has 2 to 24 bytes");
    }
    const std::string extension = formats::portable_extension(suffix);
    if (extension.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.") != std::string::npos) {
      refuse_it("use letters, digits and dots after its first character");
    }
    if (suffix.find_last_of('.') == std::string::npos || suffix.ends_with('.')) {
      refuse_it("a suffix ends with an extension, such as _mask.png");
    }
    // Of the files that are always added, those with another case may be declared too.
    const bool other_case =
        (extension == "txt" || extension == "json") && suffix != '.' + extension &&
        std::ranges::find(scanning.fields, extension, &catalog::FieldTemplate::name) == scanning.fields.end();
    if (!extensions.insert(extension).second && !other_case)
      refuse_it(fmt::format("there is already a side-car '{}'", extension));
  }
}

}  // namespace

void ShardSizes::describe(FieldList& v) {
  v.field({"samples", Unit::count, "close a shard at this many samples (default: 5000 if --size is not given either)",
           "N", at_least(1), kPlanned},
          samples);
  v.field({"size", Unit::bytes,
           "close a shard before it passes this size (default: 256MiB if --samples is not given either); a larger "
           "sample gets a shard of its own",
           at_least(1), kPlanned},
          size);
  v.field(
      {"shards", Unit::count, "write exactly this many shards, equal within one sample; a multiple of --multiple-of",
       "N", between(1, kMostShards), kPlanned},
      shards);
  v.field({"multiple-of", Unit::count,
           "round the number of shards up to a multiple of this, such as world size times loader workers", "W",
           between(1, kMostShards), kPlanned},
          multiple_of);
  v.field({"name", "shards are named PREFIX-000000.tar", "PREFIX"}, name);
}

void ListOptions::describe(FieldList& v) {
  v.field({"list",
           "take the images listed in this file, anywhere below the source, instead of class folders: .csv or .tsv "
           "with a header, or .jsonl",
           Role::input_file},
          list);
  v.field({"path-column", "column of --list and --metadata with the image's path, absolute or relative to the source",
           "NAME"},
          path_column);
  v.field({"label-column",
           "column of --list with the image's label: whole numbers, or names that are numbered in bytewise order or by "
           "--class-map; without it, samples have no .cls. Several labels (a list in .jsonl) go into .json",
           "NAME"},
          label_column);
}

void BadFileOptions::describe(FieldList& v) {
  v.topic("Checks");
  v.field(
      {"validate",
       "how to check files with an image's extension: none, magic (first and last bytes, default), header (also the "
       "header), or decode (decodes JPEG, PNG and WebP)",
       kPlanned},
      validate);
  v.field({"strict",
           "treat faults that readers accept with a warning as bad too, such as a PNG named .jpg or a JPEG without an "
           "end marker",
           kPlanned},
          strict);
  v.field({"on-bad",
           "what to do with a file that cannot be read or fails validation: fail finishes all other shards and fails "
           "(default), skip leaves it out, keep takes it if it can be read",
           kPlanned},
          on_bad);
  v.field({"max-bad",
           "leave out at most this many files, or this share of them; if there are more, the command fails (default: "
           "10 files or 1%, whichever is more)",
           "N|P%"},
          max_bad);
}

void ShardingOptions::describe(FieldList& v) {
  v.topic("What is converted");
  images.describe(v);
  v.field({"primary",
           "extensions of the files that start a sample, such as flac,wav (default: jpg, jpeg, png, webp, bmp, ppm, "
           "pgm, tif, tiff)",
           "EXT", kPlanned},
          primary);
  v.field({"unlabeled", "samples have no labels: folders are not classes, and images may be directly in SRC"},
          unlabeled);
  describe_members(v, *this);
  v.topic("Shards");
  ShardSizes::describe(v);
  v.field({"shuffle", "seed for the order of samples (default: 0)", "SEED", kPlanned}, shuffle);
  v.field({"no-shuffle",
           "keep name order: a shard then contains few classes, often only one or two, which no loader's shuffle "
           "buffer can "
           "mix"},
          no_shuffle);
  BadFileOptions::describe(v);
  v.topic("Images");
  v.field({"resize",
           "encode JPEGs again so that their shorter side has this many pixels; smaller ones and other formats stay as "
           "they are. --size counts the source's bytes, so shards become smaller",
           "SHORTER", between(1, kLargestResize), kPlanned},
          resize);
  v.field(
      {"quality",
       "JPEG quality for --resize, 1 to 100 (default: 90); reduced for an image that would become larger than before",
       "Q", between(1, 100), kPlanned},
      quality);
}

void check(const ShardSizes& sizes) {
  if (sizes.shards && (sizes.samples || sizes.size)) {
    throw usage_error("--shards fixes the number of shards; leave out --samples and --size");
  }
  check_ranges(sizes);
  if (sizes.shards && *sizes.shards % sizes.multiple_of.value_or(1) != 0) {
    throw usage_error("--shards {} is not a multiple of {}; leave out --shards or --multiple-of", *sizes.shards,
                      *sizes.multiple_of);
  }
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  if (sizes.name.empty() || sizes.name.size() > 80 || sizes.name.find_first_not_of(allowed) != std::string::npos) {
    throw usage_error("--name '{}': use 1 to 80 letters, digits, '_' and '-'; readers cut shard names at dots",
                      sizes.name);
  }
}

void check(const ListOptions& images) {
  if (images.list.empty() && !images.label_column.empty()) throw usage_error("--label-column needs --list");
}

void check(const ShardingOptions& options) {
  check(static_cast<const ShardSizes&>(options));
  check(options.images);
  if (options.images.list.empty() && options.metadata.empty() && options.images.path_column != kDefaultPathColumn) {
    throw usage_error("--path-column needs --list or --metadata");
  }
  if (!options.images.list.empty() && options.images.label_column.empty() && !options.class_map.empty()) {
    throw usage_error("--class-map needs --label-column if there is a --list");
  }
  check_members(options, scan_options(options, {}));
  if (options.unlabeled && (!options.class_map.empty() || !options.images.label_column.empty())) {
    throw usage_error("--unlabeled excludes --class-map and --label-column");
  }
  check_ranges(options);
  most_bad(options.max_bad, 0);
  if (options.quality && !options.resize) throw usage_error("--quality needs --resize");
  if (options.no_shuffle && options.shuffle) throw usage_error("--shuffle and --no-shuffle exclude each other");
}

catalog::ScanOptions scan_options(const ShardingOptions& options, const std::string& set) {
  catalog::ScanOptions scanning{.sidecars = options.sidecars, .unlabeled = options.unlabeled, .set = set};
  for (const std::string& field : options.fields) scanning.fields.emplace_back(field);
  for (const std::string& extension : options.primary) {
    scanning.primary.push_back(lower_case(extension.substr(extension.starts_with('.') ? 1 : 0)));
  }
  return scanning;
}

std::uint64_t most_bad(const std::string& max_bad, std::uint64_t files) {
  if (max_bad.empty()) return std::max<std::uint64_t>(10, files / 100);
  if (max_bad.ends_with('%')) {
    const std::optional<double> percent = parse_decimal(std::string_view(max_bad).substr(0, max_bad.size() - 1));
    if (percent && *percent >= 0 && *percent <= 100) {
      return static_cast<std::uint64_t>(*percent / 100 * static_cast<double>(files));
    }
  } else if (std::uint64_t number = 0; parse_number(max_bad, number)) {
    return number;
  }
  throw usage_error("--max-bad '{}' must be a number of files, or a share from 0% to 100%", max_bad);
}

void set_defaults(ShardSizes& sizes) {
  if (sizes.samples || sizes.size || sizes.shards) return;
  sizes.samples = kDefaultShardSamples;
  sizes.size = kDefaultShardBytes;
}

std::map<std::string, std::string> plan_texts(ShardingOptions options) {
  set_defaults(options);
  if (!options.shuffle) options.shuffle = 0;
  if (options.resize && !options.quality) options.quality = kDefaultQuality;
  if (!options.validate) options.validate = kDefaultValidate;
  if (!options.on_bad) options.on_bad = kDefaultOnBad;
  std::map<std::string, std::string> texts = planned_texts(options);
  if (options.no_shuffle) texts["shuffle"] = "none";
  // Not their folders: moved files are still the same.
  if (!options.images.list.empty()) texts["list"] = "yes";
  if (options.unlabeled) texts["unlabeled"] = "yes";
  if (!options.fields.empty()) texts["fields"] = json_text(nlohmann::ordered_json(options.fields));
  if (!options.metadata.empty()) texts["metadata"] = "yes";
  return texts;
}

void WriteOptions::describe(FieldList& v) {
  v.topic("Parts and plans");
  v.field({"part",
           "write only part I of N, counted from 0; auto: as set by the scheduler (Slurm, Flux, PBS, LSF, AWS Batch, "
           "Kubernetes Indexed Job, Volcano, MPI). `shardctl merge` joins the parts, with several sets in each of "
           "their folders",
           "I/N|auto"},
          part);
  v.field(
      {"parts", Unit::count,
       "number of parts, for --part auto where the scheduler does not provide it (Kubernetes, PBS, LSF, Volcano)", "N"},
      parts);
  v.topic("Output");
  v.field({"recheck", "read finished shards again and compare their checksums"}, recheck);
  v.field({"index",
           "also write indexes for other readers: dali (<shard>.idx), wids (shardindex.json, computes each shard's "
           "MD5), energon (<shard>.tar.idx, .nv-meta/)",
           "dali,wids,energon"},
          index);
  v.field(kDryRunOption, dry_run);
  v.field(system::threads_field("CPUs to use; default: those available to the process. The number of reads in flight "
                                "depends on the latency of the source, not on this"),
          threads);
}

Labels read_class_map(const std::string& path, catalog::Inputs& inputs) {
  if (path.empty()) return {};
  std::string text = inputs.text(path, 64U * 1024U * 1024U);
  refuse_utf16(text, path);
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) bad(path, "is empty");
  Labels labels = text[first] == '{' || text[first] == '[' ? from_json(text, path) : from_lines(text, path);
  if (labels.empty()) bad(path, "names no class");
  return labels;
}

}  // namespace shardkit::dataset
