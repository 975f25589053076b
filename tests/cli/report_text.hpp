#pragma once

#include <string>

#include "cli/text_report.hpp"

/// An answer as the program prints it after one second.
inline std::string report_text(const shardkit::cli::Answer& answer, bool color) {
  return shardkit::cli::answer_text(answer, 1, {.color = color});
}
