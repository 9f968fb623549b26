// The text of an error, in one format for everything that reaches the user. Text from a file (mostly names)
// is shown with its control characters escaped, so that a hostile name can neither forge a line nor drive a
// terminal.
#include "graphopt/error.h"

#include <string_view>

namespace graphopt {
namespace {

void append_visible(std::string& out, std::string_view text, bool keep_newlines) {
  constexpr std::string_view kHex = "0123456789abcdef";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n' && keep_newlines) {
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
}

void append_part(std::string& out, std::string_view separator) {
  if (!out.empty()) out += separator;
}

}  // namespace

std::string to_string(const Place& place) {
  std::string inside;  // graph, node and slot, joined by commas
  if (!place.graph.empty()) {
    inside += "graph '";
    append_visible(inside, place.graph, false);
    inside += '\'';
  }
  if (!place.node.empty()) {
    append_part(inside, ", ");
    const bool numbered = place.node.front() == '#';  // a position, not a name
    inside += numbered ? "node " : "node '";
    append_visible(inside, place.node, false);
    if (!numbered) inside += '\'';
  }
  if (!place.op.empty()) {
    const bool after_node = !place.node.empty();
    append_part(inside, after_node ? " (" : ", ");
    append_visible(inside, place.op, false);
    if (after_node) inside += ')';
  }
  if (!place.slot.empty()) {
    append_part(inside, ", ");
    append_visible(inside, place.slot, false);
  }
  std::string out;
  append_visible(out, place.file, false);
  if (!inside.empty()) {
    append_part(out, ": ");
    out += inside;
  }
  return out;
}

std::string to_string(const Error& error) {
  std::string out = "graphopt: error: ";
  const std::string place = to_string(error.place);
  if (!place.empty()) {
    out += place;
    out += ": ";
  }
  append_visible(out, error.what, true);
  if (!error.remedy.empty()) {
    out += "\n  help: ";
    append_visible(out, error.remedy, true);
  }
  return out;
}

}  // namespace graphopt
