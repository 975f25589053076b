#include "catalog/store_access.hpp"

namespace shardkit {

void StoreAccess::describe(FieldVisitor& v) {
  v.field({"profile", Unit::none, "take credentials and settings from this profile of the AWS configuration files",
           Role::option, "NAME"},
          profile);
  v.field({"endpoint-url", Unit::none,
           "where s3:// objects are when not at AWS: MinIO, Ceph, R2, GCS, AIStore; default: AWS_ENDPOINT_URL_S3, "
           "AWS_ENDPOINT_URL or the profile's",
           Role::option, "URL"},
          endpoint_url);
  v.field({"region", Unit::none, "region of the bucket; default: AWS_REGION or the profile's, put right by the store",
           Role::option, "NAME"},
          region);
  v.field({"anonymous", Unit::none, "send no credentials: public buckets"}, anonymous);
}

StoreOptions StoreAccess::store_options() const {
  StoreOptions options;
  options.s3 = {profile, endpoint_url, region, anonymous};
  return options;
}

}  // namespace shardkit
