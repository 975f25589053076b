#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/image_source.hpp"
#include "core/context.hpp"

/// Fields of a sample that lie in files of their own, such as the mask of an image: how their paths follow from the
/// path of the file that starts the sample.
namespace shardkit::catalog {

/// A declared field, "NAME=TEMPLATE", or "NAME?=TEMPLATE" where samples may lack it.
///
/// Templates are paths relative to the source, in which stand, of the file that starts the sample: {dir} for its folder
/// below the source, {class} for the first part of that, {name} for its name, {stem} for its name without the last
/// extension, and {stem-SUFFIX} for the stem without SUFFIX at its end. A '*' in the file name stands for any text.
class FieldTemplate {
 public:
  /// Throws Error{usage} for a name that no member can have, and for a template that cannot be followed.
  explicit FieldTemplate(std::string_view declared);

  const std::string& text() const { return text_; }  ///< as it was declared
  const std::string& name() const { return name_; }  ///< the extension of its members, such as "mask.png"
  bool optional() const { return optional_; }
  bool several() const;  ///< has a '*': its members are numbered

  /// Where the files of one sample are looked for.
  struct Place {
    std::string folder;              ///< relative to the source; may start with "../"
    std::vector<std::string> parts;  ///< what the file's name consists of, any text between them

    bool matches(std::string_view name) const;
    std::string text() const;  ///< for messages, with '*' between the parts
  };
  /// For the sample that the file at `path`, relative to the source, starts. Empty where its stem lacks the SUFFIX.
  std::optional<Place> place(std::string_view path) const;

 private:
  struct Part {
    enum class Kind { text, dir, class_name, name, stem, any };
    Kind kind;
    std::string text;  ///< of Kind::stem: the suffix to be removed
  };
  void parse(std::string_view pattern);
  Part placeholder(std::string_view word) const;
  [[noreturn]] void refuse(std::string_view why) const;

  std::string text_;
  std::string name_;
  bool optional_ = false;
  std::vector<Part> parts_;
};

/// "mask.2.png" for number 2 of "mask.png": the number stands before the last part of the name.
std::string numbered_field(std::string_view name, std::uint32_t number);

struct ImageFolderScan;
struct ScanOptions;

/// Looks for the files of the fields that `options` declare, and adds them to the samples of `scan`; sizes and times
/// are left out of local ones. What is a field of another sample starts none of its own. Throws Error{not_found} for a
/// field of which no sample has a file, Error{usage} for templates that leave a store's folder, and what listing
/// throws.
void find_fields(const SourceFolder& source, const ScanOptions& options, Context& ctx, ImageFolderScan& scan);

/// Throws Error{usage} for a sample of which two members would have one name. Only what `options` ask for can do that.
void refuse_equal_members(const SourceFolder& source, const ScanOptions& options, const ImageFolderScan& scan);

}  // namespace shardkit::catalog
