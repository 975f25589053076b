#include "cli/documents/documents.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <sstream>

#include <doctest/doctest.h>

#include "cli/app.hpp"
#include "cli/fake_app.hpp"
#include "cli/field_text.hpp"
#include "cli/parse.hpp"
#include "programs.hpp"

using namespace shardkit_test;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("-h of a verb shows its operands, its main options and where the others are") {
  CHECK(run_fake(succeed, {"work", "-h"}).out == R"(fake work: work on a folder

Usage: fake work SRC [MORE...] [options]

Operands:
  SRC        folder to work on
  [MORE...]  further folders

Options:
  --size SIZE                 close a shard before it passes this size
  --depth structure|checksum  how deep to look (default: structure)
  --trace FILE                write what was done
  --json FILE                 write the result as JSON to FILE
  -q, --quiet                 do not show progress
  -v, --verbose               print all fields of the result, then the summary

Examples:
  # work on photos
  fake work photos

All options: fake work --help, or man fake-work
)");
  CHECK(run_fake(succeed, {"work", "photos", "--size", "1MiB", "-h"}).exit_code == 0);
}

TEST_CASE("-h of a verb without main options shows all of them but the shared ones") {
  const std::string text = run_fake(succeed, {"cache", "ls", "-h"}).out;
  CHECK(contains(text, "\n  --recheck "));
  CHECK_FALSE(contains(text, "--anonymous"));
}

TEST_CASE("options of a shared topic are explained once") {
  CHECK(run_fake(succeed, {"help", "stores"}).out == R"(Objects need credentials.

Stores:
  --profile NAME  name of the credentials
  --region TEXT   place of the store
  --anonymous     send no credentials
)");
  const shardkit::cli::App app = fake_app(succeed);
  const auto manual = shardkit::cli::manual_pages(app);
  CHECK(manual.back().first == "fake-stores.1");
  CHECK(contains(manual.back().second, "\\fB\\-\\-anonymous\\fR\nsend no credentials\n"));
  CHECK(contains(manual[1].second, ".SS Stores\n\\-\\-profile, \\-\\-region, ...: see\n.BR fake\\-stores (1).\n"));
  const auto reference = shardkit::cli::reference_pages({app});
  CHECK(reference.back().first == "stores.md");
  CHECK(contains(reference.back().second, "| `--anonymous` |  | send no credentials | `anonymous` |\n"));
  CHECK(contains(reference.back().second, "Options of: [fake work](fake-work.md), [fake cache ls](fake-cache-ls.md)"));
  CHECK(contains(reference[1].second, "`--profile, --region, ...`: see [Stores](stores.md).\n"));
}

TEST_CASE("--help of a verb") {
  CHECK(run_fake(succeed, {"work", "--help"}).out == R"(Usage: fake work SRC [MORE...] [options]

Works on a folder, or pretends to.

Operands:
  SRC        folder to work on
  [MORE...]  further folders

Options:
  --size SIZE     close a shard before it passes this size
  --samples N     close a shard after N samples (default: 5000)
  --timeout TIME  give up after this time (default: 90s)
  --headroom X    share of capacity to leave unused

Looking:
  --depth structure|checksum  how deep to look (default: structure)
  --recheck                   trust checksums only
  --rules FILE                what to look for

Output:
  --index dali,wids,energon  indexes to write
  -n, --name PREFIX          prefix of the shards' names (default: shard)
  --trace FILE               write what was done

Stores: --profile, --region, ...: see fake help stores

Report and log:
  --json FILE        write the result as JSON to FILE; with -, standard output
                     contains only the JSON. In names of reports, %n is the name
                     of the node, and %j the Slurm job
  --prometheus FILE  write metrics to FILE for the textfile collector of
                     Prometheus' node_exporter
  --log text|json    format of standard error: text, or one JSON object per line
                     (default: text)
  -q, --quiet        do not show progress
  -v, --verbose      print all fields of the result, then the summary
  --soft-fail        exit 0 even if the command fails, for prologs that would
                     otherwise drain the node; the error and its exit code are
                     still reported
  -h, --help         show this help; -h: only the main options

Examples:
  # work on photos
  fake work photos

Exit codes: fake help exit-codes
)");
}

