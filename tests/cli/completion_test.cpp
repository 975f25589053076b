#include <doctest/doctest.h>

#include "cli/documents/documents.hpp"
#include "cli/fake_app.hpp"
#include "programs.hpp"
#include "support/files.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit_test;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// What bash offers for the last of `words`.
std::string offered_by_bash(const std::string& words) {
  const TempDir dir;
  write_file(dir.path("fake"), shardkit::cli::bash_completion(fake_app(succeed)));
  return Process({"bash", "-c",
                  "source " + dir.path("fake") + "; COMP_WORDS=(" + words +
                      "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _fake; echo \"${COMPREPLY[*]}\""})
      .finish()
      .output;
}

}  // namespace

TEST_CASE("completion knows verbs, options and choices in every shell") {
  const shardkit::cli::App app = fake_app(succeed);
  const std::string bash = shardkit::cli::bash_completion(app);
  CHECK(contains(bash, "--timeout"));
  CHECK(contains(bash, "--depth) words='structure checksum' ;;"));
  const std::string zsh = shardkit::cli::zsh_completion(app);
  CHECK(contains(zsh, "'work:work on a folder'"));
  CHECK(contains(zsh, "'--name[prefix of the shards'\\'' names]:PREFIX:_files'"));
  const std::string fish = shardkit::cli::fish_completion(app);
  CHECK(contains(fish, "-l name -d 'prefix of the shards\\' names' -s n -r\n"));
  CHECK(contains(fish, "-l depth -d 'how deep to look' -x -a 'structure checksum'\n"));
  CHECK(contains(bash, " -q --quiet -v --verbose "));
  CHECK(contains(zsh, "'-q[do not show progress]' \\\n        '--quiet[do not show progress]'"));
  CHECK(contains(fish, "-l quiet -d 'do not show progress' -s q\n"));
}

TEST_CASE("completion knows the words of lists and of tables in every shell") {
  const shardkit::cli::App app = fake_app(succeed);
  CHECK(offered_by_bash("fake work --index ''") == "dali wids energon\n");
  CHECK(offered_by_bash("fake work --index dali,w") == "dali,wids\n");
  CHECK(offered_by_bash("fake work --profile h") == "home\n");
  const std::string zsh = shardkit::cli::zsh_completion(app);
  CHECK(contains(zsh, "'--index[indexes to write]:value:_values -s , value dali wids energon'"));
  CHECK(contains(zsh, "'--profile[name of the credentials]:value:(work home)'"));
  const std::string fish = shardkit::cli::fish_completion(app);
  CHECK(contains(fish, "-l index -d 'indexes to write' -x -a '(__fish_append , dali wids energon)'\n"));
  CHECK(contains(fish, "-l profile -d 'name of the credentials' -x -a 'work home'\n"));
}

TEST_CASE("completion of both programs knows presets, engines, indexes and memory kinds") {
  const std::string iobench = shardkit::cli::bash_completion(shardkit::apps::iobench_app());
  CHECK(contains(iobench, "--preset) words='"));
  CHECK(contains(iobench, " resnet50-h100 "));
  CHECK(contains(iobench, "--engine) words='pread mmap uring' ;;"));
  CHECK(contains(iobench, "--kinds) words='pageable pinned write-combined registered' list=1 ;;"));
  const std::string shardctl = shardkit::cli::bash_completion(shardkit::apps::shardctl_app());
  CHECK(contains(shardctl, "--index) words='dali wids energon' list=1 ;;"));
  CHECK(contains(shardctl, "--part) words='auto' ;;"));
  CHECK(contains(shardctl, "--split) words='webdataset dali hf' ;;"));
}

TEST_CASE("completion offers a group once, and its verbs as the second word") {
  const shardkit::cli::App app = fake_app(succeed);
  const std::string bash = shardkit::cli::bash_completion(app);
  CHECK(contains(bash, "compgen -W 'work cache help --help --version'"));
  CHECK(contains(bash, "compgen -W 'ls warm --help'"));
  CHECK(contains(bash, "    cache-ls)\n      options='--size "));
  const std::string zsh = shardkit::cli::zsh_completion(app);
  CHECK(contains(zsh, "'cache:ls, warm'"));
  CHECK(contains(zsh, "'warm:read a cache into memory'"));
  CHECK(contains(zsh, "    cache-warm)\n"));
  const std::string fish = shardkit::cli::fish_completion(app);
  CHECK(contains(fish, "-n __fish_use_subcommand -f -a cache -d 'ls, warm'\n"));
  CHECK(contains(fish, "-n '__fake_at cache' -f -a ls -d 'list what a cache holds'\n"));
  CHECK(contains(fish, "-n '__fake_at help' -f -a 'exit-codes work cache"));
  CHECK(contains(fish, "-n '__fake_in cache ls' -l depth "));
}

TEST_CASE("bash completes verbs, groups, their verbs, options and choices") {
  CHECK(offered_by_bash("fake ''") == "work cache help --help --version\n");
  CHECK(offered_by_bash("fake help c") == "cache\n");
  CHECK(offered_by_bash("fake ca") == "cache\n");
  CHECK(offered_by_bash("fake cache ''") == "ls warm --help\n");
  CHECK(offered_by_bash("fake cache w") == "warm\n");
  CHECK(offered_by_bash("fake cache ls --de") == "--depth\n");
  CHECK(offered_by_bash("fake cache ls --depth ''") == "structure checksum\n");
  CHECK(offered_by_bash("fake work --de") == "--depth\n");
  CHECK(offered_by_bash("fake work cache ls") == "\n");
}
