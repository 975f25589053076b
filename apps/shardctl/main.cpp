#include "programs.hpp"

int main(int argc, char** argv) { return shardkit::run_app(shardkit::shardctl_app(), argc, argv); }
