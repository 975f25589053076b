#include "cli/reports/model_report.hpp"

#include "cli/field_text.hpp"
#include "cli/field_tree.hpp"
#include "cli/reports/text_report.hpp"

namespace shardkit {

std::string render_model(const ModelResult& result, bool colour) {
  ModelResult numbers = result;
  numbers.text.clear();  // stands above
  return bold(printable(result.text), colour) + "\n\n" +
         text_report(field_tree([&](FieldVisitor& v) { numbers.describe(v); }));
}

}  // namespace shardkit
