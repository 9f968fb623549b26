// See json_scan.h. The tokens come from nlohmann-json's event interface, which neither throws nor recurses.
#include "support/json_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

namespace graphopt {
namespace {

using Json = nlohmann::ordered_json;

class Scanner final : public nlohmann::json_sax<Json> {
 public:
  Scanner(std::string_view text, const std::string& file, std::size_t depth, ErrorKind kind)
      : text_(text), file_(file), depth_(depth), kind_(kind) {}

  Errors errors;

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool string(string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool start_object(std::size_t) override { return open(true); }
  bool start_array(std::size_t) override { return open(false); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    Frame& frame = frames_.back();
    frame.path = json_path(frame.base, name);
    if (!frame.keys.insert(name).second)
      add(frame.path + ": the key occurs twice in its object", "remove one of both; neither would be clear");
    return errors.size() < kMaxErrors;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    const std::size_t end = std::min(position, text_.size());
    const std::string_view before = text_.substr(0, end);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    const std::string place =
        fmt::format("line {}, column {}: ", line, std::max<std::size_t>(end - start, 1));
    // "[...] parse error at line 1, column 2: syntax error while parsing value - unexpected ..."
    std::string_view what = error.what();
    if (const auto at = what.find("] "); at != std::string_view::npos) what.remove_prefix(at + 2);
    if (const auto at = what.find("syntax error"); at != std::string_view::npos) what.remove_prefix(at);
    if (comma_before(what, before)) {
      add(place + "there is a comma before '" + before.back() + "'", "remove the comma: nothing follows it");
      return false;
    }
    add(place + std::string(what), "write JSON (RFC 8259): no comments, keys and texts in double quotes");
    return false;
  }

 private:
  struct Frame {
    bool object = false;
    std::string base, path;  // of the object or array, and of its member
    std::size_t index = 0;
    std::set<std::string> keys;
  };

  void add(std::string what, std::string remedy) {
    errors.push_back({kind_, {file_, {}, {}, {}, {}}, std::move(what), std::move(remedy)});
  }
  bool value() {
    if (!frames_.empty() && !frames_.back().object) ++frames_.back().index;
    return true;
  }
  bool open(bool object) {
    std::string base;
    if (!frames_.empty())
      base =
          frames_.back().object ? frames_.back().path : json_path(frames_.back().base, frames_.back().index);
    if (frames_.size() == depth_) {
      add(base.substr(0, 80) + fmt::format(": more than {} objects and lists are inside each other", depth_),
          "no file of this kind needs more");
      return false;
    }
    value();
    frames_.push_back({object, std::move(base), {}, 0, {}});
    return true;
  }
  bool close() {
    frames_.pop_back();
    return true;
  }
  // Returns whether the text ends in a bracket that the parser did not expect, after a comma.
  static bool comma_before(std::string_view what, std::string_view before) {
    const bool bracket = before.ends_with(']') || before.ends_with('}');
    if (!bracket || what.find("unexpected '") == std::string_view::npos) return false;
    before.remove_suffix(1);
    const std::size_t last = before.find_last_not_of(" \t\r\n");
    return last != std::string_view::npos && before[last] == ',';
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t depth_;
  ErrorKind kind_;
  std::vector<Frame> frames_;
};

bool plain(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

std::string json_path(const std::string& path, std::string_view key) {
  if (!plain(key)) return path + "[\"" + std::string(key) + "\"]";
  return path + (path.empty() ? "" : ".") + std::string(key);
}

std::string json_path(const std::string& path, std::size_t index) {
  return path + '[' + std::to_string(index) + ']';
}

Errors scan_json(std::string_view text, const std::string& file, std::size_t depth, ErrorKind kind) {
  Scanner scanner(text, file, depth, kind);
  (void)Json::sax_parse(text, &scanner);
  return std::move(scanner.errors);
}

}  // namespace graphopt
