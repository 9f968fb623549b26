// The one error type. An error is a value: its kind (the number is the exit status), the place, the fact, the
// remedy.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace graphopt {

enum class ErrorKind : std::uint8_t {
  Usage = 1,        // a wrong option, name or value on the command line
  Input = 2,        // the model cannot be used
  CheckFailed = 3,  // --check found a difference
  Output = 4,       // the result could not be written
  Limit = 5,        // --timeout or --max-memory was reached
  NotChecked = 6,   // ONNX Runtime was to run the model, and is not there or does not run it
  Internal = 70,    // a defect of graphopt
};

// The place of a problem. Empty fields are not printed.
struct Place {
  std::string file;   // as given by the user
  std::string graph;  // "main/loop_3.body" inside subgraphs; empty for the main graph
  std::string node;   // "conv_12", or "#418" for the 419th node of its graph when it has no name
  std::string op;     // "Conv", with its domain when that is not the default: "com.microsoft::Attention"
  std::string slot;   // "input 1 'w12'"

  friend bool operator==(const Place&, const Place&) = default;
};

struct Error {
  ErrorKind kind = ErrorKind::Internal;
  Place place;
  std::string what;    // the fact, in the user's terms
  std::string remedy;  // what to do; empty only for Internal
};

// "graphopt: error: FILE: node 'n' (Op), input 1 'w': WHAT\n  help: REMEDY", without a trailing newline.
std::string to_string(const Place& place);
std::string to_string(const Error& error);

// One to ten problems of one run, in the order in which they were found. The first determines the exit
// status.
using Errors = std::vector<Error>;
inline constexpr std::size_t kMaxErrors = 10;

template <class T> class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : v_(std::in_place_index<1>, Errors{std::move(error)}) {}
  Result(Errors errors) : v_(std::in_place_index<1>, std::move(errors)) {}

  bool ok() const { return v_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& operator*() & { return *std::get_if<0>(&v_); }
  const T& operator*() const& { return *std::get_if<0>(&v_); }
  T&& operator*() && { return std::move(*std::get_if<0>(&v_)); }
  T* operator->() { return std::get_if<0>(&v_); }
  const T* operator->() const { return std::get_if<0>(&v_); }
  // Precondition: !ok(). At least one.
  const Errors& errors() const { return *std::get_if<1>(&v_); }
  Errors& errors() { return *std::get_if<1>(&v_); }
  const Error& error() const { return errors().front(); }

 private:
  std::variant<T, Errors> v_;
};

struct Done {};  // the value of a Result without content
using Status = Result<Done>;

}  // namespace graphopt
