#pragma once

#include <string>

#include "core/fields.hpp"
#include "net/store_source.hpp"

namespace shardkit {

/// How a verb gets at object stores: part of its options. Secrets are never options, which other users can see.
struct StoreAccess {
  std::string profile;
  std::string endpoint_url;
  std::string region;
  bool anonymous = false;

  void describe(FieldVisitor& v);

  StoreOptions store_options() const;
};

}  // namespace shardkit
