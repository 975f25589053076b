#pragma once

#include <cstddef>
#include <string>

namespace shardkit {

/// Why bytes are no row of a table. The reader adds file and line.
struct RowFault {
  std::string text;    ///< what is wrong; what to do
  std::size_t at = 0;  ///< byte within the row
};

}  // namespace shardkit
