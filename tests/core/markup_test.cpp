#include "core/markup.hpp"

#include <doctest/doctest.h>

using namespace shardkit;

TEST_CASE("no text breaks out of HTML, XML or a table of Markdown") {
  CHECK(escaped_html("a<b>&\"c'\n") == "a&lt;b&gt;&amp;&quot;c&#39;\n");
  for (const char* text : {"\x01", "\x7f", "\xff", "\xef\xbf\xbe"}) CHECK(escaped_html(text) == "\xef\xbf\xbd");
  CHECK(markdown_text("a|b<c`d*e_f\\g\nh") == "a\\|b\\<c\\`d\\*e\\_f\\\\g h");
}
