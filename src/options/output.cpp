// Options about the files that are written, and those that weights are read from.
#include "graphopt/option_rows.h"
#include "options/groups.h"
#include "options/lists_of_names.h"
#include "options/other_files.h"

namespace graphopt {
namespace {

constexpr std::string_view kStripped[] = {"doc", "metadata", "names", "all"};

Status set_strip(Options& o, std::string_view text) {
  StripStage::Options& s = o.strip;
  for (const std::string_view what : items_of(text)) {
    const Result<std::size_t> place =
        read_choice("--strip", what, {std::begin(kStripped), std::end(kStripped)});
    if (!place) return place.errors();
    const bool all = *place == 3;
    s.doc = s.doc || all || *place == 0;
    s.metadata = s.metadata || all || *place == 1;
    s.names = s.names || all || *place == 2;
  }
  return Done{};
}

std::optional<OptionValue> strip(const Options& o) {
  std::vector<std::string> out;
  if (o.strip.doc) out.emplace_back(kStripped[0]);
  if (o.strip.metadata) out.emplace_back(kStripped[1]);
  if (o.strip.names) out.emplace_back(kStripped[2]);
  if (out.empty()) return std::nullopt;
  return OptionValue(std::move(out));
}

}  // namespace

void add_output_rows(Rows& rows) {
  constexpr std::string_view kGroup = kOutputGroup;
  rows.push_back(text_row<Options>({.name = "--output",
                                    .short_name = "-o",
                                    .group = kGroup,
                                    .value = "FILE",
                                    .help = "where the result goes: a file, or DIR/; without it, a dry run",
                                    .form = OptionForm::File,
                                    .writes = true},
                                   [](auto& o) -> auto& { return o.output; }));
  rows.back().set = [](Options& o, std::string_view text) -> Status {
    if (text.empty()) return wrong_value("-o", text, "is not a file", "give a file, or '-' for stdout");
    if (Status fits = fits_output(text); !fits) return fits;
    o.output = text;
    return Done{};
  };
  rows.push_back(choice_row<Options, ExternalData>(
      {.name = "--external-data",
       .group = kGroup,
       .value = "WHEN",
       .help = "weights in a file of their own: auto (default), always, never",
       .changes_result = true,
       .stage = "save"},
      {{"auto", ExternalData::Auto}, {"always", ExternalData::Always}, {"never", ExternalData::Never}},
      [](auto& o) -> auto& { return o.save.external_data; }));
  rows.push_back(bytes_row<Options>({.name = "--external-threshold",
                                     .group = kGroup,
                                     .value = "BYTES",
                                     .help = "from which size on a tensor goes there (default 1K)",
                                     .changes_result = true,
                                     .stage = "save"},
                                    [](auto& o) -> auto& { return o.save.external_threshold; }));
  rows.push_back(file_row<Options>({.name = "--external-file",
                                    .group = kGroup,
                                    .value = "NAME",
                                    .help = "like --external-data always, with this file name next to OUT",
                                    .changes_result = true,
                                    .stage = "save",
                                    .writes = true},
                                   "give a name, as in weights.bin",
                                   [](auto& o) -> auto& { return o.save.external_file; }));
  rows.push_back({{.name = "--strip",
                   .group = kGroup,
                   .value = "WHAT,...",
                   .help = "leave out doc, metadata, names (of inner values, nodes) or all",
                   .form = OptionForm::Choices,
                   .choices = {std::begin(kStripped), std::end(kStripped)},
                   .repeats = true,
                   .changes_result = true,
                   .stage = "strip"},
                  set_strip,
                  strip});
  rows.push_back(text_row<Options>({.name = "--external-root",
                                    .group = kGroup,
                                    .value = "DIR",
                                    .help = "external data may also be read from below DIR",
                                    .form = OptionForm::Folder,
                                    .stage = "load"},
                                   [](auto& o) -> auto& { return o.load.external_root; }));
  rows.push_back(flag_row<Options>({.name = "--force",
                                    .group = kGroup,
                                    .help = "write over a write-protected file, or to a terminal",
                                    .stage = "save"},
                                   [](auto& o) -> auto& { return o.save.force; }));
}

}  // namespace graphopt
