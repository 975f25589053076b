#include "catalog/image_list.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "catalog/image_folder.hpp"
#include "catalog/image_table.hpp"
#include "catalog/similar_name.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "formats/portable_name.hpp"
#include "formats/sample_name.hpp"

namespace shardkit::catalog {
namespace {

bool looks_like_a_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  return is_digits(text) || parse_decimal(text);
}

/// A label as a list writes it.
struct ListedLabel {
  std::string text;
  std::optional<std::uint64_t> number;  ///< if it is a whole number, then `text` is its shortest form
};

/// The labels of a list, read row by row, with the rules for all rows: each image has exactly one label, and all are
/// whole numbers or all are names; or each has any number of any labels.
class ListLabels {
 public:
  /// `options` outlive it.
  explicit ListLabels(const ImageListOptions& options) : options_(options) {}

  /// The labels in a row's cell. Throws Error{corrupt} with file and line for a cell that is not a label, or is of
  /// another kind than in earlier rows.
  std::vector<ListedLabel> read(const nlohmann::ordered_json& fields, std::uint64_t line) {
    const auto cell = fields.find(options_.label_column);
    if (cell == fields.end()) fail(line, fmt::format("it has no '{}'; see --label-column", options_.label_column));
    std::vector<ListedLabel> labels;
    if (cell->is_array()) {
      note_count(true, line);
      for (const auto& value : *cell) labels.push_back(label_of(value, line));
    } else {
      note_count(false, line);
      labels.push_back(label_of(*cell, line));
    }
    return labels;
  }

  /// Whether images have any number of labels: lists of JSON.
  bool several() const { return several_.value_or(false); }

 private:
  void note_count(bool several, std::uint64_t line) {
    if (!several_) first_line_ = line;
    if (several_.value_or(several) != several) {
      fail(line,
           fmt::format("'{}' contains {} here, but {} in line {}; write all rows the same way", options_.label_column,
                       several ? "several labels" : "one label", several ? "one" : "several", first_line_));
    }
    several_ = several;
  }

  ListedLabel label_of(const nlohmann::ordered_json& value, std::uint64_t line) {
    ListedLabel label;
    if (value.is_string()) {
      label.text = value.get<std::string>();
    } else if (const auto number = json_count(value)) {
      label.text = fmt::to_string(*number);
    } else {
      fail(line, fmt::format("the label is {}, not text or {}",
                             value.is_number() ? json_text(value) : value.type_name(), formats::kLabelRange));
    }
    if (label.text.empty()) fail(line, "the label is empty");
    constexpr std::string_view kSpace = " \t\r\n\f\v";
    if (kSpace.find(label.text.front()) != std::string_view::npos ||
        kSpace.find(label.text.back()) != std::string_view::npos) {
      fail(line, fmt::format("the label '{}' starts or ends with white space, which would make it a different label",
                             label.text));
    }
    if (label.text.find('\0') != std::string::npos) fail(line, "the label contains a NUL byte");
    if (!options_.class_map.empty() || several()) return label;  // only one label of an image is numbered
    if ((label.number = parse_count(label.text, formats::kLargestLabel))) {
      label.text = fmt::to_string(*label.number);
    } else if (looks_like_a_number(label.text)) {
      fail(line, fmt::format("the label '{}' is not {}; if it is a name, number the names with --class-map", label.text,
                             formats::kLabelRange));
    }
    if (!numbers_) number_line_ = line;
    if (numbers_.value_or(label.number.has_value()) != label.number.has_value()) {
      fail(line,
           fmt::format("the label '{}' is a {}, but in line {} it is a {}; number the names with --class-map",
                       label.text, label.number ? "number" : "name", number_line_, label.number ? "name" : "number"));
    }
    numbers_ = label.number.has_value();
    return label;
  }

  [[noreturn]] void fail(std::uint64_t line, std::string_view text) const { fail_at_line(options_.file, line, text); }

  const ImageListOptions& options_;
  std::optional<bool> several_;
  std::optional<bool> numbers_;
  std::uint64_t first_line_ = 0;   ///< that decided several_
  std::uint64_t number_line_ = 0;  ///< that decided numbers_
};

/// Turns the rows of a list into classes of files, metadata left out.
class ListReader {
 public:
  ListReader(const SourceFolder& source, const ImageListOptions& options, const ScanOptions& scanning, Context& context)
      : source_(source),
        options_(options),
        scanning_(scanning),
        context_(context),
        table_(options.file, options.path_column, source),
        labels_(options) {
    if (!options.label_column.empty()) table_.require_column(options.label_column, "--label-column");
  }

