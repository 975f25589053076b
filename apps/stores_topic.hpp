#pragma once

#include "cli/app.hpp"

namespace shardkit::apps {

/// The options of both programs for objects at s3:// and http(s)://.
cli::SharedTopic stores_topic();

}  // namespace shardkit::apps
