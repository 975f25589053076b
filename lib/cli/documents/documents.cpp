#include "cli/documents/documents.hpp"

#include <algorithm>
#include <ranges>

#include "cli/command.hpp"

namespace shardkit::cli {

CommandDoc document(const Command& command) {
  const auto invocation = command.prepare();
  CommonOptions common;
  return {command.text(), command.has_ci_report(), field_tree([&](FieldList& v) { invocation.describe_options(v); }),
          field_tree([&](FieldList& v) { common.describe(v, &command); }),
          prototype_tree([&](FieldList& v) { invocation.describe_result(v); })};
}

std::vector<Topic> topics(const std::vector<FieldNode>& options) {
  constexpr std::string_view operands = "Operands";
  std::vector<Topic> all;
  for (const FieldNode& option : options) {
    const bool has_topic = !option.topic.empty();
    const std::string_view heading = option.field.is_operand() ? operands : has_topic ? option.topic : "Options";
    auto topic = std::ranges::find(all, heading, &Topic::heading);
    if (topic == all.end()) topic = all.insert(heading == operands ? all.begin() : all.end(), Topic{heading, {}});
    topic->options.push_back(option);
  }
  return all;
}

const SharedTopic* shared_topic(const App& app, std::string_view heading) {
  const auto found = std::ranges::find(app.shared_topics, heading, &SharedTopic::heading);
  return found == app.shared_topics.end() ? nullptr : &*found;
}

std::vector<FieldNode> shared_options(const App& app, const SharedTopic& topic) {
  for (const Command& command : app.commands) {
    std::vector<FieldNode> options = document(command).options;
    std::erase_if(options, [&](const FieldNode& option) { return option.topic != topic.heading; });
    if (!options.empty()) return options;
  }
  return {};
}

std::string first_options(const std::vector<FieldNode>& options) {
  constexpr std::size_t kFew = 2;
  std::string names;
  for (const FieldNode& option : options | std::views::take(kFew)) names += option.field.spelling() + ", ";
  return names + "...";
}

}  // namespace shardkit::cli
