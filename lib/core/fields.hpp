#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/units.hpp"

/// One description per option and per result field.
///
/// A plain struct describes once what its members are named, their unit and what they mean:
///
///     struct ConvertOptions {
///       std::string source;
///       std::optional<std::uint64_t> size;
///       void describe(FieldList& v) {
///         v.field({"SRC", "folder with one sub-folder per class", Role::positional}, source);
///         v.field({"size", Unit::bytes, "close a shard before it passes this size"}, size);
///       }
///     };
///
/// The command line, the JSON, the text report, the JSON Schema and the reference page are visitors over that.
namespace shardkit {

enum class Role {
  option,              ///< --name VALUE (a flag for bool); for results: a JSON field
  input_file,          ///< option whose value is a file that is read
  output_file,         ///< option whose value is a file that is written
  positional,          ///< required operand; its name is in capitals
  optional_positional  ///< optional operand
};

/// Allowed numbers of an option, in its unit. Both ends are included, except for an open lower end.
struct Range {
  double least = 0;
  double most = std::numeric_limits<double>::infinity();
  bool open = false;  ///< `least` itself is excluded
};

/// Direction in which a metric is better.
enum class Better { higher, lower };

/// Role of a field when two results are compared.
struct Comparison {
  enum class Part {
    metric,         ///< of a result: it is compared; a group by its members that are Part::judged
    judged,         ///< has the role of its group, if that has one
    condition,      ///< of a result: results that differ in it cannot be compared
    own_condition,  ///< the same, but not if the result is a stage of another verb's
    data,           ///< a condition if both name different data; else it depends on how far the budget went
    circumstance,   ///< a condition if both request different ones; else results that differ in it have no verdict
    free            ///< of an option: results that differ in it can be compared
  };
  Part part = Part::metric;
  Better better = Better::higher;
  double floor = 0;      ///< metric: values below count as this; 0: none
  bool derived = false;  ///< metric: follows from others of the same result
  double tolerance = 0;  ///< condition: numbers that differ by no more than this share count as equal
};

constexpr Range between(double least, double most) { return {least, most}; }
constexpr Range at_least(double least) { return {least}; }
constexpr Range above(double least, double most = Range().most) { return {least, most, true}; }

constexpr Comparison metric(Better better, double floor = 0) { return {.better = better, .floor = floor}; }
constexpr Comparison derived_metric(Better better) { return {.better = better, .derived = true}; }
constexpr Comparison condition_within(double tolerance) {
  return {.part = CompareRole::condition, .tolerance = tolerance};
}
constexpr Comparison data_within(double tolerance) { return {.part = CompareRole::data, .tolerance = tolerance}; }
inline constexpr Comparison kCondition{CompareRole::condition};
inline constexpr Comparison kOwnCondition{CompareRole::own_condition};
inline constexpr Comparison kCircumstance{CompareRole::circumstance};
inline constexpr Comparison kJudged{CompareRole::judged};
inline constexpr Comparison kMayDiffer{CompareRole::free};

/// Marks an option that affects the written bytes: it is stored in the plan, and another value gives another plan.
struct Planned {};
inline constexpr Planned kPlanned{};

/// Marks the member that identifies the items of a list: their numbers become Prometheus series with it as label.
struct Label {};
inline constexpr Label kLabel{};

/// Marks a duration that is usually short. A larger number without a unit is probably a mistake and is refused.
struct NeedsUnit {
  double above = 0;  ///< seconds
};
inline constexpr NeedsUnit kOfTrainingStep{60};

/// Owner of the contents of an output that an operand or option names.
enum class Output {
  none,   ///< it is not written, except for a Role::output_file, which is replaced
  own,    ///< the verb's: a folder that it creates or fills
  shared  ///< shared with others: a folder in which files come and go, a file that is appended to
};
inline constexpr Output kOutputFolder = Output::own;
inline constexpr Output kSharedOutput = Output::shared;

/// A second name of an option, for command lines of earlier releases; help and completion do not list it.
struct Alias {
  std::string_view name;
};
/// Names that options of this purpose have in other verbs, separated by blanks: a wrong one is answered with this
/// option.
struct Misnomers {
  std::string_view names;
};

/// Name and meaning of a member. After name, unit and help come, in any order and if they apply, a Role, an Output, a
/// Range, a Comparison, kPlanned, kLabel, a placeholder for the value in help ("SEED"), kOfTrainingStep, an Alias, and
/// a letter as alias ('o'). The texts must outlive the described object: literals.
struct Field {
  /// Options: the long option without dashes ("step-time"), or the operand ("SRC"). Results: the JSON field.
  std::string_view name;
  Unit unit = Unit::none;
  std::string_view help;
  Role role = Role::option;
  Output output = Output::none;
  std::string_view value_name;  ///< empty: from role, unit and type
  char short_name = 0;          ///< 0: none
  std::string_view alias;       ///< another long option; empty: none
  std::string_view misnomers;   ///< see Misnomers
  std::optional<Range> range;   ///< for a number: accepted by check_ranges(); none: any
  std::optional<Comparison> comparison;
  double needs_unit_above = std::numeric_limits<double>::infinity();
  bool planned = false;
  bool label = false;

  constexpr Field() = default;
  template <class... Meanings>
  constexpr Field(std::string_view name_, Unit unit_, std::string_view help_, Meanings... meanings)
      : name(name_), unit(unit_), help(help_) {
    (add(meanings), ...);
  }
  template <class... Meanings>
  constexpr Field(std::string_view name_, std::string_view help_, Meanings... meanings)
      : Field(name_, Unit::none, help_, meanings...) {}

