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
/// The command line, the JSON, the text report, the JSON Schema and the reference page are functions of that.
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

/// What a field is when two results are compared.
enum class CompareRole {
  metric,         ///< of a result: it is compared; a group by its members that are `judged`
  judged,         ///< has the role of its group, if that has one
  stage,          ///< a group of a result: the result of another verb, whose fields are compared under its name
  condition,      ///< of a result: results that differ in it cannot be compared
  own_condition,  ///< the same, but not if the result is a stage of another verb's
  data,           ///< a condition if both name different data; else it depends on how far the budget went
  circumstance,   ///< a condition if both request different ones; else results that differ in it have no verdict
  free            ///< of an option: results that differ in it can be compared
};
struct Comparison {
  CompareRole role = CompareRole::metric;
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
  return {.role = CompareRole::condition, .tolerance = tolerance};
}
constexpr Comparison data_within(double tolerance) { return {.role = CompareRole::data, .tolerance = tolerance}; }
inline constexpr Comparison kCondition{CompareRole::condition};
inline constexpr Comparison kOwnCondition{CompareRole::own_condition};
inline constexpr Comparison kCircumstance{CompareRole::circumstance};
inline constexpr Comparison kJudged{CompareRole::judged};
inline constexpr Comparison kStage{CompareRole::stage};
inline constexpr Comparison kMayDiffer{CompareRole::free};

/// Marks an option that affects the written bytes: it is stored in the plan, and another value gives another plan.
struct Planned {};
inline constexpr Planned kPlanned{};

/// Marks the member that identifies the items of a list: their numbers become Prometheus series with it as label.
struct Label {};
inline constexpr Label kLabel{};

/// Marks a text of several lines that are our own words, such as code. In other texts a line end is shown as \x0a.
struct Lines {};
inline constexpr Lines kLines{};

/// Marks a duration that is usually short. A larger number without a unit is probably a mistake and is refused.
struct NeedsUnit {
  double above = 0;  ///< seconds
};
inline constexpr NeedsUnit kOfTrainingStep{60};

/// Owner of the contents of an output that an operand or option names.
enum class Output {
  none,      ///< it is not written, except for a Role::output_file, which is replaced
  own,       ///< the verb's: a folder that it creates or fills
  location,  ///< the same, or a prefix of a bucket; with Role::output_file an object
  shared     ///< shared with others: a folder in which files come and go, a file that is appended to
};
inline constexpr Output kOutputFolder = Output::own;
inline constexpr Output kOutputLocation = Output::location;
inline constexpr Output kSharedOutput = Output::shared;

/// Names that options of this purpose have in other verbs, separated by blanks: a wrong one is answered with this
/// option.
struct Misnomers {
  std::string_view names;
};

/// Name and meaning of a member. After name, unit and help come, in any order and if they apply, a Role, an Output, a
/// Range, a Comparison, kPlanned, kLabel, kLines, a placeholder for the value in help ("SEED"), kOfTrainingStep, and
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
  std::string_view misnomers;   ///< see Misnomers
  std::optional<Range> range;   ///< for a number: accepted by check_ranges(); none: any
  std::optional<Comparison> comparison;
  double needs_unit_above = std::numeric_limits<double>::infinity();
  bool planned = false;
  bool label = false;
  bool lines = false;

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
  constexpr void add(Misnomers meaning) { misnomers = meaning.names; }
  constexpr void add(const Range& meaning) { range = meaning; }
  constexpr void add(const Comparison& meaning) { comparison = meaning; }
  constexpr void add(NeedsUnit meaning) { needs_unit_above = meaning.above; }
  constexpr void add(Planned) { planned = true; }
  constexpr void add(Label) { label = true; }
  constexpr void add(Lines) { lines = true; }
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

class FieldList;

template <class T>
concept Describable = std::is_class_v<T> && requires(T& value, FieldList& fields) {
  value.describe(fields);
};

/// The members that describe() may name, but for groups, lists and enums. Only results have an optional flag: an option
/// is given or not.
template <class T>
concept FieldValue =
    std::same_as<T, bool> || std::same_as<T, std::uint64_t> || std::same_as<T, double> || std::same_as<T, std::string>;

enum class FieldKind { flag, count, number, text, texts, choice, group, list };

/// An enum member: `assign(member, index)` stores the value with this index in `choices`.
struct ChoiceTarget {
  void* member = nullptr;
  void (*assign)(void* member, std::size_t index) = nullptr;
};

/// The described member itself, for a parser that fills it. Valid as long as the described struct.
using FieldTarget = std::variant<std::monostate, bool*, std::optional<bool>*, std::uint64_t*,
                                 std::optional<std::uint64_t>*, double*, std::optional<double>*, std::string*,
                                 std::optional<std::string>*, std::vector<std::string>*, ChoiceTarget>;

