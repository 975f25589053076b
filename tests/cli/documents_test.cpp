#include "cli/documents/documents.hpp"

#include <doctest/doctest.h>

#include "cli/app.hpp"
#include "cli/fake_app.hpp"
#include "programs.hpp"

using namespace shardkit_test;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("the help of a verb") {
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
  --index KINDS      indexes to write
  -n, --name PREFIX  prefix of the shards' names (default: shard)
  --trace FILE       write what was done

Report and log:
  --json FILE        write the result as JSON to FILE; with -, standard output
                     contains only the JSON
  --prometheus FILE  write metrics to FILE for the textfile collector of
                     Prometheus' node_exporter
  --log text|json    format of standard error: text, or one JSON object per line
                     (default: text)
  --quiet            do not show progress
  --verbose          also print every field of the result, before the summary
  --soft-fail        exit 0 even if the command fails, for prologs that would
                     otherwise drain the node; the error and its exit code are
                     still reported
  -h, --help         show this help

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
  REQUIRE(pages.size() == 4);
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

TEST_CASE("there is a manual page per program and verb, and troff finds nothing odd in it") {
  const auto pages = shardkit::cli::manual_pages(fake_app(succeed));
  REQUIRE(pages.size() == 4);
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
  for (const char* option : {"--prometheus", "--junit", "--markdown", "--verbose", "--soft-fail"}) {
    CHECK(text.find(std::string("| `") + option) > some);
  }
  CHECK(text.find("| `--json FILE` |") < some);
  CHECK(contains(text, "the error and its exit code are still reported | stage |\n"));
  CHECK(contains(text, "before the summary | all but ls, cat |\n"));
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