TEST_CASE("help is asked for by word as well, and exit codes have a page of their own") {
  CHECK(run_fake(succeed, {"help"}).out == run_fake(succeed, {"--help"}).out);
  CHECK(run_fake(succeed, {"help", "cache", "ls"}).out == run_fake(succeed, {"cache", "ls", "--help"}).out);
  CHECK(contains(run_fake(succeed, {"help", "exit-codes"}).out, "  2    the command line is wrong\n"));
  CHECK(run_fake(succeed, {"help", "nothing"}).exit_code == 2);
  CHECK(run_fake(succeed, {"cache", "help"}).out == run_fake(succeed, {"cache", "--help"}).out);
  CHECK(run_fake(succeed, {"cache", "help", "ls"}).out == run_fake(succeed, {"cache", "ls", "--help"}).out);
  CHECK(run_fake(succeed, {"-V"}).out == run_fake(succeed, {"--version"}).out);
  CHECK(run_fake(succeed, {"version"}).out == run_fake(succeed, {"--version"}).out);
}

TEST_CASE("the reference has a page for each verb with every option, result field and nested field") {
  const auto pages = shardkit::cli::reference_pages({fake_app(succeed)});
  REQUIRE(pages.size() == 5);
  CHECK(pages[1].first == "fake-work.md");
  const std::string& page = pages[1].second;
  CHECK(contains(page, "# fake work\n"));
  CHECK(contains(page, "\n`fake work SRC [MORE...] [options]`\n"));
  CHECK(contains(page,
                 "## Options\n\n### Operands\n\n| option | default | meaning | JSON |\n|---|---|---|---|\n| `SRC`"));
  CHECK(contains(page, "\n### Looking\n\n| option | default | meaning | JSON |\n|---|---|---|---|\n| `--depth"));
  CHECK(contains(page, "| `--timeout TIME` | `90s` | give up after this time | `timeout_seconds` |\n"));
  CHECK(contains(page, "| `--depth structure\\|checksum` | `structure` | how deep to look | `depth` |\n"));
  CHECK(contains(page, "| `latency_seconds.p99` | number | seconds | 99 of 100 reads took less |\n"));
  CHECK(contains(page, "| `problems[].code` | text |  | name of the trap |\n"));
  CHECK(contains(page, "| `cold_seconds` | object or null |  | time per read with cold caches |\n"));
}

TEST_CASE("there is a manual page per program, verb and group, and troff finds nothing odd in it") {
  const auto pages = shardkit::cli::manual_pages(fake_app(succeed));
  REQUIRE(pages.size() == 6);
  CHECK(pages[4].first == "fake-cache.1");
  CHECK(contains(pages[4].second, ".SH SYNOPSIS\n.B fake cache VERB"));
  CHECK(contains(pages[4].second, "\\fBfake\\-cache\\-warm(1)\\fR\nread a cache into memory\n"));
  CHECK(pages[0].first == "fake.1");
  CHECK(pages[1].first == "fake-work.1");
  const std::string& page = pages[1].second;
  CHECK(contains(page, ".SH NAME\nfake\\-work \\- work on a folder\n"));
  CHECK(contains(page, ".TP\n\\fB\\-\\-timeout TIME\\fR\ngive up after this time (default: 90s)\n"));
  CHECK(contains(page, ".SS Looking\n.TP\n\\fB\\-\\-depth"));
  CHECK(page.find(".SS Report and log\n") > page.find(".SS Output\n"));
  CHECK(contains(page, ".SH EXIT STATUS\n"));
  CHECK(contains(page, ".SH EXAMPLES\n"));
}

