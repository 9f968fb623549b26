"""Writes the man page and the completions of bash, zsh and fish from what the tool says of itself.

shell_files.py GRAPHOPT FOLDER

FOLDER gets share/man/man1/graphopt.1, share/bash-completion/completions/graphopt,
share/zsh/site-functions/_graphopt and share/fish/vendor_completions.d/graphopt.fish.
"""

import pathlib
import re
import sys

from option_list import help_text, names_listed, options_of, verbs_of, version_of


def roff(text):
    """Text for a man page: nothing in it is a request or an escape."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def shown(option):
    """The names and the value of an option as a man page shows them."""
    if option.optional:
        short = f"\\fB{roff(option.short)}\\fR, " if option.short else ""
        return f"{short}\\fB{roff(option.long)}\\fR[=\\fI{roff(option.value)}\\fR]"
    names = [f"\\fB{roff(name)}\\fR" for name in (option.short, option.long) if name]
    space = " " if option.long else ""
    return ", ".join(names) + (f"{space}\\fI{roff(option.value)}\\fR" if option.value else "")


def option_parts(options):
    group = ""
    for option in options:
        if option.group != group:
            group = option.group
            yield f".SS {group}"
        yield f".TP\n{shown(option)}\n{roff(option.text)}."


def man_page(binary):
    """Returns the page: --help of every verb in the order of a man page."""
    text = help_text(binary)
    synopsis = [
        line[7:] if line.startswith("Usage: ") else line for line in text.split("\n\n")[0].splitlines()
    ]
    examples = text.split("\nExamples:\n")[1].split("\n\n")[0].splitlines()
    status = " ".join(text.split("Exit status: ")[1].split()).rstrip(".").split(", ")
    parts = [
        f'.TH GRAPHOPT 1 "" "graphopt {version_of(binary)}" "User Commands"',
        ".SH NAME\ngraphopt \\- make ONNX models smaller and faster",
        ".SH SYNOPSIS\n.nf",
        *(roff(line.strip()) for line in synopsis),
        ".fi",
        ".SH DESCRIPTION",
        roff(text.split("\n\n")[1].strip()),
    ]
    for verb, options in options_of(binary).items():
        title = "OPTIONS" if not verb else f"OPTIONS OF {' '.join(verb).upper()}"
        parts += [f'.SH "{title}"', *option_parts(options)]
    parts.append(".SH LEVELS")
    for line in re.search(r"\nLevels[^\n]*\n(.*?)\n\n", text, re.S)[1].splitlines():
        level, _, meaning = line.strip().partition(" ")
        parts.append(f".TP\n\\fB{roff(level)}\\fR\n{roff(meaning.strip())}.")
    parts += [".SH EXAMPLES", ".nf", *(roff(line.strip()) for line in examples), ".fi", '.SH "EXIT STATUS"']
    for one in status:
        number, _, meaning = one.partition(" ")
        parts.append(f".TP\n\\fB{number}\\fR\n{roff(meaning)}")
    parts += [
        ".SH ENVIRONMENT",
        ".TP\n\\fBGRAPHOPT_ORT\\fR\nONNX Runtime's library, a folder with one, or a Python environment.",
        ".TP\n\\fBNO_COLOR\\fR\nNo colors, also on a terminal.",
        ".SH FILES",
        ".TP\n\\fI../share/graphopt/devices\\fR\nThe device profiles, from the folder of the program.",
        ".TP\n\\fI~/.config/graphopt/devices\\fR\nYour own; a shipped one of the same name is found first.",
    ]
    return "\n".join(parts) + "\n"


def values_of(option, passes, devices):
    """The words that an option's value may be, none when it is free."""
    if option.form == "passes":
        return [*(["all", "lower"] if option.name == "--explain" else []), *passes]
    if option.form == "devices":
        return devices
    return list(option.choices)


def file_kind(option):
    return option.form if option.form in ("file", "folder") else ""


def words_of_options(options):
    """Every word that begins an option; -O with each level."""
    out = []
    for option in options:
        if option.name == "-O":
            out += [f"-O{level}" for level in option.choices]
        else:
            out += [name for name in (option.short, option.long) if name]
    return out


def all_options(verbs):
    """Each option of any verb, once."""
    seen = {}
    for options in verbs.values():
        for option in options:
            seen.setdefault(option.name, option)
    return list(seen.values())


def firsts(verbs):
    """The words that begin a command line with a verb."""
    return " ".join(verb[0] for verb in verbs if verb)


BASH = """\
# bash completion for graphopt; written by tools/packaging/shell_files.py.
_graphopt() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} head=
  COMPREPLY=()
  # "--fold=na" is three words to bash: --fold, =, na.
  [ "$word" = = ] && word=
  [ "$before" = = ] && [ "$COMP_CWORD" -gt 1 ] && before=${COMP_WORDS[COMP_CWORD-2]}
  case $before in
@CASES@
  esac
  case $word in
    -*)
      case ${COMP_WORDS[1]} in
@VERBS@
      esac ;;
    *)
      [ "$COMP_CWORD" -gt 1 ] || COMPREPLY=($(compgen -W '@FIRSTS@' -- "$word"))
      [ "${COMP_WORDS[1]}" != devices ] || [ "$COMP_CWORD" -ne 2 ] || {
        COMPREPLY=($(compgen -W check -- "$word")); return; }
      [ "${COMP_WORDS[1]}" != devices ] || [ "$COMP_CWORD" -ne 3 ] ||
        COMPREPLY=($(compgen -W '@DEVICES@' -- "$word"))
      COMPREPLY+=($(compgen -f -- "$word")) ;;
  esac
}
complete -o filenames -F _graphopt graphopt
"""


