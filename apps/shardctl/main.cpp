#include "programs.hpp"

int main(int argc, char** argv) { return shardkit::cli::run_app(shardkit::apps::shardctl_app(), argc, argv); }
