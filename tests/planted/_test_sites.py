"""Tests of _sites.py on sources whose answer is known. Run by mutants.py --places."""

import _sites

SOURCE = """
#include "x.h"  // a && b
#define BOTH(a, b) ((a) && (b))
template <class T> bool f(T&& x, int n) {
  const char* s = "p && q";  // r || s
  if (!x || n < 2) return false;
  if (n == 3 &&
      g(n, [&](int k) { return k == 1; }))
    return {};
  if (const auto y = h(x); !y.ok()) {
    continue;
  }
  if (const int z = n) return nullptr;
  if (n == 4) return false;
  else n = 5;
  for (int i = 0; i < n && f({i, 1}, Dims{n}); ++i) v.push_back(i);
  static_assert(sizeof(T) == 4 && true);
  if constexpr (a && b) n = 1;
  return n == 1 && x ? !n : a || (b && c);
}
void Draft::undo(const Change& c) {
  node.alive = true;
  DraftNode& node = nodes_[c.a];
  if (!c) c.m.touch(n);
  switch (n) {
    case 1: a = b; break;
    default: return log(x);
  }
  link(x);
}
bool refuses(NodeId n) { return c.no(n, "p (q)") || n == 7 || c.no(n, "r"); }
void other() { c.same(a, b); a.b = c; undone = roll_back(); T reset(x); }
"""

EXPECTED = {
    ("or", "! x", "f"),
    ("or", "n < 2", "f"),
    ("or", "n == 7", "refuses"),
    ("not", "! x", "f"),
    ("guard", "! x || n < 2", "f"),
    ("and", "n == 3", "f"),
    ("and", "g ( n , [ & ] ( int k ) { return k == 1 ; } )", "f"),
    ("guard", "n == 3 && g ( n , [ & ] ( int k ) { return k == 1 ; } )", "f"),
    ("guard", "! y . ok ( )", "f"),
    ("not", "! y . ok ( )", "f"),
    ("leave", "if ( const int z = n ) return nullptr ;", "f"),
    ("and", "i < n", "f"),
    ("and", "f ( { i , 1 } , Dims { n } )", "f"),
    ("and", "n == 1", "f"),
    ("and", "x", "f"),
    ("not", "! n", "f"),
    ("or", "a", "f"),
    ("or", "( b && c )", "f"),
    ("and", "b", "f"),
    ("and", "c", "f"),
    ("undo", "node . alive = true", "undo"),
    ("not", "! c", "undo"),
    ("call", "c . m . touch ( n )", "undo"),
    ("call", "link ( x )", "undo"),
    ("undo", "a = b", "undo"),
    ("call", "c . same ( a , b )", "other"),
}


def self_test():
    """AssertionError when a site is not found, is found in error, or its switch stands in the wrong place."""
    sites = _sites.find("src/x.cpp", SOURCE)
    found = {(s.kind, s.text, s.function) for s in sites}
    assert found == EXPECTED, f"missing: {EXPECTED - found}, too many: {found - EXPECTED}"
    assert len({s.key for s in sites}) == len(sites)
    for s in sites:
        assert s.line == SOURCE.count("\n", 0, s.begin) + 1
        if s.kind != "not":  # of which only the `!` is replaced
            assert "".join(SOURCE[s.begin : s.end].split()) == "".join(s.text.split()), s
    assert _sites.instrument(SOURCE, [], 0) == SOURCE
    switched = _sites.instrument(SOURCE, sites, 1000)
    assert switched.count("\n") == SOURCE.count("\n")
    assert all(f"{1000 + s.number}" in switched for s in sites)

    def one(source, kind):
        return _sites.instrument(source, [s for s in _sites.find("f", source) if s.kind == kind], 0)

    m = "::graphopt_mutants::"
    assert one("void f() { g(a && !b); }", "and") == f"void f() {{ g({m}all(0, (a)) && {m}all(1, (!b))); }}"
    assert one("void f() { g(a && !b); }", "not") == f"void f() {{ g(a && {m}Not{{2}}->*b); }}"
    guarded = one("void f() { if (int a = g(); a || b) return; }", "guard")
    assert guarded == f"void f() {{ if (int a = g(); {m}any(0, (a || b))) return; }}", guarded
    again = _sites.find("f", "void f() { g(!a); g(!a); }")
    assert [s.key for s in again] == ["f | f | not | ! a", "f | f | not | ! a #2"]
    assert _sites.order(again[0], 1) != _sites.order(again[0], 2)