def bash(verbs, passes, devices):
    cases = []
    for option in all_options(verbs):
        words = values_of(option, passes, devices)
        names = "|".join(name for name in (option.short, option.long) if name)
        if option.name == "-O" or option.optional or not option.value:
            continue  # no word of its own follows
        if option.is_list and words:
            body = (
                "case $word in *,*) head=${word%,*}, ;; esac\n"
                f'      COMPREPLY=($(compgen -P "$head" -W \'{" ".join(words)}\' -- "${{word##*,}}"))'
            )
        elif words:
            body = f"COMPREPLY=($(compgen -W '{' '.join(words)}' -- \"$word\"))"
        elif kind := file_kind(option):
            body = f'COMPREPLY=($(compgen {"-f" if kind == "file" else "-d"} -- "$word"))'
        else:
            body = ":"
        cases.append(f"    {names})\n      {body}\n      return ;;")
    verb_cases = []
    for verb, options in sorted(verbs.items(), reverse=True):
        words = " ".join(words_of_options(options))
        verb_cases.append(
            f"        {verb[0] if verb else '*'}) COMPREPLY=($(compgen -W '{words}' -- \"$word\")) ;;"
        )
    text = BASH.replace("@CASES@", "\n".join(cases)).replace("@VERBS@", "\n".join(verb_cases))
    return text.replace("@FIRSTS@", firsts(verbs)).replace("@DEVICES@", " ".join(devices))


def zsh(verbs, passes, devices):
    """An _arguments call for each verb."""

    def quoted(text):
        return text.replace("'", "'\\''").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")

    def action(option):
        words = values_of(option, passes, devices)
        if option.is_list and words:
            return f"_values -s , value {' '.join(words)}"
        if words:
            return f"({' '.join(words)})"
        return {"file": "_files", "folder": "_files -/", "": " "}[file_kind(option)]

    def spec(option):
        if option.name == "-O":
            return f"'-O-[{quoted(option.text)}]:level:({' '.join(option.choices)})'"
        value = f":{quoted(option.value)}:{action(option)}" if option.value else ""
        tail = "=" if option.value and option.long else ""
        if option.optional:
            tail, value = "=-", ":" + value
        many = "*" if option.repeats else ""
        return "\n".join(
            f"    '{many}{name}{tail if name == option.long else ''}[{quoted(option.text)}]{value}'"
            for name in (option.short, option.long)
            if name
        ).strip()

    out = ["#compdef graphopt", "# Written by tools/packaging/shell_files.py.", "_graphopt() {"]
    out.append("  case ${words[2]} in")
    for verb, options in sorted(verbs.items(), reverse=True):
        rest = {
            "devices": "'1:verb:(devices)' '2:verb:(check)' "
            f"'3:profile:({' '.join(devices)})' '4:model:_files'",
            "": f"'1:model or verb:{{_alternative \"verbs:verb:({firsts(verbs)})\" files:model:_files}}'",
        }.get(verb[0] if verb else "", f"'1:verb:({verb[0] if verb else ''})' '2:model:_files'")
        specs = " \\\n      ".join(spec(option).replace("\n", " \\\n  ") for option in options)
        out.append(f"  {verb[0] if verb else '*'})\n    _arguments \\\n      {specs} \\\n      {rest} ;;")
    out += ["  esac", "}", '_graphopt "$@"']
    return "\n".join(out) + "\n"


def fish(summaries, verbs, passes, devices):
    def quoted(text):
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    out = ["# Written by tools/packaging/shell_files.py."]
    for verb, text in summaries.items():
        if verb:
            out.append(f"complete -c graphopt -n __fish_is_first_arg -a {verb[0]} -d {quoted(text)}")
    out.append("complete -c graphopt -n '__fish_seen_subcommand_from devices' -a check")
    for verb, options in verbs.items():
        seen = f"__fish_seen_subcommand_from {verb[0] if verb else firsts(verbs)}"
        seen = seen if verb else "not " + seen
        for option in options:
            line = f"complete -c graphopt -n '{seen}'"
            line += f" -s {option.short[1:]}" if option.short else ""
            line += f" -l {option.long[2:]}" if option.long else ""
            if option.value and not option.optional:
                words = values_of(option, passes, devices)
                if option.is_list and words:
                    line += f' -x -a "(__fish_append , {" ".join(words)})"'
                elif words:
                    line += f" -x -a {quoted(' '.join(words))}"
                else:
                    line += {"file": " -r -F", "folder": " -x -a '(__fish_complete_directories)'", "": " -x"}[
                        file_kind(option)
                    ]
            out.append(f"{line} -d {quoted(option.text)}")
    return "\n".join(out) + "\n"


def write(binary, folder):
    """Writes all files; returns their paths below the folder."""
    verbs = options_of(binary)
    summaries = {verb: summary for verb, (summary, _) in verbs_of(binary).items()}
    passes = names_listed(binary, "--list-passes")
    devices = names_listed(binary, "--list-devices")
    files = {
        "share/man/man1/graphopt.1": man_page(binary),
        "share/bash-completion/completions/graphopt": bash(verbs, passes, devices),
        "share/zsh/site-functions/_graphopt": zsh(verbs, passes, devices),
        "share/fish/vendor_completions.d/graphopt.fish": fish(summaries, verbs, passes, devices),
    }
    for name, text in files.items():
        path = pathlib.Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return list(files)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print("\n".join(write(sys.argv[1], sys.argv[2])))
