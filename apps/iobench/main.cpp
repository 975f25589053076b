#include "programs.hpp"

int main(int argc, char** argv) { return shardkit::run_app(shardkit::iobench_app(), argc, argv); }
