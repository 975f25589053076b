#include "cli/parse.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <ranges>
#include <set>
#include <span>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.hpp"
#include "core/field_tree.hpp"
#include "core/text.hpp"
#include "core/units.hpp"

namespace shardkit::cli {
namespace {

[[noreturn]] void reject(const std::string& option, const std::string& text) {
  throw usage_error("{}", option + ": " + text);
}

template <class T>
T checked(const std::string& option, const Result<T>& parsed) {
  if (!parsed) reject(option, parsed.error().what());
  return *parsed;
}

/// "fail, skip or keep"
std::string alternatives(std::span<const std::string_view> names) {
  const auto all_but_last = names.first(names.size() - 1);
  return fmt::format("{}{}{}", fmt::join(all_but_last, ", "), all_but_last.empty() ? "" : " or ", names.back());
}

/// A whole number in decimal; nothing before or after it.
std::uint64_t whole_number(const Field& field, const std::string& text) {
  if (const auto value = parse_count(text)) return *value;
  if (is_digits(text)) reject(field.spelling(), fmt::format("'{}' is too large", text));
  const auto part = parse_decimal(text);  // whoever gives a part of one reads what is counted
  const std::string expected = part && *part > 0 ? fmt::format(": {}", field.help) : " (digits only)";
  reject(field.spelling(), fmt::format("'{}' is not a whole number{}", text, expected));
}

double decimal_number(const std::string& option, const std::string& text) {
  const auto value = parse_decimal(text);
  if (!value) reject(option, fmt::format("'{}' is not a number", text));
  return *value;
}

std::uint64_t size_number(const std::string& option, std::string_view text, Unit unit) {
  return checked(option, unit == Unit::bytes_per_second ? parse_rate(text) : parse_size(text));
}

/// For a training step, "200" probably means milliseconds, not seconds; for a size, "10" means no bytes.
void require_unit(const Field& field, const std::string& text) {
  constexpr double kLeastBytes = 500;
  const std::optional<double> bare = parse_decimal(text);
  if (!bare) return;
  const bool is_small = *bare > 0 && *bare < kLeastBytes;
  if (*bare > field.needs_unit_above) reject(field.spelling(), fmt::format("{0} s? write {0}ms or {0}s", text));
  if (field.unit == Unit::bytes && is_small)
    reject(field.spelling(), fmt::format("{0} B? write {0}KiB, {0}MiB or {0}GiB", text));
  if (field.unit == Unit::bytes_per_second && is_small)
    reject(field.spelling(), fmt::format("{0} B/s? write {0}MB/s or {0}GB/s", text));
}

void read_value(const Field& field, const std::string& text, std::uint64_t& value) {
  const std::string option = field.spelling();
  const Unit unit = field.unit;
  if (unit == Unit::bytes || unit == Unit::bytes_per_second) {
    value = size_number(option, text, unit);
  } else if (unit == Unit::seconds) {
    const double seconds = checked(option, parse_duration(text));
    if (seconds != std::floor(seconds) || seconds > 1e15)
      reject(option, fmt::format("'{}' is not a whole number of seconds", text));
    value = static_cast<std::uint64_t>(seconds);
  } else {
    value = whole_number(field, text);
  }
}

void read_value(const Field& field, const std::string& text, double& value) {
  const std::string option = field.spelling();
  const Unit unit = field.unit;
  if (unit == Unit::bytes || unit == Unit::bytes_per_second) {
    value = static_cast<double>(size_number(option, text, unit));
  } else if (unit == Unit::seconds) {
    value = checked(option, parse_duration(text));
  } else {
    value = decimal_number(option, text);
  }
}

void read_value(const Field&, const std::string& text, std::string& value) { value = text; }

/// The target of an operand's text.
struct OperandSlot {
  std::string name;
  bool required = false;
  bool repeated = false;
  std::function<void(const std::string&)> store;
};

/// Binds every described option to a CLI::App, and collects the operands, which CLI11 would interpret (it reads "[a,b]"
/// as two). The members outlive the parse.
class Binder {
 public:
  Binder(CLI::App& app, const std::vector<FieldNode>& options) : app_(app) {
    for (const FieldNode& option : options) {
      std::visit([&](auto target) { bind(option.field, option.choices, target); }, option.target);
    }
  }

  const std::vector<OperandSlot>& operands() const { return operands_; }

  /// "--cache direct" for "--direct": the option that has this value, or that other verbs call so; empty for none.
  std::string meant_by(const std::string& flag) const {
    const std::string name = flag.substr(std::min<std::size_t>(flag.size(), 2));
    if (const auto known = misnomers_.find(name); known != misnomers_.end()) return known->second;
    const auto found = choices_.find(name);
    return found == choices_.end() ? std::string() : fmt::format("{} {}", found->second, found->first);
  }

