#include "dataset/sharding/sharding_options.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/field_tree.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "dataset/checks/dry_run.hpp"
#include "formats/portable_name.hpp"
#include "formats/tsv.hpp"
#include "system/limits.hpp"

namespace shardkit::dataset {

namespace {

constexpr double kMostShards = 1e9;

}  // namespace

void ShardSizes::describe(FieldVisitor& v) {
  v.field({"samples", Unit::count, "close a shard at this many samples (default 5000 when --size is not given either)",
           "N", at_least(1), kPlanned},
          samples);
  v.field({"size", Unit::bytes,
           "close a shard before it passes this size (default 256MiB when --samples is not given either); a larger "
           "sample gets a shard of its own",
           at_least(1), kPlanned},
          size);
  v.field({"shards", Unit::count, "make exactly this many shards, equal within one sample", "N",
           between(1, kMostShards), kPlanned},
          shards);
  v.field({"multiple-of", Unit::count,
           "round the number of shards up to a multiple of this, such as world size times loader workers", "W",
           between(1, kMostShards), kPlanned},
          multiple_of);
  v.field({"name", "shards are called PREFIX-000000.tar", "PREFIX"}, name);
}

void ListOptions::describe(FieldVisitor& v) {
  v.field({"list",
           "take the images that this file lists, wherever they lie below the source, instead of class folders: .csv "
           "or .tsv with a header, or .jsonl",
           Role::input_file},
          list);
  v.field({"path-column", "column of --list and --metadata with the image's path, relative to the source or absolute",
           "NAME"},
          path_column);
  v.field({"label-column",
           "column of --list with the image's label: whole numbers as they are, or names, numbered in bytewise order "
           "or by --class-map; without it samples have no .cls. Several labels (a list in .jsonl) go into .json",
           "NAME"},
          label_column);
  v.field({"label-separator", "what stands between several labels in .csv and .tsv", "TEXT"}, label_separator);
}

void BadFileOptions::describe(FieldVisitor& v) {
  v.field({"validate",
           "look at files with an image's extension: not at all, at the first bytes (default), at header and closing "
           "bytes, or by decoding them (JPEGs; of other kinds the header)",
           kPlanned},
          validate);
  v.field({"strict",
           "what readers accept with a warning is bad too, such as a PNG called .jpg or a JPEG without an end marker",
           kPlanned},
          strict);
  v.field({"on-bad",
           "a file that cannot be read or fails validation: finish all other shards and fail (default), leave it out, "
           "or keep it (what cannot be read cannot be kept)",
           kPlanned},
          on_bad);
  v.field({"max-bad",
           "leave out at most this many files, or this share of them: more make the command fail (default: 10 files or "
           "1%, whichever is more)",
           "N|P%"},
          max_bad);
}

void ShardingOptions::describe(FieldVisitor& v) {
  ShardSizes::describe(v);
  v.field({"shuffle", "seed of the order of samples (default 0)", "SEED", kPlanned}, shuffle);
  v.field({"no-shuffle",
           "keep name order: each shard then holds one class or two, which no loader's shuffle buffer repairs"},
          no_shuffle);
  v.field({"class-map",
           "labels from a file: a JSON object {\"class\": label}, or one class name a line, the first being label 0",
           Role::input_file},
          class_map);
  images.describe(v);
  v.field({"metadata",
           "give each sample a .json of its image's row in this .csv, .tsv or .jsonl file; an image without a row is a "
           "bad file (--on-bad)",
           Role::input_file},
          metadata);
  v.field({"sidecar",
           "files called <stem>SUFFIX ride along with the image of that stem, such as .seg.png or _mask.png, and are "
           "no images of their own; in a tree .json and .txt always do",
           "SUFFIX", kPlanned},
          sidecars);
  v.field({"field",
           "each sample has the file at TEMPLATE as member NAME; 'NAME?=' where samples may lack it. In a template, "
           "which is relative to SRC, stand of the file that starts the sample: {dir} for its folder, {class} for the "
           "first part of that, {name}, {stem} for the name without its extension, {stem-SUFFIX} for the stem without "
           "SUFFIX; a * matches several files, which become NAME.0, NAME.1 and so on",
           "NAME=TEMPLATE"},
          fields);
  v.field({"primary", "extensions of the files that start a sample (default: those of images), such as flac,wav", "EXT",
           kPlanned},
          primary);
  v.field({"unlabeled", "samples have no labels: folders are no classes, and images may lie right in SRC"}, unlabeled);
  v.field({"allow-empty", "accept class folders without images; they keep their label"}, allow_empty);
  BadFileOptions::describe(v);
  v.field({"resize",
           "encode JPEGs anew so that their shorter side has this many pixels; smaller ones and other kinds stay as "
           "they are. --size counts the source's bytes, so shards come out smaller",
           "SHORTER", between(1, kLargestResize), kPlanned},
          resize);
  v.field({"quality",
           "JPEG quality of --resize, 1 to 100 (default 90); lower for an image that would come out larger than it was",
           "Q", between(1, 100), kPlanned},
          quality);
  access.describe(v);
}

namespace {

[[noreturn]] void refuse(const std::string& text) { throw Error(ErrorCode::usage, text); }

/// Each suffix and each declared field must give a member an extension of its own.
void check_members(const ShardingOptions& options, const catalog::ScanOptions& scanning) {
  std::set<std::string> extensions{"cls"};
  for (const catalog::FieldTemplate& field : scanning.fields) {
    if (!extensions.insert(field.name()).second)
      refuse(fmt::format("--field '{}': another field is '{}' already", field.text(), field.name()));
  }
  for (const std::string& extension : scanning.primary) {
    const std::string name = formats::portable_extension(extension);
    if (extension.empty() || extension.size() > 12 ||
        extension.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789") != std::string::npos)
      refuse(fmt::format("--primary '{}': an extension has 1 to 12 letters and digits, such as wav", extension));
    if (extensions.contains(name))
      refuse(fmt::format("--primary '{}': a declared field is '{}' already", extension, name));
  }
  if (options.images.list.empty()) extensions.insert({"json", "txt"});  // ride along unasked
  for (const std::string& suffix : options.sidecars) {
    const auto refuse_it = [&](std::string_view why) { refuse(fmt::format("--sidecar '{}': {}", suffix, why)); };
    if (suffix.size() < 2 || suffix.size() > 24 || std::string_view("._-").find(suffix[0]) == std::string_view::npos) {
      refuse_it("a suffix starts with '.', '_' or '-' and has 2 to 24 bytes");
    }
    const std::string extension = formats::portable_extension(suffix);
    if (extension.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.") != std::string::npos) {
      refuse_it("use letters, digits and dots behind its first character");
    }
    if (!extensions.insert(extension).second) refuse_it(fmt::format("another side-car is '{}' already", extension));
  }
}

}  // namespace

void check(const ShardSizes& sizes) {
  if (sizes.shards && (sizes.samples || sizes.size)) {
    refuse("--shards fixes the number of shards; leave out --samples and --size");
  }
  check_ranges(sizes);
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  if (sizes.name.empty() || sizes.name.size() > 80 || sizes.name.find_first_not_of(allowed) != std::string::npos) {
    refuse(fmt::format("--name '{}': use 1 to 80 letters, digits, '_' and '-'; readers cut shard names at dots",
                       sizes.name));
  }
}

void check(const ListOptions& images) {
  const bool of_list = !images.label_column.empty() || !images.label_separator.empty();
  if (images.list.empty() && of_list) refuse("--label-column and --label-separator speak of a --list; there is none");
  if (images.label_column.empty() && !images.label_separator.empty()) {
    refuse("--label-separator divides labels; say which column has them: --label-column");
  }
}

void check(const ShardingOptions& options) {
  check(static_cast<const ShardSizes&>(options));
  check(options.images);
  if (options.images.list.empty() && options.metadata.empty() && options.images.path_column != kDefaultPathColumn) {
    refuse("--path-column speaks of --list and --metadata; there is neither");
  }
  if (!options.images.list.empty() && options.images.label_column.empty() && !options.class_map.empty()) {
    refuse("--class-map numbers the labels of a --list; say which column has them: --label-column");
  }
  check_members(options, scan_options(options, {}));
  if (options.unlabeled && (!options.class_map.empty() || !options.images.label_column.empty())) {
    refuse("--unlabeled leaves out labels; leave out --class-map and --label-column, or --unlabeled");
  }
  check_ranges(options);
  most_bad(options.max_bad, 0);
  if (options.quality && !options.resize) refuse("--quality is that of --resize; there is none");
  if (options.no_shuffle && options.shuffle) refuse("--shuffle and --no-shuffle contradict each other");
}

catalog::ScanOptions scan_options(const ShardingOptions& options, const std::string& set) {
  catalog::ScanOptions scanning{options.allow_empty, 1, options.sidecars, {}, {}, options.unlabeled, set};
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
  refuse(fmt::format("--max-bad '{}' must be a number of files, or a share from 0% to 100%", max_bad));
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
  // Not where they lie: files that moved are still the same.
  if (!options.images.list.empty()) texts["list"] = "yes";
  if (options.unlabeled) texts["unlabeled"] = "yes";
  if (!options.fields.empty()) texts["fields"] = json_text(nlohmann::ordered_json(options.fields));
  if (!options.metadata.empty()) texts["metadata"] = "yes";
  return texts;
}

void WriteOptions::describe(FieldVisitor& v) {
  v.field({"part",
           "write only part I of N, counted from 0; auto: as the scheduler says (Slurm, Kubernetes Indexed Job, MPI); "
           "`shardctl merge` joins the parts, where there are several sets in each folder",
           "I/N|auto"},
          part);
  v.field({"parts", Unit::count, "number of parts, for --part auto under Kubernetes", "N"}, parts);
  v.field({"recheck", "read finished shards again and compare their checksums before trusting them"}, recheck);
  v.field({"index",
           "also write what other readers want: dali (<shard>.idx), wids (shardindex.json, takes each shard's MD5), "
           "energon (<shard>.tar.idx, .nv-meta/)",
           "dali,wids,energon"},
          index);
  v.field(kDryRunOption, dry_run);
  v.field(
      system::threads_field(
          "cores to use (default: those this process may use); reads in flight follow the source's latency, not this"),
      threads);
}

}  // namespace shardkit::dataset
