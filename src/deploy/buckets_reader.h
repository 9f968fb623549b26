// Reads the section `buckets` of a manifest. Internal.
#pragma once

#include <deque>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "deploy/manifest.h"
#include "deploy/manifest_walk.h"
#include "deploy/partitioned_reader.h"

namespace graphopt::deploy {

using FileRoles = std::unordered_map<std::string, FileRole>;  // by path

class BucketsReader {
 public:
  // All outlive the reader. `section`: what is read; names in it are collected first.
  BucketsReader(ManifestWalk& walk, const JsonWalk::Json& section, const NetworkNames& network,
                const Ids& devices, Buckets& to);

  void read(const JsonWalk::Path& path);
  // Checks what the keys say of each other and of the files. Precondition: the whole manifest was read
  // without a mistake.
  void check(const JsonWalk::Path& path, std::span<const Device> devices, const FileRoles& files);

 private:
  using Json = JsonWalk::Json;
  using Path = JsonWalk::Path;
  using Read = JsonWalk::Read;

  struct ModelReader {
    ModelReader(ManifestWalk& walk, PartitionedNames own, BucketModel& to)
        : names(std::move(own)), reader(walk, names, to) {}
    PartitionedNames names;
    PartitionedReader reader;
  };

  // Reads an object whose keys are symbols, each with `read(member, path, place of the symbol)`. `all`: it
  // has a key for each symbol.
  Read to_by_symbol(bool all, std::function<void(const Json&, const Path&, Index)> read);
  Read to_layouts(std::vector<LayoutTree>& to);
  Read groups();
  Read sizes();
  Read ranges();
  Read fixed();
  Read where();
  Read inputs();
  Read extra_inputs();
  Read outputs();
  Read constraints();
  Read assumptions();
  Read repairs();
  Read refused();
  Read waste();
  Read models();
  void output(const Json& j, const Path& path, Buckets::Output& o);
  void model(const Json& j, const Path& path, BucketModel& m, PartitionedReader& reader);

  void check_symbols(const Path& path);
  void check_verdict(const Path& path);
  void check_models(const Path& path);
  void check_files(const Path& path, const FileRoles& files);

  ManifestWalk& walk_;
  const Json& section_;
  NetworkNames network_;  // and the extra inputs
  const Ids& devices_;
  Buckets& to_;
  Ids symbols_{"symbols"};
  std::deque<ModelReader> models_;
};

}  // namespace graphopt::deploy
