// Options about sizes: those of inputs and symbols, and buckets of them.
#include <algorithm>

#include "graphopt/option_rows.h"
#include "options/groups.h"
#include "options/values.h"

namespace graphopt {
namespace {

// Returns the remedy for sizes that are written as other tools write them, "image:1,3,224,224" or
// "image=1x3x224x224": the own form of the same sizes, where that is one, else `general`.
template <class Parse>
std::string meant(std::string_view option, std::string text, Parse parse, std::string_view general) {
  std::size_t at = text.rfind('=');
  if (at == std::string::npos) {
    at = text.rfind(':');
    if (at != std::string::npos) text[at] = '=';
  }
  for (std::size_t i = at; at != std::string::npos && i < text.size(); ++i)
    if (text[i] == 'x' || text[i] == ' ') text[i] = ',';
  return parse(text) ? "did you mean " + std::string(option) + ' ' + text + '?' : std::string(general);
}

Status set_shape(Options& o, std::string_view text) {
  auto shape = parse_shape(text);
  if (!shape)
    return wrong_value(
        "--shape", text, "is not NAME=N,N,...",
        meant("--shape", std::string(text), parse_shape, "give a shape as in --shape image=1,3,224,224"));
  o.infer.shapes.push_back(*std::move(shape));
  return Done{};
}

std::optional<OptionValue> shapes(const Options& o) {
  std::vector<std::string> out;
  for (const ShapeOption& s : o.infer.shapes) {
    std::string& text = out.emplace_back(s.input + '=');
    for (std::size_t i = 0; i < s.dims.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(s.dims[i]);
  }
  if (out.empty()) return std::nullopt;
  return OptionValue(std::move(out));
}

Status set_dim(Options& o, std::string_view text) {
  auto dim = parse_dim(text);
  if (!dim) {
    if (const auto [low, high] = reversed_range(text); !low.empty())
      return wrong_value("--dim", text, "is a reversed range", "write " + high + ".." + low);
    return wrong_value("--dim", text, "is neither SYMBOL=N nor SYMBOL=LOW..HIGH",
                       meant("--dim", std::string(text), parse_dim,
                             "give a number as in --dim batch=4, or a range as in --dim batch=1..64"));
  }
  o.infer.dims.push_back(*std::move(dim));
  return Done{};
}

std::optional<OptionValue> dims(const Options& o) {
  std::vector<std::string> out;
  for (const DimOption& d : o.infer.dims)
    out.push_back(d.symbol + '=' + std::to_string(d.low) +
                  (d.high == d.low ? "" : ".." + std::to_string(d.high)));
  if (out.empty()) return std::nullopt;
  return OptionValue(std::move(out));
}

Status set_require(Options& o, std::string_view text) {
  constexpr auto& kNames = Words<BucketRequire>::all;
  const std::vector<std::string_view> names(kNames.begin(), kNames.end());
  const Result<std::size_t> place = read_choice("--bucket-require", text, names);
  if (!place) return place.errors();
  o.buckets.require = static_cast<BucketRequire>(*place);
  return Done{};
}

}  // namespace

void add_shape_rows(Rows& rows) {
  constexpr std::string_view kGroup = kShapesGroup;
  rows.push_back({{.name = "--shape",
                   .group = kGroup,
                   .value = "NAME=N,...",
                   .help = "fix an input's shape (-1 keeps a dim); repeat per input",
                   .form = OptionForm::Pairs,
                   .repeats = true,
                   .changes_result = true,
                   .stage = "infer"},
                  set_shape,
                  shapes});
  rows.push_back({{.name = "--dim",
                   .group = kGroup,
                   .value = "SYMBOL=N",
                   .help = "fix a symbol; SYMBOL=LOW..HIGH promises a range, repeat per symbol",
                   .form = OptionForm::Pairs,
                   .repeats = true,
                   .changes_result = true,
                   .stage = "infer"},
                  set_dim,
                  dims});
  rows.push_back(choice_row<Options, DimNames>(
      {.name = "--dim-names",
       .group = kGroup,
       .value = "MEANING",
       .help = "input dims named 'a + b' are expressions (default) or opaque (names)",
       .changes_result = true,
       .stage = "load"},
      {{"expressions", DimNames::Expressions}, {"opaque", DimNames::Opaque}},
      [](auto& o) -> auto& { return o.load.dim_names; }));
  rows.push_back(flag_row<Options>({.name = "--infer",
                                    .group = kGroup,
                                    .help = "write the shapes that were found into value_info and outputs",
                                    .changes_result = true,
                                    .stage = "infer"},
                                   [](auto& o) -> auto& { return o.infer.write_types; }));
  // The stage reads and checks the sizes: it knows the forms, and the file may have some, too.
  rows.push_back({{.name = "--bucket",
                   .group = kGroup,
                   .value = "SYMBOL=SIZES",
                   .help = "a model per size: 16,32 or 16..512:pow2 (or step= geo= hist= max)",
                   .form = OptionForm::Pairs,
                   .repeats = true,
                   .changes_result = true,
                   .stage = "buckets"},
                  [](Options& o, std::string_view text) -> Status {
                    o.buckets.marks.emplace_back(text);
                    return Done{};
                  },
                  [](const Options& o) -> std::optional<OptionValue> {
                    if (o.buckets.marks.empty()) return std::nullopt;
                    return OptionValue(o.buckets.marks);
                  }});
  rows.push_back(file_row<Options>({.name = "--buckets",
                                    .group = kGroup,
                                    .value = "FILE",
                                    .help = "read sizes from a JSON file, with bounds of inputs and a filter",
                                    .changes_result = true,
                                    .stage = "buckets"},
                                   "give a JSON file of buckets",
                                   [](auto& o) -> auto& { return o.buckets.file; }));
  rows.push_back({{.name = "--bucket-require",
                   .group = kGroup,
                   .value = "WHAT",
                   .help = "accept padding that is: proved, assumed (default); or repair, force",
                   .form = OptionForm::Choice,
                   .choices = {Words<BucketRequire>::all.begin(), Words<BucketRequire>::all.end()},
                   .changes_result = true,
                   .stage = "buckets"},
                  set_require,
                  [](const Options& o) -> std::optional<OptionValue> {
                    if (!o.buckets.require) return std::nullopt;
                    return OptionValue(std::string(word(*o.buckets.require)));
                  }});
  rows.push_back(flag_row<Options>({.name = "--bucket-single",
                                    .group = kGroup,
                                    .help = "one model that picks the bucket, pads and crops by itself",
                                    .changes_result = true,
                                    .stage = "buckets"},
                                   [](auto& o) -> auto& { return o.buckets.single; }));
}

}  // namespace graphopt
