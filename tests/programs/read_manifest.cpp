// Reads manifests and writes them again, for tests/cli/read_manifest.py and tests/lib/manifests.py.
//
//   graphopt_read_manifest FILE...
//
// Prints the errors of a FILE that is refused, and a line for one whose text is not what the manifest that
// was read is written as. The exit status is 1 when it printed something.
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "deploy/manifest_json.h"
#include "deploy/read_manifest.h"

namespace graphopt::deploy {
namespace {

std::string read(const char* path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

// Returns true if the manifest is read and written with the same bytes.
bool comes_back(const char* path) {
  const std::string text = read(path);
  const Result<Manifest> manifest = read_manifest(text, path);
  if (!manifest) {
    for (const Error& e : manifest.errors()) std::puts(to_string(e).c_str());
    return false;
  }
  if (manifest_text(*manifest) == text) return true;
  std::printf("%s: is written otherwise\n", path);
  return false;
}

}  // namespace
}  // namespace graphopt::deploy

int main(int argc, char** argv) {
  bool all = true;
  for (int i = 1; i < argc; ++i) all = graphopt::deploy::comes_back(argv[i]) && all;
  return all ? 0 : 1;
}
