// Reads bucket marks: texts of the command line and a file, which say the same things.
//
//   spec   := names '=' ( list | range ':' method ) { ',' option }
//   names  := name { ',' name }          several symbols: one group
//   name   := text | "'" text "'"        quotes for a name with ',' or '='; '\' before a quote inside
//   list   := int { ',' int }            the buckets; the range is 1 (or min=) to the last, that of a fixed
//                                        symbol begins at the first
//   range  := int '..' int
//   method := 'pow2' | 'max' | 'step=' int | 'geo=' decimal
//           | 'hist=' file ':' ( int | 'auto' | 'auto:' decimal )
//   option := 'align=' int | 'min=' int | 'pad=' number | 'fixed'
//
// The file is JSON; keys are optional unless said otherwise:
//   {"groups": [{"symbols": ["seq"] (required), "range": [16, 512], "method": {"pow2": {}}, "align": 8,
//                "pad": 0, "fixed": false},
//               {"symbols": ["batch"], "values": [1, 2, 4, 8], "min": 1}],
//    "inputs": {"ids": {"pad": 0, "values": [0, 30521]}},  "dims": {"total": "past + seq"},
//    "limit": {"count": 64}, "where": "batch*seq <= 4096", "require": "proved"}
// method: {"pow2": {}}, {"max": {}}, {"step": 64}, {"geo": 1.25}, {"hist": {"file": F, "buckets": 6}} or
// {"hist": {"file": F, "buckets": "auto", "share": 0.01}}; F is relative to the folder of the marks. A pad
// value is a number, "inf" or "-inf".
//
// All errors are of ErrorKind::Usage and say what to write instead. Nothing is thrown.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "buckets/marks/marks.h"

namespace graphopt {

inline constexpr std::size_t kMaxMarksBytes = std::size_t{8} << 20;

// Returns the group of one text. Reads the file of lengths that it names, relative to the working folder.
// `option` is what the user calls the text, for messages.
Result<BucketGroup> parse_bucket_spec(std::string_view spec, std::string_view option = "--bucket");
// Returns the marks of a file's text, not yet checked against each other.
Result<BucketMarks> read_marks(std::string_view text, const std::string& file);
// Returns the marks of all texts and of the file at `path` (empty: none), after check_marks(). The groups of
// the file come first.
Result<BucketMarks> parse_marks(std::span<const std::string> specs, const std::string& path,
                                std::string_view option = "--bucket");

}  // namespace graphopt