/// A described struct as a tree of values. Parsing and every rendering (JSON, schema, report, help, manual, completion,
/// metrics) are functions of it, so that describe() is used in one place only.
struct FieldNode {
  Field field;
  std::string_view topic;  ///< of an option; empty: none
  std::string name;        ///< its name in JSON
  Unit unit = Unit::none;  ///< the field's own, or if it has none that of its group
  FieldKind kind = FieldKind::group;
  bool optional = false;  ///< may be absent: null in JSON, without default
  /// A copy. monostate if absent and for groups and lists; a choice is the text of its name.
  std::variant<std::monostate, bool, std::uint64_t, double, std::string, std::vector<std::string>> value;
  FieldTarget target;  ///< monostate for groups and lists
  std::span<const std::string_view> choices;
  std::vector<FieldNode> children;  ///< members of a group; items of a list, each a group without name
  bool absent = false;              ///< an absent optional group
};

/// The members of a struct, as describe() lists them: it calls field() once for each. An empty std::optional is null in
/// JSON and "not given" on the command line.
class FieldList {
 public:
  enum class Of {
    values,
    types,  ///< for documents: one item in every list, and every optional group present
  };
  explicit FieldList(Of of) : of_(of), open_{&root_} {}
  FieldList(const FieldList&) = delete;
  FieldList& operator=(const FieldList&) = delete;

  std::vector<FieldNode> take() { return std::move(root_.children); }

  /// The heading under which help shows the options that follow, such as "Shards"; it may come again later.
  void topic(std::string_view name) { topic_ = name; }

  /// Of the members that `describe` lists, only the metrics, and the groups that contain some. An absent stage stays.
  template <class Describe>
  void metrics(const Describe& describe) {
    const std::size_t before = open_.back()->children.size();
    describe();
    keep_metrics(*open_.back(), before, false);
  }

  template <FieldValue T>
  void field(const Field& field, T& value) {
    FieldNode& node = add(field, kKindOf<T>);
    node.value = value;
    node.target = &value;
  }

  template <FieldValue T>
  void field(const Field& field, std::optional<T>& value) {
    FieldNode& node = add(field, kKindOf<T>, true);
    if (value) node.value = *value;
    node.target = &value;
  }

  void field(const Field& field, std::vector<std::string>& value);

  /// `choices`: how many of the enum's values are possible here, from the first.
  template <NamedEnum E>
  void field(const Field& field, E& value, std::size_t choices = kEnumNames<E>.size()) {
    const auto assign = [](void* member, std::size_t index) { *static_cast<E*>(member) = static_cast<E>(index); };
    add_choice(field, static_cast<std::size_t>(value), std::span(kEnumNames<E>).first(choices), {&value, assign});
  }

  template <NamedEnum E>
  void field(const Field& field, std::optional<E>& value) {
    const auto assign = [](void* member, std::size_t index) {
      *static_cast<std::optional<E>*>(member) = static_cast<E>(index);
    };
    const auto index = value ? std::optional(static_cast<std::size_t>(*value)) : std::nullopt;
    add_choice(field, index, kEnumNames<E>, {&value, assign}).optional = true;
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
    } else if (of_ == Of::types) {
      T prototype{};
      group(field, prototype, true);
    } else {
      add(field, FieldKind::group, true).absent = true;
    }
  }

  template <Describable T>
  void field(const Field& field, std::vector<T>& value) {
    FieldNode& list = add(field, FieldKind::list);
    list.children.reserve(value.size());
    open_.push_back(&list);
    if (of_ == Of::types) {
      T prototype{};
      group({}, prototype, false);
    } else {
      for (T& item : value) group({}, item, false);
    }
    open_.pop_back();
  }

 private:
  template <class T>
  static constexpr FieldKind kKindOf = std::same_as<T, bool>            ? FieldKind::flag
                                       : std::same_as<T, std::uint64_t> ? FieldKind::count
                                       : std::same_as<T, double>        ? FieldKind::number
                                                                        : FieldKind::text;

  /// From the member with number `first`. `judged`: the group is a metric.
  static void keep_metrics(FieldNode& group, std::size_t first, bool judged);
  FieldNode& add(const Field& field, FieldKind kind, bool optional = false);
  FieldNode& add_choice(const Field& field, std::optional<std::size_t> index, std::span<const std::string_view> names,
                        ChoiceTarget target);

  template <class T>
  void group(const Field& field, T& value, bool optional) {
    open_.push_back(&add(field, FieldKind::group, optional));
    value.describe(*this);
    open_.pop_back();
  }

  Of of_;
  std::string_view topic_;
  FieldNode root_;
  std::vector<FieldNode*> open_;  ///< from the root to the innermost group; each is its parent's last child
};

}  // namespace shardkit
