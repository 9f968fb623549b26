// Finds device profiles by name and reads them.
//
// A name is a file when it has '/' or ends in ".json". Otherwise NAME.json is looked for in the folders of
// `device_folders`, in their order, so a profile of the user's cannot replace one that is installed: a run
// with the same options means the same on every machine that has this version.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "devices/profile.h"
#include "graphopt/error.h"

namespace graphopt {

// Returns where profiles are: the one beside the running binary (../share/graphopt/devices from its folder,
// or from a folder above it, as in a build tree), then $XDG_CONFIG_HOME/graphopt/devices or
// ~/.config/graphopt/devices. Folders that do not exist are left out.
std::vector<std::string> device_folders();

struct FoundProfile {
  std::string name, path;
};
// Returns the profiles in the folders, by name; of those with one name, the one that a run would take.
std::vector<FoundProfile> find_profiles(const std::vector<std::string>& folders);

// Returns the profiles that "npu,gpu.json" names, in the order of the list, which overrides `priority`; when
// none of them is a host, the shipped "cpu" comes last. ErrorKind::Usage: an unknown name (with the nearest
// ones), an empty one, one id twice, two hosts; ErrorKind::Input: a file that cannot be read, or a mistake
// in it.
Result<std::vector<Profile>> load_devices(std::string_view list, const std::vector<std::string>& folders);
// The profile of one name.
Result<Profile> load_device(std::string_view name, const std::vector<std::string>& folders);

}  // namespace graphopt