  /// "--limit 50 MB" would take MB for an operand.
  void check_sizes(std::span<const std::string> args) const {
    for (std::size_t i = 2; i < args.size(); ++i) {
      const std::string& unit = args[i];
      if (!sizes_.contains(args[i - 2]) || !is_digits(args[i - 1]) || unit.size() < 2 || is_digits(unit.substr(0, 1)))
        continue;
      if (!parse_size("1" + unit) || std::filesystem::exists(unit)) continue;
      reject(args[i - 2], fmt::format("write {}{} without a blank", args[i - 1], unit));
    }
  }

  /// A value for a flag, and "--name=" with nothing after it, such as an unset variable of a script: CLI11 would take
  /// the next argument.
  void check_assignments(std::span<const std::string> args) const {
    for (const std::string& arg : args) {
      const std::size_t equals = arg.find('=');
      if (!arg.starts_with("--") || equals == std::string::npos) continue;
      const std::string name = arg.substr(0, equals);
      if (flags_.contains(name)) reject(name, "it takes no value");
      if (equals + 1 == arg.size() && app_.get_option_no_throw(name) != nullptr) reject(name, "the value is missing");
    }
  }

  /// After check_assignments(), CLI11 refuses one thing: the last argument if it is an option without its value.
  [[noreturn]] void reject_last(const std::string& last) const {
    const std::string name = last.starts_with("--") ? last : std::string{'-', last.back()};
    const CLI::Option* option = app_.get_option_no_throw(name);
    reject(option == nullptr ? name : option->get_name(), "the value is missing");
  }

  /// Call this after parsing: of two values one would be lost.
  void check_given_once() const {
    for (const CLI::Option* option : single_) {
      if (option->count() < 2) continue;
      reject(option->get_name(), fmt::format("given {} times, but accepts only one value", option->count()));
    }
  }

 private:
  using Names = std::span<const std::string_view>;

  void bind(const Field& field, Names choices, ChoiceTarget target) {
    for (const std::string_view name : choices) choices_.emplace(name, field.spelling());
    bind_text(field, [this, option = field.spelling(), names = choices, target](const std::string& text) {
      const auto found = std::find(names.begin(), names.end(), text);
      if (found == names.end()) {
        const bool is_flag = app_.get_option_no_throw("--" + text) != nullptr;  // --cache direct for --direct
        const std::string meant = is_flag ? "--" + text : closest(text, {names.begin(), names.end()});
        throw usage_error("{} must be {}, not '{}'{}", option, alternatives(names), text,
                          meant.empty() ? "" : fmt::format("; did you mean {}?", meant));
      }
      target.assign(target.member, static_cast<std::size_t>(found - names.begin()));
    });
  }

  /// As CLI11 wants them: "-o,--output".
  static std::string names(const Field& field) {
    return (field.short_name == 0 ? std::string() : fmt::format("-{},", field.short_name)) + field.spelling();
  }

  void add_operand(const Field& field, bool repeated, std::function<void(const std::string&)> store) {
    operands_.push_back({std::string(field.name), field.role == Role::positional, repeated, std::move(store)});
  }

  void note_misnomers(const Field& field) {
    for (const auto name : std::views::split(field.misnomers, ' '))
      misnomers_.emplace(std::string(name.begin(), name.end()), field.spelling());
  }

  void bind_text(const Field& field, std::function<void(const std::string&)> store) {
    if (field.is_operand()) return add_operand(field, false, std::move(store));
    note_misnomers(field);
    if (field.unit == Unit::bytes || field.unit == Unit::bytes_per_second) sizes_.insert(field.spelling());
    // All values are accepted, so that check_given_once() and not the library reports too many.
    single_.push_back(app_.add_option_function<std::string>(names(field), std::move(store))->take_last());
  }

  void bind(const Field& field, Names, bool* value) {
    flags_.insert(field.spelling());
    app_.add_flag_callback(names(field), [value] { *value = true; })->disable_flag_override();
  }

  void bind(const Field& field, Names, std::vector<std::string>* value) {
    if (field.is_operand()) {
      add_operand(field, true, [value](const std::string& text) { value->push_back(text); });
    } else {
      note_misnomers(field);
      app_.add_option(names(field), *value)->delimiter(',')->allow_extra_args(false);
    }
  }

  template <class T>
  void bind(const Field& field, Names, T* value) {
    bind_text(field, [field, value](const std::string& text) {
      require_unit(field, text);
      read_value(field, text, *value);
    });
  }

  template <class T>
  void bind(const Field& field, Names, std::optional<T>* value) {
    bind_text(field, [field, value](const std::string& text) {
      require_unit(field, text);
      read_value(field, text, value->emplace());
    });
  }

  [[noreturn]] static void bind(const Field& field, Names, std::optional<bool>*) { nested(field); }
  [[noreturn]] static void bind(const Field& field, Names, std::monostate) { nested(field); }
  [[noreturn]] static void nested(const Field& field) {
    throw std::logic_error("options hold no groups, lists or optional flags: " + std::string(field.name));
  }

