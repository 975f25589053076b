// What all verbs of both programs do with the files and folders that they are to write.

#include <filesystem>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/app.hpp"
#include "core/field_tree.hpp"
#include "programs.hpp"
#include "support/environment.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using shardkit::FieldNode;
using shardkit::Role;

namespace {

struct Ended {
  int exit_code = 0;
  std::string err;
};

Ended run(const shardkit::cli::App& app, const std::vector<std::string>& args) {
  std::ostringstream out;
  std::ostringstream err;
  const int exit_code = shardkit::cli::run_app(app, args, {.out = out, .err = err});
  return {exit_code, err.str()};
}

/// Its own options and those of all verbs.
std::vector<FieldNode> options_of(const shardkit::cli::Command& command) {
  return shardkit::field_tree([&](shardkit::FieldList& v) {
    command.prepare().describe_options(v);
    shardkit::cli::CommonOptions().describe(v, &command);
  });
}

/// The verb, and `folder` for each operand but `but`, which is `value`.
std::vector<std::string> command_line(const shardkit::cli::Command& command, const std::string& folder,
                                      std::string_view but = "", const std::string& value = "") {
  std::istringstream words{std::string(command.text().name)};
  std::vector<std::string> args;
  for (std::string word; words >> word;) args.push_back(word);
  for (const FieldNode& option : options_of(command)) {
    if (!option.field.is_operand()) continue;
    args.push_back(option.field.name == but ? value : folder);
  }
  return args;
}

/// Calls `check` with each option and operand of each verb for which `wanted` holds.
void for_each_output(
    const std::function<bool(const FieldNode&)>& wanted,
    const std::function<void(const shardkit::cli::App&, const shardkit::cli::Command&, const FieldNode&)>& check) {
  for (const shardkit::cli::App& app : {shardkit::apps::shardctl_app(), shardkit::apps::iobench_app()}) {
    for (const shardkit::cli::Command& command : app.commands) {
      for (const FieldNode& option : options_of(command)) {
        if (!wanted(option)) continue;
        CAPTURE(command.text().name);
        CAPTURE(option.field.name);
        check(app, command, option);
      }
    }
  }
}

bool is_filled_folder(const FieldNode& option) {
  return option.field.role != Role::output_file &&
         (option.field.output == shardkit::Output::own || option.field.output == shardkit::Output::location);
}

bool is_report(const FieldNode& option) { return option.field.role == Role::output_file; }

}  // namespace

TEST_CASE("no verb writes to an address that is not a bucket's, and none makes a file or a folder called -") {
  const TempDir dir;
  std::size_t operands = 0;
  for_each_output(
      [](const FieldNode& option) { return option.field.is_output(); },
      [&](const auto& app, const auto& command, const FieldNode& option) {
        for (const std::string target :
             {"s3://me:hush@bucket/x", "s3:/bucket/x", "gs://bucket/x", "file:///tmp/x", "-"}) {
          const bool may_be_bucket = option.field.output == shardkit::Output::location;
          if (target == "-" && option.field.name == "json") continue;
          if (target.starts_with("gs:") && may_be_bucket) continue;
          CAPTURE(target);
          auto args = command_line(command, dir.path(), option.field.name, target);
          if (!option.field.is_operand()) args.insert(args.end(), {option.field.spelling(), target});
          const Ended ended = run(app, args);
          CHECK(ended.exit_code == 2);
          const bool is_shared = option.field.output == shardkit::Output::shared && !is_report(option);
          const char* const says = target == "-" ? ": give a " : may_be_bucket || is_shared ? "address" : "is a URL";
          CHECK(ended.err.find(says) != std::string::npos);
          CHECK(ended.err.find("hush") == std::string::npos);
        }
        operands += option.field.is_operand() ? 1 : 0;
      });
  CHECK(operands == 12);  // DST, OUT and DIR of shardctl's verbs, DIR of checkpoint
  CHECK(std::filesystem::is_empty(dir.path()));
  for (const char* made : {"s3:", "gs:", "file:", "-"}) CHECK_FALSE(std::filesystem::exists(made));
}

