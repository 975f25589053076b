#include "cli/documents/command_doc.hpp"

#include "cli/common_options.hpp"

namespace shardkit {

CommandDoc document(const Command& command) {
  const auto invocation = command.prepare();
  CommonOptions common{.with_prometheus = command.text().prometheus,
                       .with_findings = command.text().findings,
                       .with_soft_fail = command.text().soft_fail};
  return {command.text(), field_tree([&](FieldVisitor& v) { invocation->describe_options(v); }),
          field_tree([&](FieldVisitor& v) { common.describe(v); }),
          prototype_tree([&](FieldVisitor& v) { invocation->describe_result(v); })};
}

}  // namespace shardkit
