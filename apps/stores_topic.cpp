#include "stores_topic.hpp"

#include "catalog/inputs.hpp"

namespace shardkit::apps {

cli::SharedTopic stores_topic() {
  return {.heading = catalog::StoreAccess::kTopic,
          .word = "stores",
          .summary = "options for objects at s3:// and http(s)://",
          .description =
              "Verbs that read shards or files also accept s3://BUCKET/PREFIX and http(s)://HOST/PATH. "
              "Without these options, credentials and settings are found as the AWS tools find them: in "
              "the environment, in the AWS configuration files, or from the container or instance."};
}

}  // namespace shardkit::apps
