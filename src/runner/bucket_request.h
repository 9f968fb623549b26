// Which model of a bucket a request runs in, and the request in that model's shapes: what the section
// `buckets` of a manifest says (docs/manifest.md).
//
// Problem: models of buckets take some sizes, requests have any. Method: the shapes of the inputs give the
// extents of the symbols; of the models that hold them the smallest one is chosen; inputs are padded to its
// sizes by their layouts, and outputs cut. A request without such a model is for the fallback, OUT.
//
//   const auto extents = requests.extents(inputs);                    x [2, 13]: batch = 2, seq = 13
//   const auto model = extents ? requests.choose(*extents) : none;    that of batch = 4, seq = 16
//   const auto padded = requests.pad(inputs, *extents, *model);       x [4, 16]
//   outputs = requests.cut(run(padded), *extents, *model);            y [4, 16, 8] => [2, 13, 8]
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "buckets/marks/shape_filter.h"
#include "deploy/manifest.h"
#include "graphopt/error.h"
#include "runner/extents.h"
#include "runtime/inputs.h"

namespace graphopt::runner {

// Immutable once made: threads may share it. All of it is of the manifest that it was made from, which it
// does not refer to.
class BucketRequests {
 public:
  // Precondition: the manifest has buckets. Errors: Input, for what cannot be evaluated, or an input that
  // cannot be padded with the number that its class of pads asks for.
  static Result<BucketRequests> make(const deploy::Manifest& manifest);

  // Returns the extents that the shapes of the inputs show; of a layout of several symbols the least ones
  // that give its size. Inputs that are not of the section may be absent. Error: Usage, and it names the
  // input, the axis, the expected and the given extent, where no extents of the promised ranges give these
  // shapes. Such a request is for the fallback, too: the promise is about models of buckets alone.
  Result<Extents> extents(std::span<const NamedValue> inputs) const;

  // Returns the place in deploy::Buckets::models of the model that a request of these extents takes; none: it
  // is for the fallback.
  std::optional<std::size_t> choose(const Extents& extents) const;

  // Returns whether extents are what `where` and `constraints` ask for, within the promised ranges or not.
  // Precondition: they have each symbol of the buckets.
  bool meets_conditions(const Extents& extents) const;

  // Returns the extents that a model has for a request: its sizes, and the request's own for other symbols.
  Extents padded(Extents extents, std::size_t model) const;

  // Returns the inputs of the model, its extra inputs among them. An input that is not padded is moved, not
  // copied. Preconditions: `extents` are those of the inputs, and `model` was chosen for them. Errors: Usage
  // for an input of another shape or no tensor, Limit where there is no memory; the inputs are lost then.
  Result<std::vector<NamedValue>> pad(std::vector<NamedValue> inputs, const Extents& extents,
                                      std::size_t model) const;

  // Returns the outputs cut to the extents of the request; an output that the section does not name, or that
  // is no tensor, is moved as it is. An extent that data decide is the one that the output has. Errors: Input
  // for an output that is not of the layout that the manifest states, or of which it states none; Limit.
  Result<std::vector<NamedValue>> cut(std::vector<NamedValue> outputs, const Extents& extents,
                                      std::size_t model) const;

 private:
  struct Input {
    std::string name;
    std::vector<AxisLayout> axes;
    DType dtype = DType::Undefined;
    std::string element;
  };
  struct Output {
    std::string name;
    std::vector<AxisLayout> axes;
  };
  struct Symbol {
    std::string name;
    bool fixed = false;
    std::int64_t low = 0, high = 0;
  };
  struct Model {
    std::vector<std::int64_t> at;  // by symbol
  };
  struct Constraint {
    DimId extent;
    std::int64_t divisor = 1;
  };
  // An input without a symbol of the buckets, of which a dim may be another symbol.
  struct Named {
    std::string input;
    std::vector<std::pair<std::size_t, std::string>> axes;
  };
  struct Found;

  BucketRequests() = default;
  Status read_input(const deploy::Buckets::Input& input, const deploy::Network& network);
  Status read_output(const deploy::Buckets::Output& output);
  Status read_conditions(const deploy::Buckets& section);
  Status bare_extents(std::span<const NamedValue> inputs, Found& found) const;
  Status solved_extents(Found& found) const;
  bool are_promised(const Extents& extents) const;
  bool holds(const Model& model, const Extents& extents) const;

  Formulas formulas_;
  std::vector<Symbol> symbols_;
  std::vector<Named> named_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  std::vector<deploy::Buckets::ExtraInput> extra_inputs_;
  std::vector<Constraint> constraints_;
  std::optional<ShapeFilter> where_;
  std::map<std::string, deploy::Bounds, std::less<>> bounds_;  // of symbols of the network
  std::vector<Model> models_;
};

}  // namespace graphopt::runner