  constexpr bool is_output() const { return role == Role::output_file || output != Output::none; }
  constexpr bool is_operand() const { return role == Role::positional || role == Role::optional_positional; }
  /// Its name in messages: "--step-time", or the operand "SRC".
  std::string spelling() const { return (is_operand() ? "" : "--") + std::string(name); }

 private:
  constexpr void add(Role meaning) { role = meaning; }
  constexpr void add(Output meaning) { output = meaning; }
  constexpr void add(std::string_view meaning) { value_name = meaning; }
  constexpr void add(char meaning) { short_name = meaning; }
  constexpr void add(Alias meaning) { alias = meaning.name; }
  constexpr void add(Misnomers meaning) { misnomers = meaning.names; }
  constexpr void add(const Range& meaning) { range = meaning; }
  constexpr void add(const Comparison& meaning) { comparison = meaning; }
  constexpr void add(NeedsUnit meaning) { needs_unit_above = meaning.above; }
  constexpr void add(Planned) { planned = true; }
  constexpr void add(Label) { label = true; }
};

/// The JSON name of a field: "step-time" with Unit::seconds is "step_time_seconds". A name that already contains its
/// unit in whole words ("bytes_fetched", "files_per_second") is unchanged; operands are lower-cased.
///
/// A group with a unit applies to its members: in {"latency", Unit::seconds} a member {"p50", Unit::seconds} or {"p50"}
/// without one is "p50", because "latency_seconds" already contains it. `group` is the unit of that group.
std::string json_name(const Field& field, Unit group = Unit::none);

/// Names of an enum's values in order from 0. A function next to the enum makes it usable as a field:
///     constexpr auto enum_names(Validate) { return std::to_array<std::string_view>({"none", "header", "decode"}); }
template <class E>
concept NamedEnum = std::is_enum_v<E> && requires {
  enum_names(E{});
};

template <NamedEnum E>
inline constexpr auto kEnumNames = enum_names(E{});

template <NamedEnum E>
constexpr std::string_view enum_name(E value) {
  return kEnumNames<E>.at(static_cast<std::size_t>(value));
}

/// An enum as index and names, for visitors.
struct Choice {
  std::optional<std::size_t> index;  ///< empty: an optional one without a value
  std::span<const std::string_view> names;
  bool optional = false;
};

class FieldList;

template <class T>
concept Describable = std::is_class_v<T> && requires(T& value, FieldList& visitor) {
  value.describe(visitor);
};

/// A member that is not a group, list or enum. Only results have an optional flag: an option is given or not.
using FieldValue =
    std::variant<bool*, std::optional<bool>*, std::uint64_t*, std::optional<std::uint64_t>*, double*,
                 std::optional<double>*, std::string*, std::optional<std::string>*, std::vector<std::string>*>;

/// Called once per member by describe(). Members are passed by reference so that a visitor may read or bind them. An
/// empty std::optional is null in JSON and "not given" on the command line.
class FieldList {
 public:
  virtual ~FieldList() = default;

  /// The heading under which help shows the options that follow, such as "Shards"; it may come again later.
  virtual void topic(std::string_view) {}

  template <class T>
  requires std::constructible_from<FieldValue, T*>
  void field(const Field& field, T& value) { scalar(field, &value); }

  template <NamedEnum E>
  void field(const Field& field, E& value) {
    enumeration(field, {static_cast<std::size_t>(value), kEnumNames<E>}, &assign<E, E>, &value);
  }

  template <NamedEnum E>
  void field(const Field& field, std::optional<E>& value) {
    Choice choice{std::nullopt, kEnumNames<E>, true};
    if (value) choice.index = static_cast<std::size_t>(*value);
    enumeration(field, choice, &assign<E, std::optional<E>>, &value);
  }

  template <Describable T>
  void field(const Field& field, T& value) {
    group(field, value, false);
  }

  /// An absent group is null.
  template <Describable T>
  void field(const Field& field, std::optional<T>& value) {
    if (value) {
      group(field, *value, true);
    } else if (wants_prototype()) {
      T prototype{};
      group(field, prototype, true);
    } else {
      null_group(field);
    }
  }

  template <Describable T>
  void field(const Field& field, std::vector<T>& value) {
    begin_list(field, value.size());
    if (wants_prototype()) {
      T prototype{};
      item(prototype);
    } else {
      for (T& element : value) item(element);
    }
    end_list();
  }

 protected:
  virtual void scalar(const Field& field, FieldValue value) = 0;
  /// `assign(target, index)` stores a new value: for visitors that bind.
  using Assign = void (*)(void* target, std::size_t index);
  virtual void enumeration(const Field& field, Choice choice, Assign assign, void* target) = 0;

  /// `optional`: the group may be absent, although this one is present.
  virtual void begin_group(const Field& field, bool optional) = 0;
  virtual void end_group() = 0;
  virtual void null_group(const Field& field) = 0;
  virtual void begin_list(const Field& field, std::size_t count) = 0;
  virtual void begin_item() = 0;
  virtual void end_item() = 0;
  virtual void end_list() = 0;

  /// True for visitors that document types, not values: they see one element of every list and every absent group.
  virtual bool wants_prototype() const { return false; }

 private:
  template <class E, class Target>
  static void assign(void* target, std::size_t index) {
    *static_cast<Target*>(target) = static_cast<E>(index);
  }

  template <class T>
  void group(const Field& field, T& value, bool optional) {
    begin_group(field, optional);
    value.describe(*this);
    end_group();
  }

  template <class T>
  void item(T& element) {
    begin_item();
    element.describe(*this);
    end_item();
  }
};

}  // namespace shardkit
