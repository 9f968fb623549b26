// Rows of tables of options (option_table.h). A front end makes its own with them.
//
// `at` is a function that returns the member of the options that a row is about:
//
//   flag({.name = "--exact", .group = "Optimization", .help = "…"},
//        [](auto& o) -> auto& { return o.clean_up.exact; })
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "graphopt/error.h"
#include "graphopt/option_table.h"
#include "graphopt/words.h"

namespace graphopt {

// "OPTION: 'VALUE' PROBLEM", ErrorKind::Usage.
Error wrong_value(std::string_view option, std::string_view value, std::string_view problem,
                  std::string remedy);
// Returns true if `text` is "" or "true", false if it is "false".
Result<bool> read_flag(std::string_view option, std::string_view text);
// "4096", "64K", "2M", "1.5G": powers of 1024.
Result<std::uint64_t> read_bytes(std::string_view option, std::string_view text);
// "10", "0.5", "10s", "5m", "1h"; above 0.
Result<double> read_seconds(std::string_view option, std::string_view text);
// "1e-4", "0".
Result<double> read_tolerance(std::string_view option, std::string_view text);
// A whole number in a range, both ends included. `problem` is the error's: "is not a number of seeds".
struct CountForm {
  std::int64_t least = 0, most = 0;
  std::string_view problem;
  std::string remedy;
};
Result<std::int64_t> read_count(std::string_view option, std::string_view text, const CountForm& form);
// "npu=4M,gpu=1G": the value of each device, each device once, in their order. `form`: "DEVICE=BYTES".
struct DeviceValue {
  std::string device;
  std::string_view value;  // a part of `text`
};
Result<std::vector<DeviceValue>> read_device_values(std::string_view option, std::string_view text,
                                                    std::string_view form);
// The place of `text` among the names.
Result<std::size_t> read_choice(std::string_view option, std::string_view text,
                                const std::vector<std::string_view>& names);
// A size as a value: the greatest that a signed number holds stands for all above.
OptionValue size_value(std::uint64_t bytes);

template <class T, class At> OptionRow<T> flag_row(OptionInfo info, At at) {
  const std::string_view name = info.name;
  info.form = OptionForm::Flag;
  return {std::move(info),
          [name, at](T& o, std::string_view text) -> Status {
            const Result<bool> value = read_flag(name, text);
            if (!value) return value.errors();
            at(o) = *value;
            return Done{};
          },
          [at](const T& o) -> std::optional<OptionValue> { return OptionValue(bool{at(o)}); }};
}

template <class E> using Choices = std::vector<std::pair<std::string_view, E>>;

// One of a few words, each of which stands for a value of the member.
template <class T, class E, class At> OptionRow<T> choice_row(OptionInfo info, Choices<E> words, At at) {
  info.form = OptionForm::Choice;
  for (const auto& [word, value] : words) info.choices.push_back(word);
  return {info,
          [name = info.name, choices = info.choices, words, at](T& o, std::string_view text) -> Status {
            const Result<std::size_t> place = read_choice(name, text, choices);
            if (!place) return place.errors();
            at(o) = words[*place].second;
            return Done{};
          },
          [words, at](const T& o) -> std::optional<OptionValue> {
            for (const auto& [word, value] : words)
              if (at(o) == value) return OptionValue(std::string(word));
            return std::nullopt;
          }};
}

// Any value of an enum with words.
template <class T, class E, class At> OptionRow<T> choice_row(OptionInfo info, At at) {
  Choices<E> words;
  for (std::size_t i = 0; i < Words<E>::all.size(); ++i) words.emplace_back(Words<E>::all[i], E(i));
  return choice_row<T, E>(std::move(info), std::move(words), at);
}

// A text, of whatever form; empty: not given.
template <class T, class At> OptionRow<T> text_row(OptionInfo info, At at) {
  return {std::move(info),
          [at](T& o, std::string_view text) -> Status {
            at(o) = text;
            return Done{};
          },
          [at](const T& o) -> std::optional<OptionValue> {
            if (at(o).empty()) return std::nullopt;
            return OptionValue(std::string(at(o)));
          }};
}

// Texts, one each time that the option is given.
template <class T, class At> OptionRow<T> texts_row(OptionInfo info, At at) {
  info.repeats = true;
  return {std::move(info),
          [at](T& o, std::string_view text) -> Status {
            at(o).emplace_back(text);
            return Done{};
          },
          {}};
}

// A file that must be named. `remedy` says what to give.
template <class T, class At> OptionRow<T> file_row(OptionInfo info, std::string_view remedy, At at) {
  const std::string_view name = info.name;
  info.form = OptionForm::File;
  OptionRow<T> row = text_row<T>(std::move(info), at);
  row.set = [name, remedy, at](T& o, std::string_view text) -> Status {
    if (text.empty()) return wrong_value(name, text, "is not a file", std::string(remedy));
    at(o) = text;
    return Done{};
  };
  return row;
}

// A whole number; 0: not given.
template <class T, class At> OptionRow<T> count_row(OptionInfo info, const CountForm& form, At at) {
  const std::string_view name = info.name;
  info.form = OptionForm::Count;
  return {std::move(info),
          [name, form, at](T& o, std::string_view text) -> Status {
            const Result<std::int64_t> value = read_count(name, text, form);
            if (!value) return value.errors();
            at(o) = static_cast<std::remove_cvref_t<decltype(at(o))>>(*value);
            return Done{};
          },
          [at](const T& o) -> std::optional<OptionValue> {
            if (at(o) == 0) return std::nullopt;
            return OptionValue(static_cast<std::int64_t>(at(o)));
          }};
}

template <class T, class At> OptionRow<T> bytes_row(OptionInfo info, At at) {
  const std::string_view name = info.name;
  info.form = OptionForm::Bytes;
  return {std::move(info),
          [name, at](T& o, std::string_view text) -> Status {
            const Result<std::uint64_t> value = read_bytes(name, text);
            if (!value) return value.errors();
            at(o) = *value;
            return Done{};
          },
          [at](const T& o) -> std::optional<OptionValue> { return size_value(at(o)); }};
}

// A time; 0: not given.
template <class T, class At> OptionRow<T> seconds_row(OptionInfo info, At at) {
  const std::string_view name = info.name;
  info.form = OptionForm::Seconds;
  return {std::move(info),
          [name, at](T& o, std::string_view text) -> Status {
            const Result<double> value = read_seconds(name, text);
            if (!value) return value.errors();
            at(o) = *value;
            return Done{};
          },
          [at](const T& o) -> std::optional<OptionValue> {
            if (at(o) == 0) return std::nullopt;
            return OptionValue(double{at(o)});
          }};
}

}  // namespace graphopt