TEST_CASE("documents of a verb of two words: a hyphen in names and anchors, a blank where it is typed") {
  const shardkit::cli::App app = fake_app(succeed);
  CHECK(contains(run_fake(succeed, {"--help"}).out,
                 "  work        work on a folder\n  cache ls    list what a cache holds\n"));
  const auto pages = shardkit::cli::manual_pages(app);
  CHECK(pages[2].first == "fake-cache-ls.1");
  CHECK(contains(pages[2].second, ".SH NAME\nfake\\-cache\\-ls \\- list what"));
  CHECK(contains(pages[2].second, ".SH SYNOPSIS\n.B fake cache ls SRC"));
  CHECK(contains(pages[0].second, "fake\\-cache\\-ls(1)"));
  const auto reference = shardkit::cli::reference_pages({app});
  CHECK(reference[0].first == "README.md");
  CHECK(contains(reference[0].second, "| [cache ls](fake-cache-ls.md) | list what a cache holds |\n"));
  CHECK(reference[2].first == "fake-cache-ls.md");
}

TEST_CASE("help, manual and reference of a verb name the page that explains it") {
  shardkit::cli::App app = fake_app(succeed);
  app.pages = {{"work", "explain/work.md"}, {"cache", "how-to/cache.md"}};
  CHECK(shardkit::cli::page_of(app, "cache ls") == "how-to/cache.md");
  CHECK(shardkit::cli::page_of(app, "other").empty());
  CHECK(contains(shardkit::cli::command_help(app, app.commands.front()),
                 "\nMore: docs/explain/work.md in the source of shardkit\n"));
  CHECK(contains(shardkit::cli::manual_pages(app)[1].second, ".I share/doc/shardkit/docs/explain/work.md\n"));
  CHECK(contains(shardkit::cli::reference_pages({app})[1].second, "\nMore: [explain/work.md](../explain/work.md).\n"));
}

TEST_CASE("an option that only some verbs have is not listed as one of every verb") {
  const std::string text =
      shardkit::cli::reference_pages({shardkit::apps::shardctl_app(), shardkit::apps::iobench_app()})[0].second;
  const std::size_t some = text.find("Only some verbs have these:");
  REQUIRE(some != std::string::npos);
  for (const char* option : {"--prometheus", "--junit", "--markdown", "--soft-fail"}) {
    CHECK(text.find(std::string("| `") + option) > some);
  }
  for (const char* option : {"--json FILE", "-q, --quiet", "-v, --verbose"}) {
    CHECK(text.find(std::string("| `") + option) < some);
  }
  CHECK(contains(text, "the error and its exit code are still reported | stage, upload |\n"));
}

TEST_CASE("brief help of both programs fits a terminal, and no line of any help is wider than 80 columns") {
  for (const shardkit::cli::App& app : {shardkit::apps::shardctl_app(), shardkit::apps::iobench_app()}) {
    CAPTURE(app.name);
    const std::string brief = shardkit::cli::brief_program_help(app);
    CHECK(lines_of(brief).size() <= shardkit::cli::kBriefProgramLines);
    std::string all = brief + shardkit::cli::program_help(app) + shardkit::cli::exit_code_help();
    for (const auto& topic : app.shared_topics) all += shardkit::cli::topic_help(app, topic);
    for (const auto& word : shardkit::cli::first_words(app)) {
      if (word.is_group) all += shardkit::cli::group_help(app, word);
    }
    for (const shardkit::cli::Command& command : app.commands) {
      CAPTURE(command.text().name);
      const std::string text = shardkit::cli::brief_command_help(app, command);
      CHECK(lines_of(text).size() <= shardkit::cli::kBriefCommandLines);
      CHECK(contains(lines_of(text).back(), "--help, or man "));
      all += text + shardkit::cli::command_help(app, command);
    }
    for (const std::string& line : lines_of(all)) {
      CAPTURE(line);
      // A path is as long as the folder of the installation.
      if (!line.starts_with("More: ")) CHECK(line.size() <= shardkit::cli::kHelpWidth);
    }
  }
}

TEST_CASE("-h shows only options that exist, and no verb or option that exists counts as removed") {
  for (const shardkit::cli::App& app : {shardkit::apps::shardctl_app(), shardkit::apps::iobench_app()}) {
    for (const shardkit::cli::Command& command : app.commands) {
      CAPTURE(command.text().name);
      const shardkit::cli::CommandDoc doc = shardkit::cli::document(command);
      CHECK(shardkit::cli::replacement(app.elsewhere, "", command.text().name).empty());
      for (const shardkit::FieldNode& option : doc.options)
        CHECK(shardkit::cli::replacement(app.elsewhere, command.text().name, option.field.spelling()).empty());
      for (const std::string_view name : command.text().main) {
        CAPTURE(name);
        const auto has = [&](const shardkit::FieldNode& option) { return option.field.name == name; };
        CHECK((std::ranges::any_of(doc.options, has) || std::ranges::any_of(doc.common, has)));
      }
    }
  }
}