  void read() {
    formats::TableRow row;
    nlohmann::ordered_json fields;
    std::string path;
    while (table_.next(row, fields, path)) {
      if (rows_.empty()) note_columns(fields);
      const bool is_there = scanning_.is_primary(path) || complete(path, row.line);
      add(row, fields, is_there ? path : std::string());
      ++context_.progress().items;
      if (rows_.size() % 4096 == 0) context_.throw_if_stopped();
    }
    if (rows_.empty() && scan_.problems.empty()) {
      throw Error(ErrorCode::not_found, At{options_.file}, "the list '{}' has no rows", options_.file);
    }
    table_.warn_of_quotes(context_);
    join_rows();
    sort();
  }

  ImageList take() { return {std::move(scan_), labels_.several(), several_rows_, std::move(other_columns_)}; }

 private:
  void note_columns(const nlohmann::ordered_json& fields) {
    other_columns_.clear();
    for (const auto& [name, value] : fields.items()) {
      if (name != options_.path_column && name != options_.label_column) other_columns_.push_back(name);
    }
  }

  /// Gives an id the extension of the file that it means; false for none, which is a problem.
  bool complete(std::string& path, std::uint64_t line) {
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? std::string() : path.substr(0, slash);
    const std::string start = path.substr(slash + 1) + ".";  // npos + 1 is 0
    auto listed = folders_.find(folder);
    if (listed == folders_.end()) listed = folders_.emplace(folder, list_files(source_, folder)).first;
    std::vector<std::string_view> meant;
    auto file = std::ranges::lower_bound(listed->second, start, {}, &io::ObjectInfo::name);
    for (; file != listed->second.end() && file->name.starts_with(start); ++file) {
      if (formats::split_extension(file->name).stem.size() + 1 == start.size() && scanning_.is_primary(file->name)) {
        meant.push_back(file->name);
      }
    }
    if (meant.size() > 1) {
      fail_at_line(options_.file, line,
                   fmt::format("'{}' may be {}: write it with its extension", path, fmt::join(meant, " or ")));
    }
    if (meant.size() == 1) {
      path += meant.front().substr(start.size() - 1);
      return true;
    }
    if (start.find('.') + 1 < start.size()) {
      fail_at_line(options_.file, line,
                   fmt::format("'{}' is not an image by its name (.jpg, .png, ...); see --primary", path));
    }
    const std::string address = source_.path_of(path);
    scan_.problems.push_back(
        {path, Error(ErrorCode::not_found, At{address}, Fault{"no file is called with an image's extension"},
                     fmt::format("no file is called '{}' with an image's extension", address))});
    return false;
  }

  void add(const formats::TableRow& row, const nlohmann::ordered_json& fields, const std::string& path) {
    ListedLabel label;
    if (!options_.label_column.empty()) {
      std::vector<ListedLabel> labels = labels_.read(fields, row.line);
      if (!labels_.several()) label = std::move(labels.front());
    }
    const auto [position, fresh] = classes_.emplace(label.text, scan_.classes.size());
    if (fresh) {
      ScannedClass& item = scan_.classes.emplace_back();
      item.name = label.text;
      item.label = label.number;
    }
    if (path.empty()) return;  // a problem; its class keeps its number
    ScannedClass& owner = scan_.classes[position->second];
    rows_.push_back({xxh3_64(as_bytes(path)), row.hash, static_cast<std::uint32_t>(position->second),
                     static_cast<std::uint32_t>(owner.files.size())});
    owner.files.push_back({0, 0, owner.add_name(path)});
  }

  /// Whether samples of the two classes get one label.
  bool agree(const ScannedClass& one, const ScannedClass& other) const {
    if (&one == &other) return true;
    const auto number = options_.class_map.find(one.name);
    const auto other_number = options_.class_map.find(other.name);
    const bool are_known = number != options_.class_map.end() && other_number != options_.class_map.end();
    return are_known && number->second == other_number->second;
  }