  CLI::App& app_;
  std::vector<OperandSlot> operands_;
  std::vector<const CLI::Option*> single_;        ///< options of one value
  std::set<std::string> sizes_;                   ///< options in bytes
  std::set<std::string> flags_;                   ///< options without a value
  std::map<std::string, std::string> choices_;    ///< the options with these values
  std::map<std::string, std::string> misnomers_;  ///< the options that other verbs call so
};

/// The options that a command line may have.
struct Known {
  const CLI::App& app;
  const Binder& binder;
  std::string_view verb;
  std::span<const Elsewhere> removed;
};

[[noreturn]] void reject_unknown_option(const Known& options, const std::string& argument) {
  const auto& [app, binder, verb, removed] = options;
  const std::string name = argument.substr(0, argument.find('='));
  const std::string_view instead = replacement(removed, verb, name);
  if (!instead.empty()) reject(name, fmt::format("this option was removed; {}", instead));
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) known.push_back(option->get_name());
  std::string meant = binder.meant_by(name);
  if (meant.empty()) meant = closest(name.size() == 2 ? "-" + name : name, known);
  reject(name, meant.empty() ? "unknown option" : "unknown option; did you mean " + meant + "?");
}

/// The arguments that CLI11 did not recognize as options.
std::vector<std::string> operand_texts(const Known& options) {
  std::vector<std::string> texts = options.app.remaining();
  for (const std::string& text : texts) {
    if (text.size() > 1 && text[0] == '-') reject_unknown_option(options, text);
  }
  return texts;
}

/// Removes "--" and what follows from the arguments: there are no options after it.
std::vector<std::string> take_literal_operands(std::vector<std::string>& args) {
  const auto mark = std::find(args.begin(), args.end(), "--");
  if (mark == args.end()) return {};
  std::vector<std::string> literal(mark + 1, args.end());
  args.erase(mark, args.end());
  return literal;
}

/// Assigns the texts from left to right; a repeated operand takes all that the required ones after it do not need.
void store_operands(const std::vector<OperandSlot>& slots, const std::vector<std::string>& texts) {
  std::size_t there = texts.size();
  for (const OperandSlot& slot : slots) {
    if (slot.required && there-- == 0) throw Error(ErrorCode::usage, "missing " + slot.name);
  }
  auto needed =
      static_cast<std::size_t>(std::count_if(slots.begin(), slots.end(), std::mem_fn(&OperandSlot::required)));
  std::size_t next = 0;
  for (const OperandSlot& slot : slots) {
    if (slot.required) --needed;
    const std::size_t left = texts.size() - next;
    const std::size_t free = left > needed ? left - needed : 0;
    const std::size_t take = slot.repeated ? free : std::min<std::size_t>(slot.required ? left : free, 1);
    for (std::size_t i = 0; i < take; ++i, ++next) {
      if (texts[next].empty()) throw usage_error("{} is empty", slot.name);
      slot.store(texts[next]);
    }
  }
  if (next < texts.size()) throw usage_error("unexpected argument '{}'", texts[next]);
}

}  // namespace

std::string_view replacement(std::span<const Elsewhere> removed, std::string_view verb, std::string_view name) {
  const std::string full = fmt::format("{} {}", verb, name);
  const auto found =
      std::ranges::find_if(removed, [&](const Elsewhere& item) { return item.name == name || item.name == full; });
  return found == removed.end() ? std::string_view() : found->instead;
}

ParseOutcome parse_options(const Command& command, std::span<const Elsewhere> removed, Invocation& invocation,
                           CommonOptions& common, std::vector<std::string> args) {
  CLI::App app;
  app.set_help_flag("-h");
  app.set_help_all_flag("--help");
  app.allow_extras();
  const Binder binder(app, field_tree([&](FieldList& v) {
                        common.describe(v, &command);  // first, so that --json is known when a later option is wrong
                        invocation.describe_options(v);
                      }));
  const std::vector<std::string> literal = take_literal_operands(args);
  binder.check_sizes(args);
  binder.check_assignments(args);
  const std::string last = args.empty() ? "" : args.back();
  std::reverse(args.begin(), args.end());  // as App::parse wants them
  try {
    app.parse(args);
  } catch (const CLI::CallForHelp&) {
    return ParseOutcome::brief_help;
  } catch (const CLI::CallForAllHelp&) {
    return ParseOutcome::full_help;
  } catch (const CLI::ArgumentMismatch&) {
    binder.reject_last(last);
  } catch (const CLI::Error& error) {
    throw usage_error("{}", error.what());
  }
  binder.check_given_once();
  std::vector<std::string> operands = operand_texts({app, binder, command.text().name, removed});
  operands.insert(operands.end(), literal.begin(), literal.end());
  store_operands(binder.operands(), operands);
  check_ranges(field_tree([&](FieldList& v) { invocation.describe_options(v); }));
  return ParseOutcome::run;
}

}  // namespace shardkit::cli
