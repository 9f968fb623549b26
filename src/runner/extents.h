// The extents of one request: numbers for the symbols of a manifest, and what its formulas and layouts are
// under them.
//
// Problem: a manifest speaks of sizes in symbols ("4*batch*seq", "batch x (past ++ seq)"); a request has
// numbers. Method: the texts are read once into a pool of dims (ir/dim.h). Evaluating them changes nothing,
// so threads may share what was read. A layout is evaluated part by part with checked numbers, and gives the
// pieces of true elements in the padded axis. Recursion follows a layout, of which at most kMaxLayoutDepth
// are inside each other.
//
//   past ++ seq, past = 2 in 4, seq = 1 in 3   =>   true [a b c], padded [a b . . c . .], pieces (0 -> 0, 2
//   elements), (2 -> 4, 1 element)
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "deploy/layout_tree.h"
#include "deploy/manifest.h"
#include "ir/dim.h"

namespace graphopt::runner {

using Extents = std::map<std::string, std::int64_t, std::less<>>;  // by symbol
using Bindings = std::vector<DimPool::Binding>;

// "batch = 2, seq = 13"; at most ten of them.
std::string to_string(const Extents& extents);

// Formulas of one manifest. Once all are read it may be shared by threads.
class Formulas {
 public:
  DimId symbol(std::string_view name) { return pool_.symbol(name); }
  // Returns none for "?" and for what the pool does not read: a text of more than 4096 bytes, say.
  DimId read(std::string_view extent);

  // Of the symbols that occur in formulas.
  Bindings bind(const Extents& extents) const;
  std::string_view name(DimId symbol) const { return pool_.symbol_name(symbol); }
  // Returns nothing where a symbol has no extent, and where a number leaves int64.
  std::optional<std::int64_t> value(DimId formula, std::span<const DimPool::Binding> at) const;
  DimPool& pool() { return pool_; }
  const DimPool& pool() const { return pool_; }

 private:
  DimPool pool_;
};

// True elements that lie next to each other in both axes.
struct Piece {
  std::int64_t from = 0;  // in the true axis
  std::int64_t to = 0;    // in the padded axis
  std::int64_t count = 0;
  friend bool operator==(const Piece&, const Piece&) = default;
};

class AxisLayout {
 public:
  AxisLayout(Formulas& formulas, const deploy::LayoutTree& tree);

  bool is_known() const { return known_; }  // no part of it is "?", or cannot be read
  bool is_leaf() const { return root_.kind == deploy::LayoutTree::Kind::Extent; }
  bool is_symbol() const { return is_symbol_; }  // one symbol and nothing else
  const std::string& text() const { return text_; }
  std::span<const DimId> symbols() const { return symbols_; }  // each once

  // Returns nothing where a symbol has no extent, an extent is negative or a number leaves int64.
  std::optional<std::int64_t> size(const Formulas& formulas, std::span<const DimPool::Binding> at) const;

  // Returns the pieces, in the order of the true axis, empty ones left out; nothing where a size has no
  // value, or a true extent exceeds the padded one. There are no more pieces than true elements.
  std::optional<std::vector<Piece>> pieces(const Formulas& formulas,
                                           std::span<const DimPool::Binding> extents,
                                           std::span<const DimPool::Binding> padded) const;

  // Returns the least extent from `low` to `high` of the one symbol that `at` does not bind, with which the
  // size is `wanted`; nothing where there is none among those that are tried: all where the size grows with
  // the symbol, the first 2^20 elsewhere.
  std::optional<std::int64_t> solve(const Formulas& formulas, Bindings at, DimId symbol, std::int64_t wanted,
                                    std::int64_t low, std::int64_t high) const;

 private:
  struct Part {
    deploy::LayoutTree::Kind kind = deploy::LayoutTree::Kind::Extent;
    DimId extent;  // of Extent
    std::vector<Part> parts;
  };

  Part read(Formulas& formulas, const deploy::LayoutTree& tree);
  DimId whole(DimPool& pool, const Part& part) const;
  static std::optional<std::int64_t> size_of(const Formulas& formulas, const Part& part,
                                             std::span<const DimPool::Binding> at);
  static std::optional<std::vector<Piece>> pieces_of(const Formulas& formulas, const Part& part,
                                                     std::span<const DimPool::Binding> extents,
                                                     std::span<const DimPool::Binding> padded);

  Part root_;
  std::string text_;
  bool known_ = true, is_symbol_ = false;
  bool never_negative_ = true;  // whatever the extents are
  std::vector<DimId> symbols_;
  std::vector<bool> grows_;  // by symbol of symbols_: the size never shrinks when its extent grows
};

// Sizes of values, as a manifest states them, for the extents of a request.
class SizeFormulas {
 public:
  explicit SizeFormulas(std::span<const deploy::Size> sizes);

  // Returns the bytes of each; nothing for one that depends on data, on a symbol without an extent, or whose
  // number leaves int64.
  std::vector<std::optional<std::uint64_t>> bytes(const Extents& extents) const;

 private:
  struct Entry {
    std::optional<std::uint64_t> bytes;
    DimId formula;
  };
  Formulas formulas_;
  std::vector<Entry> entries_;
};

}  // namespace graphopt::runner
