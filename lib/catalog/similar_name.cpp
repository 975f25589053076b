#include "catalog/similar_name.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "core/text.hpp"
#include "io/publish.hpp"

namespace shardkit::catalog {
namespace {

/// Code points of one character: a letter and the marks over it, or the parts of a Korean syllable.
using Character = std::u32string;

bool is_mark(char32_t c) {
  return (c >= 0x300 && c <= 0x36f) || (c >= 0x1dc0 && c <= 0x1dff) || c == 0x3099 || c == 0x309a;
}
bool is_korean_vowel(char32_t c) { return c >= 0x1161 && c <= 0x1175; }
bool is_korean_final(char32_t c) { return c >= 0x11a8 && c <= 0x11c2; }

char32_t take_code_point(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  char32_t value = length == 1 ? first : first & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) value = value << 6U | (static_cast<unsigned char>(text[i]) & 0x3fU);
  text.remove_prefix(length);
  return value;
}

/// Empty for text that is not UTF-8.
std::optional<std::vector<Character>> characters_of(std::string_view text) {
  if (!is_utf8(text)) return std::nullopt;
  std::vector<Character> characters;
  while (!text.empty()) {
    const char32_t c = take_code_point(text);
    if (!characters.empty() && (is_mark(c) || is_korean_vowel(c) || is_korean_final(c))) {
      characters.back() += c;
    } else {
      characters.emplace_back(1, c);
    }
  }
  return characters;
}

/// Letters and what they become with a mark, in pairs. A function of Unicode's composition of European letters.
struct Composed {
  char32_t mark;
  std::u32string_view pairs;
};
constexpr std::array<Composed, 12> kComposed{{
    {0x300, U"AÀEÈIÌOÒUÙaàeèiìoòuù"},
    {0x301, U"AÁCĆEÉIÍLĹNŃOÓRŔSŚUÚYÝZŹaácćeéiílĺnńoórŕsśuúyýzź"},
    {0x302, U"AÂCĈEÊGĜHĤIÎJĴOÔSŜUÛWŴYŶaâcĉeêgĝhĥiîjĵoôsŝuûwŵyŷ"},
    {0x303, U"AÃIĨNÑOÕUŨaãiĩnñoõuũ"},
    {0x304, U"AĀEĒIĪOŌUŪaāeēiīoōuū"},
    {0x306, U"AĂEĔGĞIĬOŎUŬaăeĕgğiĭoŏuŭИЙий"},
    {0x308, U"AÄEËIÏOÖUÜYŸaäeëiïoöuüyÿЕЁеё"},
    {0x30a, U"AÅUŮaåuů"},
    {0x30b, U"OŐUŰoőuű"},
    {0x30c, U"CČDĎEĚNŇRŘSŠTŤZŽcčdďeěnňrřsštťzž"},
    {0x327, U"CÇGĢKĶLĻNŅRŖSŞTŢcçkķlļnņrŗsştţ"},
    {0x328, U"AĄEĘIĮUŲaąeęiįuų"},
}};

/// Of a letter with one mark, or of a Korean syllable, the single code point; else as it is.
Character composed(const Character& c) {
  if (c.size() < 2) return c;
  if (c[0] >= 0x1100 && c[0] <= 0x1112 && is_korean_vowel(c[1])) {
    const char32_t final = c.size() > 2 ? c[2] - 0x11a7 : 0;
    return Character(1, 0xac00 + ((c[0] - 0x1100) * 21 + (c[1] - 0x1161)) * 28 + final);
  }
  const auto* row = std::ranges::find(kComposed, c[1], &Composed::mark);
  for (std::size_t i = 0; row != kComposed.end() && c.size() == 2 && i < row->pairs.size(); i += 2) {
    if (row->pairs[i] == c[0]) return Character(1, row->pairs[i + 1]);
  }
  return c;
}

/// A character that composed() does not know may be any single one.
bool may_be_equal(const Character& given, const Character& compared) {
  const Character one = composed(given);
  const Character other = composed(compared);
  const auto is_composed = [](const Character& c) { return c.size() == 1 && c.front() >= 0xc0; };
  return one == other || (is_composed(one) && other.size() > 1) || (is_composed(other) && one.size() > 1);
}

}  // namespace

bool looks_alike(std::string_view one, std::string_view other) {
  if (one == other) return false;
  const auto characters = characters_of(one);
  const auto others = characters_of(other);
  return characters && others && std::ranges::equal(*characters, *others, may_be_equal);
}

std::string alike_key(std::string_view text) {
  const auto characters = characters_of(text);
  if (!characters) return std::string(text);
  std::string key;
  for (const Character& c : *characters) {
    key += c.size() == 1 && c.front() < 0x80 ? lower_case(static_cast<char>(c.front())) : '\xff';
  }
  return key;
}

std::string similar_file(const SourceFolder& source, const std::string& path) {
  std::string with_slashes = path;
  std::ranges::replace(with_slashes, '\\', '/');
  std::string found;
  for (std::size_t begin = 0; begin <= with_slashes.size();) {
    const std::size_t end = std::min(with_slashes.find('/', begin), with_slashes.size());
    const std::string part = with_slashes.substr(begin, end - begin);
    const bool is_last = end == with_slashes.size();
    std::vector<ListedEntry> entries;
    try {
      entries = entries_in(source, found);
    } catch (const Error&) {  // no more than a hint
      return {};
    }
    std::erase_if(entries, [&](const ListedEntry& entry) { return (entry.kind == EntryKind::file) != is_last; });
    auto entry = std::ranges::find(entries, part, &ListedEntry::name);
    if (entry == entries.end())
      entry = std::ranges::find_if(entries, [&](const ListedEntry& e) { return looks_alike(e.name, part); });
    if (entry == entries.end()) return {};
    found = io::join_path(found, entry->name);
    begin = end + 1;
  }
  return found == path ? std::string() : found;
}

}  // namespace shardkit::catalog
