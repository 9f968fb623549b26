# Two ways to compile many sources in less time, for builds that compile all of them: what most sources
# include is parsed again and again otherwise, more than half of the time of a build with sanitizers.

# graphopt_precompile(<target> [ALWAYS] [<header>...])
#
# With GRAPHOPT_PRECOMPILE, or ALWAYS, compiles the standard headers that most sources include once for a
# target of many sources, and the headers given. GCC no longer takes them for headers of the system, and warns
# falsely of what is inlined from them.
function(graphopt_precompile target)
  cmake_parse_arguments(PARSE_ARGV 1 precompile "ALWAYS" "" "")
  if(GRAPHOPT_PRECOMPILE OR precompile_ALWAYS)
    target_precompile_headers(${target} PRIVATE
      <algorithm> <array> <cmath> <functional> <limits> <map> <memory> <numeric> <optional> <span> <string>
      <string_view> <unordered_map> <unordered_set> <utility> <vector> ${precompile_UNPARSED_ARGUMENTS})
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
  endif()
endfunction()

# graphopt_unite(<target>)
#
# With GRAPHOPT_UNITY, compiles all sources of the target as one; else graphopt_precompile(<target>). All of
# them, so that it does not depend on the number of files which of them meet: names in the unnamed namespaces
# of a layer are unique in it.
function(graphopt_unite target)
  if(GRAPHOPT_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
    # GCC takes every source of such a build for a header, where a class with a member from an unnamed
    # namespace would break the one-definition rule; and it warns falsely of what it inlines further than from
    # one source.
    target_compile_options(${target} PRIVATE
      $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage;-Wno-free-nonheap-object;-Wno-restrict>)
  else()
    graphopt_precompile(${target})
  endif()
endfunction()
