#pragma once

#include <span>

#include "core/remedies.hpp"

namespace shardkit::apps {

/// The commands and options that messages of both programs advise.
std::span<const remedy::Words> remedy_words();

}  // namespace shardkit::apps
