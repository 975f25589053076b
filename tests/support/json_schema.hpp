#pragma once

#include <map>
#include <string>
#include <vector>

namespace shardkit_test {

/// Checks `document` against `schema` (both JSON texts) and returns what is wrong, one line per fault with its path;
/// empty when it fits. Knows the part of JSON Schema that shardkit's schemas use: type, required, properties, items,
/// enum, const, anyOf, minimum, additionalProperties, minItems, maxItems. An unknown keyword is a fault, so that
/// nothing goes unchecked.
/// `others`: the files that it refers to, by name.
std::vector<std::string> schema_faults(const std::string& schema, const std::string& document,
                                       const std::map<std::string, std::string>& others = {});

}  // namespace shardkit_test
