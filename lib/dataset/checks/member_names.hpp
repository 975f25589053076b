#pragma once

#include "dataset/checks/problem.hpp"
#include "formats/tar_parser.hpp"

namespace shardkit {

/// Notes every trap that a member's name is: what some reader or file system does not carry unharmed.
void check_member_name(const TarEntry& entry, ProblemLog& log);

}  // namespace shardkit
