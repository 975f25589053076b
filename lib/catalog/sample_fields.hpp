#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/image_source.hpp"
#include "core/context.hpp"

/// Fields of a sample in separate files, such as the mask of an image: how their paths follow from the path of the file
/// that starts the sample.
namespace shardkit::catalog {

/// A declared field, "NAME=TEMPLATE", or "NAME?=TEMPLATE" if samples may lack it.
///
/// Templates are paths relative to the source that contain parts of the file that starts the sample: {dir} is its
/// folder below the source, {class} the first part of that, {name} its name, {stem} its name without the last
/// extension, and {stem-SUFFIX} the stem without SUFFIX at its end. A '*' in the file name matches any text.
class FieldTemplate {
 public:
  /// Throws Error{usage} for an invalid member name, and for an invalid template.
  explicit FieldTemplate(std::string_view declared);

  const std::string& text() const { return text_; }  ///< as it was declared
  const std::string& name() const { return name_; }  ///< the extension of its members, such as "mask.png"
  bool optional() const { return optional_; }
  bool several() const;  ///< contains a '*': its members are numbered

  /// Where to look for the files of one sample.
  struct FilePattern {
    std::string folder;              ///< relative to the source; may start with "../"
    std::vector<std::string> parts;  ///< parts of the file's name, with any text between them

    bool matches(std::string_view name) const;
    std::string text() const;  ///< for messages, with '*' between the parts
  };
  /// For the sample started by the file at `path`, relative to the source. Empty if its stem lacks the SUFFIX.
  std::optional<FilePattern> pattern_for(std::string_view path) const;

 private:
  struct Part {
    enum class Kind { text, dir, class_name, name, stem, any };
    Kind kind;
    std::string text;  ///< of Kind::stem: the suffix to remove
  };
  void parse(std::string_view pattern);
  Part placeholder(std::string_view word) const;
  [[noreturn]] void refuse(std::string_view why) const;

  std::string text_;
  std::string name_;
  bool optional_ = false;
  std::vector<Part> parts_;
};

/// Templates count from the folder that was named; the source is the folder of `set` in it. The path from there.
std::string below_set(const std::string& set, const std::string& path);

/// "mask.2.png" for number 2 of "mask.png": the number is before the last part of the name.
std::string numbered_field(std::string_view name, std::uint32_t number);

struct ImageFolderScan;
struct ScanOptions;

/// Finds the files of the fields in `options`, and adds them to the samples of `scan`, without sizes and times for
/// local ones. A file that is a field of another sample does not start one. Throws Error{not_found} for a field without
/// any file, Error{usage} for templates that leave a store's folder, and the errors of listing.
void find_fields(const SourceFolder& source, const ScanOptions& options, Context& context, ImageFolderScan& scan);

/// Throws Error{usage} for a sample with two members of the same name. Only `options` can cause that.
void refuse_equal_members(const SourceFolder& source, const ScanOptions& options, const ImageFolderScan& scan);

}  // namespace shardkit::catalog
