#include "devices/node_table.h"

#include "support/json_scan.h"
#include "support/json_walk.h"

namespace graphopt {

Result<NodeTable> read_node_table(std::string_view text, const std::string& file) {
  if (Errors errors = scan_json(text, file, 1); !errors.empty()) return errors;
  NodeTable table;
  JsonWalk walk(file);
  walk.members(JsonWalk::Json::parse(text, nullptr, false), "",
               [&](const std::string& name, const JsonWalk::Json& member, const JsonWalk::Path& at) {
                 if (const auto ns = walk.integer(member, at, 0)) table[name] = *ns;
               });
  if (!walk.errors().empty()) return walk.errors();
  return table;
}

}  // namespace graphopt
