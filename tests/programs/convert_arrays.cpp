// Reads arrays and writes them as one archive, for tests/cli/arrays.py.
//
//   graphopt_convert_arrays OUT.npz FILE...            all arrays of a .npz; the one of a .npy or .pb, by the
//                                                      name of the file before its first '.'; .seq.pb and
//                                                      .opt.pb hold a sequence and an optional
//   graphopt_convert_arrays OUT.npz --zip64 FILE...    all numbers are in fields of ZIP64
//   graphopt_convert_arrays OUT.npz --many N           N arrays of one uint8, x0, x1, ...
//
// Prints "bits NAME", "apart NAME" or "absent NAME" for what is not written as it is, or the errors; then the
// exit status is 1.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/array_file.h"
#include "runtime/array_writer.h"
#include "runtime/given_inputs.h"
#include "support/file.h"

namespace graphopt {
namespace {

Status add(const std::string& file, std::vector<NamedValue>& to) {
  const auto image = FileImage::open(file);
  if (!image) return image.errors();
  const std::string_view bytes = (*image)->bytes();
  if (file.ends_with(".npz")) {
    auto all = read_npz(bytes, file);
    if (!all) return all.errors();
    for (NamedValue& one : *all) to.push_back(std::move(one));
    return Done{};
  }
  const std::string last = last_part(file), name = last.substr(0, last.find('.'));
  const StoredKind kind = file.ends_with(".seq.pb")   ? StoredKind::Sequence
                          : file.ends_with(".opt.pb") ? StoredKind::Optional
                                                      : StoredKind::Tensor;
  auto value = read_array(bytes, file, name, kind);
  if (!value) return value.errors();
  to.push_back({name, *std::move(value)});
  return Done{};
}

int failed(const Errors& errors) {
  for (const Error& e : errors) std::puts(to_string(e).c_str());
  return 1;
}

int run(const std::vector<std::string>& words) {
  std::vector<NamedValue> values;
  ArchiveOptions options{.force = true, .lasting = false};
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "--zip64") {
      options.limits = {.bytes = 0, .entries = 0};
    } else if (words[i] == "--many") {
      HostValue one;
      one.kind = HostValue::Kind::Tensor;
      one.dtype = DType::UInt8;
      one.raw = "x";
      const long count = std::atol(words.at(++i).c_str());
      for (long k = 0; k < count; ++k) values.push_back({"x" + std::to_string(k), one});
    } else if (const Status added = add(words[i], values); !added) {
      return failed(added.errors());
    }
  }
  const auto notes = write_npz(words.at(0), values, options);
  if (!notes) return failed(notes.errors());
  for (const std::string& name : notes->bits) std::printf("bits %s\n", name.c_str());
  for (const std::string& name : notes->apart) std::printf("apart %s\n", name.c_str());
  for (const std::string& name : notes->absent) std::printf("absent %s\n", name.c_str());
  return 0;
}

}  // namespace
}  // namespace graphopt

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  return graphopt::run(std::vector<std::string>(argv + 1, argv + argc));
}
