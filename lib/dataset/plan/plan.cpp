#include "dataset/plan/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "catalog/image_folder.hpp"
#include "catalog/set_folders.hpp"
#include "core/command_text.hpp"
#include "core/remedies.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "dataset/bucket/output_location.hpp"
#include "io/publish.hpp"
#include "system/limits.hpp"

namespace shardkit::dataset {
namespace {

/// One plan is of one set.
void refuse_set_folders(const catalog::SourceFolder& images, const PlanOptions& options, Context& context) {
  const catalog::SetFolders sets = catalog::find_set_folders(images, context, !options.sharding.unlabeled);
  if (options.sharding.class_map.empty())
    catalog::refuse_unclear_folders(images, sets, context, !options.sharding.unlabeled);
  if (sets.names.empty()) return;
  throw Error(ErrorCode::usage, At{images.path},
              "'{}' contains the sets {}, but a plan is for one set; {} writes all of them, with one label per class. "
              "To plan each separately, list the classes of all sets in a file and use it for each: {}",
              images.path, fmt::join(sets.names, ", "),
              remedy::in_text(remedy::convert(images.path, command_text("", options.sharding))),
              remedy::in_text(remedy::plan(images.path_of(sets.names.front()), options.output)));
}

/// A plan at an address is an object in its folder.
OutputLocation open_plan_file(const PlanOptions& options, Context& context) {
  if (!catalog::is_address(options.output)) return {io::posix_file_system(), io::published_path(options.output)};
  const std::string folder = io::parent_folder(options.output);
  const std::string name = options.output.substr(folder.size() + 1);
  if (name.empty() || !catalog::is_address(folder)) {
    throw usage_error("-o '{}' names no object; give s3://bucket/key", without_secrets(options.output));
  }
  OutputLocation location = open_output_location(folder, options.sharding.access, context);
  location.folder = io::join_path(location.folder, name);
  return location;
}

}  // namespace

void PlanOptions::describe(FieldList& v) {
  v.field(
      {"SRC", "folder with one subfolder of images per class, local or at an s3:// URL; with --list also at http(s)://",
       Role::positional},
      source);
  v.topic("Output");
  v.field({"output", "file to write the plan to, local or s3://bucket/key", Role::output_file, kOutputLocation, "PLAN",
           'o'},
          output);
  sharding.describe(v);
  v.topic("Parts and plans");
  v.field({"parts", Unit::count,
           "number of parts of the converts, for --part auto: ids of array tasks are then 0 to N-1 (LSF: 1 to N), also "
           "if some tasks are submitted again without the others",
           "N", at_least(1)},
          parts);
  v.topic("Output");
  v.field(system::threads_field("reading threads; default: CPUs available to the process"), threads);
  sharding.access.describe(v);
}

void PlanResult::describe(FieldList& v) {
  v.field({"output", "the plan file"}, output);
  PlanSummary::describe(v);
  v.field({"scan_seconds", Unit::seconds, "time for listing and reading sizes"}, scan_seconds);
}

PlanResult plan(const PlanOptions& options, Context& context) {
  if (options.output.empty()) throw usage_error("missing -o FILE: where to write the plan");
  const auto [files, output] = open_plan_file(options, context);
  const bool listed = !options.sharding.images.list.empty();
  const catalog::SourceFolder images(options.source, listed,
                                     std::make_shared<catalog::Inputs>(options.sharding.access, context));
  if (!listed) refuse_set_folders(images, options, context);
  io::AtomicFile file(*files, output);
  const bool skips = options.sharding.on_bad == OnBad::skip;
  context.progress().expect_stages(2);
  context.progress().next_stage();
  const auto none = [](const std::string&) { return false; };
  const ScannedSource source = skips ? scan_whole_source(images, options.sharding, {}, options.threads, none, context)
                                     : scan_source(images, options.sharding, {}, options.threads, context);
  warn_of_classes(source, {}, context);
  context.progress().next_stage();
  PlanResult result{write_plan(source, options.sharding, {.parts = options.parts}, file, context), options.output,
                    source.scan_seconds};
  if (files->is_local()) {
    file.commit();
  } else if (!file.commit_new()) {
    throw Error(ErrorCode::conflict, At{output}, "'{}' exists and has other bytes than this plan; choose another name",
                output);
  }
  return result;
}

}  // namespace shardkit::dataset
