#include "core/markup.hpp"

#include <array>

#include "core/text.hpp"

namespace shardkit {

std::string escaped_html(std::string_view text) {
  constexpr std::string_view kSpecial = "&<>\"'";
  constexpr std::array kEntities{"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
  std::string out;
  for (const char c : as_utf8(text)) {
    const std::size_t found = kSpecial.find(c);
    const bool control = (c >= 0 && c < ' ' && c != '\n' && c != '\t') || c == 0x7f;
    out += control                           ? std::string("\xef\xbf\xbd")
           : found == std::string_view::npos ? std::string(1, c)
                                             : kEntities[found];
    if (out.ends_with("\xef\xbf\xbe") || out.ends_with("\xef\xbf\xbf")) out.back() = '\xbd';  // not in XML
  }
  return out;
}

std::string markdown_text(std::string_view text) {
  std::string out;
  for (const char c : as_utf8(text)) {
    if (std::string_view("|\\`<*_").find(c) != std::string_view::npos) out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

}  // namespace shardkit
