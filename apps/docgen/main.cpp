// Writes the documents that are made from the programs' own descriptions. A build tool; not installed.

#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/compare/gate.hpp"
#include "cli/app.hpp"
#include "cli/documents/documents.hpp"
#include "cli/report_formats.hpp"
#include "programs.hpp"

namespace {

namespace fs = std::filesystem;

/// A build step that fails leaves a message and no target; no need for atomic files here.
void write(const fs::path& path, const std::string& text) {
  fs::create_directories(fs::absolute(path).parent_path());
  std::ofstream file(path, std::ios::binary);
  file << text << std::flush;
  if (!file) throw std::runtime_error("cannot write " + path.string());
}

void write_reference(const fs::path& folder) {
  for (const auto& [name, text] :
       shardkit::cli::reference_pages({shardkit::apps::shardctl_app(), shardkit::apps::iobench_app()})) {
    write(folder / name, text);
  }
}

void write_schemas(const fs::path& folder) {
  for (const shardkit::cli::App& app : {shardkit::apps::shardctl_app(), shardkit::apps::iobench_app()}) {
    for (const shardkit::cli::Command& command : app.commands) {
      const std::string name = std::string(app.name) + "-" + shardkit::cli::verb_slug(command.text().name) + ".json";
      write(folder / name, shardkit::cli::envelope_schema(app, command));
    }
  }
}

void write_file_schemas(const fs::path& folder) {
  write(folder / "gate.json", shardkit::bench::gate_schema());
  write(folder / "baseline.json", shardkit::bench::baseline_schema());
}

void write_manual(const fs::path& folder) {
  for (const shardkit::cli::App& app : {shardkit::apps::shardctl_app(), shardkit::apps::iobench_app()}) {
    for (const auto& [name, text] : shardkit::cli::manual_pages(app)) write(folder / name, text);
  }
}

void write_completion(const fs::path& folder) {
  for (const shardkit::cli::App& app : {shardkit::apps::shardctl_app(), shardkit::apps::iobench_app()}) {
    const std::string name(app.name);
    write(folder / "bash" / name, shardkit::cli::bash_completion(app));
    write(folder / "zsh" / ("_" + name), shardkit::cli::zsh_completion(app));
    write(folder / "fish" / (name + ".fish"), shardkit::cli::fish_completion(app));
  }
}

int generate(const std::string& what, const fs::path& where) {
  if (what == "reference") {
    write_reference(where);
  } else if (what == "schema") {
    write_schemas(where);
    write_file_schemas(where);
  } else if (what == "man") {
    write_manual(where);
  } else if (what == "completion") {
    write_completion(where);
  } else {
    std::cerr << "docgen: " << what << " is none of reference, schema, man, completion\n";
    return 2;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: docgen reference FILE | docgen schema|man|completion FOLDER\n";
    return 2;
  }
  try {
    return generate(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::cerr << "docgen: " << error.what() << '\n';
    return 1;
  }
}
