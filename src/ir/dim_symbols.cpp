// Symbols and their names.
//
// The name of an input symbol is whatever a file wrote. A fresh symbol is named "u" and a number, and no
// input symbol has that name: runtimes plan memory by names, and a reader takes equal names for equal dims.
#include <algorithm>

#include "ir/dim_state.h"

namespace graphopt {
namespace {

constexpr std::string_view kFreshPrefix = "u";

}  // namespace

std::string DimPool::State::next_fresh_name(const std::unordered_set<std::string>& taken) {
  std::string name;
  do name = std::string(kFreshPrefix) + std::to_string(++last_fresh);
  while (input_symbols.contains(name) || taken.contains(name));
  return name;
}

DimId DimPool::symbol(std::string_view name, Range range) {
  if (const DimId known = find_symbol(name)) return known;
  const std::uint32_t atom = s_->new_symbol(SymbolKind::Input, std::string(name), range);
  s_->input_symbols.emplace(s_->names[s_->atoms[atom].name], atom);
  if (name.starts_with(kFreshPrefix))
    for (const std::uint32_t f : s_->fresh_symbols)
      if (std::string& made = s_->names[s_->atoms[f].name]; made == name) made = s_->next_fresh_name({});
  return s_->atoms[atom].self;
}

DimId DimPool::find_symbol(std::string_view name) const {
  const auto found = s_->input_symbols.find(name);
  return found == s_->input_symbols.end() ? DimId{} : s_->atoms[found->second].self;
}

DimId DimPool::fresh(Range range) {
  const std::uint32_t atom = s_->new_symbol(SymbolKind::Fresh, s_->next_fresh_name({}), range);
  s_->fresh_symbols.push_back(atom);
  return s_->atoms[atom].self;
}

std::string_view DimPool::symbol_name(DimId a) const {
  auto atom = s_->lone_symbol(a);
  if (!atom) atom = s_->lone_symbol(s_->canonical(a));
  return atom ? std::string_view(s_->names[s_->atoms[*atom].name]) : std::string_view();
}

void DimPool::number_fresh(std::span<const DimId> first, const std::unordered_set<std::string>& taken) {
  s_->last_fresh = 0;
  std::vector<bool> named(s_->atoms.size(), false);
  const auto give_name = [&](std::uint32_t atom) {
    if (named[atom]) return;
    named[atom] = true;
    s_->names[s_->atoms[atom].name] = s_->next_fresh_name(taken);
  };
  for (const DimId d : first)
    if (const auto atom = s_->lone_symbol(d); atom && s_->atoms[*atom].symbol_kind == SymbolKind::Fresh)
      give_name(*atom);
  for (const std::uint32_t atom : s_->fresh_symbols) give_name(atom);
}

}  // namespace graphopt
