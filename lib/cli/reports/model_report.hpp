#pragma once

#include <string>

#include "bench/model/model.hpp"

namespace shardkit {

/// The result of `iobench model` as text: what comes of it first, then every number.
std::string render_model(const ModelResult& result, bool colour);

}  // namespace shardkit