TEST_CASE("every verb that measures takes --label, by which aggregate groups nodes") {
  for (const shardkit::cli::Command& command : shardkit::apps::iobench_app().commands) {
    constexpr std::array<std::string_view, 5> kOthers{"aggregate", "compare", "env", "model", "report"};
    CAPTURE(command.text().name);
    CHECK(command.text().labels == (std::ranges::find(kOthers, command.text().name) == kOthers.end()));
  }
}

// A new option of `convert`, or a new name of an option, has to replace another one.
TEST_CASE("a verb has at most 37 options of its own, and both programs have at most 171 names of options") {
  constexpr std::size_t kMostOfVerb = 37;  // those of every verb and of object stores are documented once
  constexpr std::size_t kMostNames = 171;
  std::set<std::string_view> names;
  for (const shardkit::cli::App& app : {shardkit::apps::shardctl_app(), shardkit::apps::iobench_app()}) {
    for (const shardkit::cli::Command& command : app.commands) {
      CAPTURE(command.text().name);
      const shardkit::cli::CommandDoc doc = shardkit::cli::document(command);
      std::size_t own = 0;
      for (const shardkit::FieldNode& option : doc.options) {
        if (option.field.is_operand()) continue;
        names.insert(option.field.name);
        if (shardkit::cli::shared_topic(app, option.topic) == nullptr) ++own;
      }
      for (const shardkit::FieldNode& option : doc.common) names.insert(option.field.name);
      CHECK(own <= kMostOfVerb);
    }
  }
  CHECK(names.size() <= kMostNames);
}

TEST_CASE("every verb with threads has -j, and all verbs describe shared options alike") {
  for (const shardkit::cli::App& app : {shardkit::apps::shardctl_app(), shardkit::apps::iobench_app()}) {
    for (const shardkit::cli::Command& command : app.commands) {
      CAPTURE(command.text().name);
      std::map<std::string_view, std::string> shared;
      for (const shardkit::FieldNode& option : shardkit::cli::document(command).options) {
        if (option.field.name == "threads") CHECK(option.field.short_name == 'j');
        if (shardkit::cli::shared_topic(app, option.topic) != nullptr) {
          shared[option.topic] += shardkit::cli::option_spelling(option) + shardkit::cli::help_text(option);
        }
      }
      for (const auto& [heading, texts] : shared) {
        std::string once;
        for (const auto& option : shardkit::cli::shared_options(app, *shardkit::cli::shared_topic(app, heading))) {
          once += shardkit::cli::option_spelling(option) + shardkit::cli::help_text(option);
        }
        CHECK(texts == once);
      }
    }
  }
}

TEST_CASE("the verbs of both programs keep the house rules for texts") {
  for (const shardkit::cli::App& app : {shardkit::apps::shardctl_app(), shardkit::apps::iobench_app()}) {
    for (const shardkit::cli::Command& command : app.commands) {
      const shardkit::cli::CommandDoc doc = shardkit::cli::document(command);
      CAPTURE(app.name);
      CAPTURE(doc.text.name);
      CHECK_FALSE(doc.text.description.empty());
      CHECK_FALSE(doc.text.examples.empty());
      CHECK_FALSE(doc.text.summary.ends_with('.'));
      for (const shardkit::cli::Example& example : doc.text.examples) {
        CHECK(contains(std::string(example.command), std::string(app.name) + " "));
      }
      for (const shardkit::FieldNode& option : doc.options) {
        CAPTURE(option.name);
        CHECK_FALSE(option.field.help.empty());
        CHECK_FALSE(option.field.help.ends_with('.'));
        if (option.kind == shardkit::FieldKind::flag) CHECK(std::get<bool>(option.value) == false);
      }
    }
  }
}