TEST_CASE("no report replaces a file in a folder that the command names, or lies in .shardkit") {
  const TempDir dir;
  std::filesystem::create_directories(dir.path("q/class/.shardkit"));
  const std::vector<std::string> files{"q/manifest.json", "q/class/img.json", "q/1.json", "q/class/.shardkit/plan"};
  for (const std::string& file : files) write_file(dir.path(file), "{\n \"schema\": \"shardkit/other\"}");
  std::size_t reports = 0;
  for_each_output(is_report, [&](const auto& app, const auto& command, const FieldNode& option) {
    std::vector<std::string> args = command_line(command, dir.path("q"));
    if (args.back() != dir.path("q") || option.field.output == shardkit::Output::shared) return;
    args.push_back(option.field.spelling());
    for (const std::string& file : files) {
      CAPTURE(file);
      args.push_back(dir.path(file));
      const Ended ended = run(app, args);
      CHECK(ended.exit_code == 2);
      CHECK(ended.err.find("choose another file") != std::string::npos);
      CHECK(read_file(dir.path(file)).ends_with("other\"}"));
      args.push_back("--no-such-option");  // when not even the operands are known
      CHECK(run(app, args).exit_code == 2);
      CHECK(read_file(dir.path(file)).ends_with("other\"}"));
      args.resize(args.size() - 2);
    }
    ++reports;
  });
  CHECK(reports > 30);
}

TEST_CASE("no report has a name of a set in a folder that the verb fills; another one may lie there") {
  const TempDir dir;
  std::filesystem::create_directory(dir.path("out"));
  std::filesystem::create_directory(dir.path("src"));
  std::size_t folders = 0;
  for_each_output(&is_filled_folder, [&](const auto& app, const auto& command, const FieldNode& option) {
    auto args = command_line(command, dir.path("src"), option.field.name, dir.path("out/"));
    if (!option.field.is_operand()) args.insert(args.end(), {"--output", dir.path("out/")});
    for (const char* name : {"shard-000000.tar", "manifest.json", "x.idx"}) {
      std::vector<std::string> with_report = args;
      with_report.insert(with_report.end(), {"--json", dir.path("out/") + name});
      const Ended ended = run(app, with_report);
      CHECK(ended.exit_code == 2);
      CHECK(ended.err.find("uses for its own files: choose another file") != std::string::npos);
    }
    args.insert(args.end(), {"--json", dir.path("out/result.json"), "--no-such-option"});
    CHECK(run(app, args).err.find("choose another file") == std::string::npos);
    std::filesystem::remove(dir.path("out/result.json"));
    ++folders;
  });
  CHECK(folders == 7);
  CHECK(std::filesystem::is_empty(dir.path("out")));
}

TEST_CASE("names of reports contain the node and the job") {
  const TempDir folder;
  const shardkit_test::Environment node("SLURMD_NODENAME", "n7");
  const std::vector<std::string> args{"model", "--preset", "resnet50-h100", "--json"};
  const auto run_with = [&](const std::string& name) {
    std::vector<std::string> all = args;
    all.push_back(folder.path() + "/" + name);
    return run(shardkit::apps::iobench_app(), all);
  };
  CHECK(run_with("%n.json").exit_code == 0);
  CHECK(std::filesystem::exists(folder.path() + "/n7.json"));
  {
    const shardkit_test::Environment job("SLURM_JOB_ID", "12");
    CHECK(run_with("%n-%j-%x.json").exit_code == 0);
    CHECK(std::filesystem::exists(folder.path() + "/n7-12-%x.json"));
  }
  CHECK(run_with("%j.json").exit_code == 2);
  CHECK_FALSE(std::filesystem::exists(folder.path() + "/%j.json"));
  const shardkit::cli::App iobench = shardkit::apps::iobench_app();
  CHECK(run(iobench, {"model", "--no-such-option", "--json", folder.path() + "/wrong-%n.json"}).exit_code == 2);
  CHECK(std::filesystem::exists(folder.path() + "/wrong-n7.json"));  // the failure, under the name of the node
  CHECK_FALSE(std::filesystem::exists(folder.path() + "/wrong-%n.json"));
}

TEST_CASE("in a folder that is read a report may be new or replace an earlier one of its verb") {
  const TempDir dir;
  const shardkit::cli::App app = shardkit::apps::iobench_app();
  for (const char* option : {"--json", "--markdown"}) {
    const std::string report = dir.path(std::string("r") + option);
    for (int i = 0; i < 2; ++i) {
      const Ended ended = run(app, {"compare", dir.path(), dir.path(), option, report});
      CHECK(ended.err.find("choose another file") == std::string::npos);
      CHECK(std::filesystem::exists(report));
    }
  }
  write_file(dir.path("a.tar"), "");
  write_file(dir.path("a.idx"), "0 512");
  CHECK(run(app, {"read", dir.path("a.tar"), "--json", dir.path("a.idx")}).exit_code == 2);
  const Ended beside = run(app, {"read", dir.path("a.tar"), "--json", dir.path("r--json")});
  CHECK(beside.err.find("choose another file") == std::string::npos);
}