  /// The rows of one path become one sample, without a label unless all have the same.
  void join_rows() {
    std::ranges::sort(rows_, {}, [this](const Row& row) {
      return std::pair(row.path_hash, std::string_view(scan_.classes[row.owner].name));
    });
    std::vector<std::string> unlabeled;
    for (auto begin = rows_.begin(); begin != rows_.end();) {
      const auto end =
          std::find_if(begin, rows_.end(), [&](const Row& row) { return row.path_hash != begin->path_hash; });
      const ScannedClass& first = scan_.classes[begin->owner];
      const bool one_label =
          std::all_of(begin, end, [&](const Row& row) { return agree(first, scan_.classes[row.owner]); });
      const auto is_other = [&](const Row& row) { return row.row_hash != begin->row_hash; };
      several_rows_ = several_rows_ || std::any_of(begin, end, is_other);
      if (!one_label) unlabeled.emplace_back(first.name_of(file_of(*begin)));
      std::for_each(one_label ? begin + 1 : begin, end, [&](const Row& row) { file_of(row).mtime_ns = kJoined; });
      begin = end;
    }
    for (ScannedClass& owner : scan_.classes) {
      std::erase_if(owner.files, [](const ScannedFile& file) { return file.mtime_ns == kJoined; });
    }
    std::erase_if(scan_.classes, [](const ScannedClass& owner) { return owner.files.empty() && owner.name.empty(); });
    if (unlabeled.empty()) return;
    ScannedClass& owner = scan_.classes.emplace_back();  // no label is empty, so no class of this name is there yet
    for (const std::string& path : unlabeled) owner.files.push_back({0, 0, owner.add_name(path)});
  }

  void sort() {
    for (ScannedClass& item : scan_.classes) {
      std::ranges::sort(item.files, {}, [&](const ScannedFile& file) { return item.name_of(file); });
    }
    std::ranges::sort(scan_.classes, [](const ScannedClass& a, const ScannedClass& b) {
      return std::pair(a.label.value_or(0), std::string_view(a.name)) <
             std::pair(b.label.value_or(0), std::string_view(b.name));
    });
  }

  /// The part of a row that stays until all are read: 24 bytes.
  struct Row {
    std::uint64_t path_hash;  ///< XXH3-64
    std::uint64_t row_hash;   ///< XXH3-64
    std::uint32_t owner;      ///< its class
    std::uint32_t file;       ///< in it
  };
  static constexpr std::int64_t kJoined = -1;  ///< mtime of a file in another row
  ScannedFile& file_of(const Row& row) { return scan_.classes[row.owner].files[row.file]; }

  const SourceFolder& source_;
  const ImageListOptions& options_;
  const ScanOptions& scanning_;
  Context& context_;
  ImageTable table_;
  ListLabels labels_;
  ImageFolderScan scan_{.listed = true, .classes = {}, .problems = {}};
  std::map<std::string, std::size_t> classes_;                  ///< position in scan_.classes by name
  std::map<std::string, std::vector<io::ObjectInfo>> folders_;  ///< where ids were found
  std::vector<Row> rows_;
  bool several_rows_ = false;
  std::vector<std::string> other_columns_;
};

/// Adds the names that side-cars of these suffixes would have.
void add_sidecars(ImageFolderScan& scan, const std::vector<std::string>& suffixes) {
  scan.add_sidecar_fields(suffixes);
  for (ScannedClass& owner : scan.classes) {
    for (std::uint32_t i = 0; i < owner.files.size(); ++i) {
      const std::string stem(formats::split_extension(owner.name_of(owner.files[i])).stem);
      for (std::uint16_t field = 0; field < suffixes.size(); ++field) {
        owner.members.push_back({i, field, true, {}, {0, 0, owner.add_name(stem + suffixes[field])}});
      }
    }
  }
}

/// Names the files that images without one may mean, for the first of them.
void name_similar_files(const SourceFolder& source, std::vector<ScanProblem>& problems) {
  constexpr int most = 3;
  int looked_for = 0;
  for (ScanProblem& problem : problems) {
    if (problem.error.code() != ErrorCode::not_found || ++looked_for > most) continue;
    const std::string similar = similar_file(source, problem.path);
    if (similar.empty()) continue;
    const std::string what = problem.path.find('\\') != std::string::npos
                                 ? "does not exist, but a file of this name with '/' between folders does"
                                 : "does not exist, but a file of this name in another Unicode form (NFC, NFD) does";
    problem.error = Error(ErrorCode::not_found, At{source.path_of(problem.path)},
                          Fault{what, fmt::format(": '{}'; write its name as the file system has it", similar)});
    problem.unread.clear();
  }
}

}  // namespace

ImageList scan_image_list(const SourceFolder& source, const ImageListOptions& list, const ScanOptions& options,
                          Context& context) {
  context.progress().start("list");
  ListReader reader(source, list, options, context);
  reader.read();
  ImageList result = reader.take();
  add_sidecars(result.scan, options.sidecars);
  find_fields(source, options, context, result.scan);
  context.progress().start("scan");
  read_metadata(source, result.scan, options.cores, context);
  name_similar_files(source, result.scan.problems);
  refuse_equal_members(source, options, result.scan);
  return result;
}

}  // namespace shardkit::catalog
