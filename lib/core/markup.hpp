#pragma once

#include <string>
#include <string_view>

namespace shardkit {

/// A text for HTML, XML and attribute values: with entities, without control characters and invalid UTF-8.
std::string escaped_html(std::string_view text);

/// Text for a table cell, or a line, of Markdown.
std::string markdown_text(std::string_view text);

}  // namespace shardkit
