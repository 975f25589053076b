// Writes the documents that are made from the programs' own descriptions. A build tool; not installed.

#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/app.hpp"
#include "cli/documents/documents.hpp"
#include "programs.hpp"

namespace {

using namespace shardkit;
namespace fs = std::filesystem;

/// A build step that fails leaves a message and no target; no need for atomic files here.
void write(const fs::path& path, const std::string& text) {
  fs::create_directories(fs::absolute(path).parent_path());
  std::ofstream file(path, std::ios::binary);
  file << text << std::flush;
  if (!file) throw std::runtime_error("cannot write " + path.string());
}

const std::vector<cli::App> kApps{apps::shardctl_app(), apps::iobench_app()};

void write_reference(const fs::path& folder) {
  for (const auto& [name, text] : cli::reference_pages(kApps)) write(folder / name, text);
}

void write_schemas(const fs::path& folder) {
  for (const auto& [name, text] : cli::schemas(kApps)) write(folder / name, text);
}

void write_manual(const fs::path& folder) {
  for (const cli::App& app : kApps) {
    for (const auto& [name, text] : cli::manual_pages(app)) write(folder / name, text);
  }
}

void write_completion(const fs::path& folder) {
  for (const cli::App& app : kApps) {
    const std::string name(app.name);
    write(folder / "bash" / name, cli::bash_completion(app));
    write(folder / "zsh" / ("_" + name), cli::zsh_completion(app));
    write(folder / "fish" / (name + ".fish"), cli::fish_completion(app));
  }
}

const std::map<std::string, void (*)(const fs::path&)> kWriters{
    {"reference", write_reference}, {"schema", write_schemas}, {"man", write_manual}, {"completion", write_completion}};

}  // namespace

int main(int argc, char** argv) {
  const auto writer = argc == 3 ? kWriters.find(argv[1]) : kWriters.end();
  if (writer == kWriters.end()) {
    std::cerr << "usage: docgen reference|schema|man|completion FOLDER\n";
    return 2;
  }
  try {
    writer->second(argv[2]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "docgen: " << error.what() << '\n';
    return 1;
  }
}
