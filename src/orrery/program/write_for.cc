// Each verb is run with a word that has its command line describe itself instead of reading anything; the four texts
// are made from these descriptions, so none of them can lag behind an option.
#include "orrery/program/write_for.h"

#include <string_view>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/cli/program_version.h"
#include "orrery/program/verbs.h"

namespace orrery::verbs {
namespace {

struct DescribedVerb {
  const Verb* verb;
  Described line;
};

std::vector<DescribedVerb> described_verbs(Console& console) {
  std::vector<DescribedVerb> all;
  for (const Verb& verb : verbs()) {
    try {
      verb.run({kDescribe}, console);
    } catch (Described& line) {
      all.push_back({&verb, std::move(line)});
    }
  }
  return all;
}

// Which part of the catalogue an option takes names of, "chips" for --chip; nothing for other options.
std::string catalogue_part(const Described::Option& option) {
  return option.type.starts_with("NAME|FILE") ? option.names.back().substr(2) + "s" : "";
}

// The shell command that prints the names of a part of the catalogue, or of all of it.
std::string catalogue_names(const std::string& part) {
  return fmt::format("orrery catalog 2>/dev/null | sed -n '/^{}/,/^[a-z]/s/^  \\([^ ]*\\).*/\\1/p'", part);
}

std::string replaced(const std::string& text, std::string_view from, const std::string& to) {
  std::string out;
  for (const char c : text) {
    if (from.find(c) == std::string_view::npos)
      out += c;
    else
      out += to == "\\" ? to + c : to;
  }
  return out;
}

// Text of a roff document.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

std::string man(const std::vector<DescribedVerb>& all) {
  std::string out = fmt::format(
      ".TH ORRERY 1 \"\" \"orrery {}\" \"User Commands\"\n"
      ".SH NAME\norrery \\- models and optimises how transformers run on accelerators\n"
      ".SH SYNOPSIS\n.B orrery\n.I VERB\n[\\fIFILES\\fR] [\\fIoptions\\fR]\n"
      ".SH DESCRIPTION\nAnswers come with a proof or with a bound that no better answer passes. "
      "\\fBorrery VERB \\-\\-help\\fR prints what this page says of a verb.\n.SH VERBS\n",
      roff(kVersion));
  for (const auto& [verb, line] : all) {
    out += fmt::format(".SS {}\n{}.\n", roff(verb->name), roff(verb->summary));
    if (!line.subverbs.empty()) out += fmt::format(".PP\nFollowed by: {}.\n", roff(base::joined(line.subverbs, ", ")));
    std::string_view heading;
    for (const Described::Option& option : line.options) {
      if (heading != option.heading) out += fmt::format(".PP\n\\fI{}\\fR\n", roff(option.heading));
      heading = option.heading;
      out += fmt::format(".TP\n\\fB{}\\fR", roff(base::joined(option.names, ", ")));
      if (!option.type.empty()) out += fmt::format(" \\fI{}\\fR", roff(option.type));
      out += "\n" + roff(option.text) + "\n";
    }
    if (!line.example.empty()) out += fmt::format(".PP\nExample:\n.PP\n.nf\n    {}\n.fi\n", roff(line.example));
  }
  return out +
         ".SH EXIT STATUS\n0 done; 1 the answer is no; 2 the input cannot be used; 3 stopped at a limit, with the best "
         "answer "
         "so far; 101 an internal error; 130 interrupted.\n"
         ".SH ENVIRONMENT\n.TP\n.B ORRERY_CATALOG\nDirectory of the catalogue; by default the one that was installed "
         "with "
         "the program.\n.TP\n.B NO_COLOR\nNo colours, where it is set and not empty.\n";
}

// For each verb of `all`, what `row` makes of it.
template <typename Row>
std::string rows(const std::vector<DescribedVerb>& all, const Row& row) {
  std::string out;
  for (const DescribedVerb& verb : all) out += row(verb);
  return out;
}

std::vector<std::string> option_names(const Described& line) {
  std::vector<std::string> names;
  for (const Described::Option& option : line.options)
    if (!option.positional) names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

std::vector<std::string> verb_names(const std::vector<DescribedVerb>& all) {
  std::vector<std::string> names;
  for (const DescribedVerb& verb : all) names.emplace_back(verb.verb->name);
  return names;
}

std::string bash(const std::vector<DescribedVerb>& all) {
  const auto values = [](const DescribedVerb& verb) {
    std::string out;
    for (const Described::Option& option : verb.line.options) {
      const std::string part = catalogue_part(option);
      if (part.empty() && option.values.empty()) continue;
      out += fmt::format("    '{} {}') words={} ;;\n", verb.verb->name, option.names.back(),
                         part.empty() ? fmt::format("'{}'", base::joined(option.values, " "))
                                      : fmt::format("$({})", catalogue_names(part)));
    }
    return out;
  };
  return fmt::format(
             "# bash completion for orrery\n"
             "_orrery() {{\n"
             "  local word=${{COMP_WORDS[COMP_CWORD]}} options='' words=''\n"
             "  COMPREPLY=()\n"
             "  if ((COMP_CWORD == 1)); then\n"
             "    mapfile -t COMPREPLY < <(compgen -W '{} --help --version' -- \"$word\")\n"
             "    return\n"
             "  fi\n"
             "  case ${{COMP_WORDS[1]}} in\n",
             base::joined(verb_names(all), " ")) +
         rows(all,
              [](const DescribedVerb& verb) {
                return fmt::format("    {}) options='{}' words='{}' ;;\n", verb.verb->name,
                                   base::joined(option_names(verb.line), " "), base::joined(verb.line.subverbs, " "));
              }) +
         "  esac\n"
         "  case \"${COMP_WORDS[1]} ${COMP_WORDS[COMP_CWORD - 1]}\" in\n" +
         rows(all, values) + fmt::format("    'catalog show') words=$({}) ;;\n", catalogue_names("")) +
         "  esac\n"
         "  [[ $word == -* ]] && words=$options\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
         "}\n"
         "complete -o default -F _orrery orrery\n";
}

std::string zsh(const std::vector<DescribedVerb>& all) {
  const auto quoted = [](const std::string& text) { return replaced(replaced(text, "'", "’"), "[]:", "\\"); };
  const auto action = [](const Described::Option& option) -> std::string {
    if (!option.values.empty()) return fmt::format("({})", base::joined(option.values, " "));
    const std::string part = catalogue_part(option);
    return part.empty() ? "_files" : "_orrery_" + part;
  };
  const auto options = [&](const DescribedVerb& verb) {
    std::string out = fmt::format("    {})\n      _arguments", verb.verb->name);
    for (const Described::Option& option : verb.line.options) {
      if (option.positional) continue;
      for (const std::string& name : option.names) {
        out += fmt::format(" \\\n        '*{}[{}]", name, quoted(option.text));
        if (!option.type.empty()) out += fmt::format(":{}:{}", quoted(option.type), action(option));
        out += "'";
      }
    }
    if (!verb.line.subverbs.empty())
      out += fmt::format(" \\\n        '1:word:({})'", base::joined(verb.line.subverbs, " "));
    return out + " \\\n        '*:file:_files'\n      ;;\n";
  };
  std::string out = "#compdef orrery\n";
  for (const char* part : {"chips", "models", "systems"})
    out += fmt::format("_orrery_{}() {{\n  compadd -- $({})\n  _files\n}}\n", part, catalogue_names(part));
  return out +
         "_orrery() {\n"
         "  if ((CURRENT == 2)); then\n    local -a verbs=(\n" +
         rows(all,
              [&](const DescribedVerb& verb) {
                return fmt::format("      '{}:{}'\n", verb.verb->name, quoted(verb.verb->summary));
              }) +
         "    )\n    _describe verb verbs\n    return\n  fi\n"
         "  local verb=$words[2]\n  shift words\n  ((CURRENT--))\n  case $verb in\n" +
         rows(all, options) + "  esac\n}\n_orrery \"$@\"\n";
}

std::string fish(const std::vector<DescribedVerb>& all) {
  const auto quoted = [](const std::string& text) { return "'" + replaced(text, "\\'", "\\") + "'"; };
  return "# fish completion for orrery\n" + rows(all, [&](const DescribedVerb& verb) {
           std::string out = fmt::format("complete -c orrery -n __fish_use_subcommand -a {} -d {}\n", verb.verb->name,
                                         quoted(verb.verb->summary));
           const std::string when =
               fmt::format("complete -c orrery -n '__fish_seen_subcommand_from {}'", verb.verb->name);
           if (!verb.line.subverbs.empty())
             out += fmt::format("{} -a '{}'\n", when, base::joined(verb.line.subverbs, " "));
           for (const Described::Option& option : verb.line.options) {
             if (option.positional) continue;
             out += when;
             for (const std::string& name : option.names)
               out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
             if (!option.type.empty()) out += " -r";
             if (const std::string part = catalogue_part(option); !part.empty())
               out += fmt::format(" -a {}", quoted(fmt::format("({})", catalogue_names(part))));
             if (!option.values.empty()) out += fmt::format(" -f -a {}", quoted(base::joined(option.values, " ")));
             out += fmt::format(" -d {}\n", quoted(option.text));
           }
           return out;
         });
}

}  // namespace

int write_for(const std::vector<std::string>& arguments, Console& console) {
  using Writer = std::string (*)(const std::vector<DescribedVerb>&);
  static const std::vector<std::pair<std::string, Writer>> writers = {
      {"man", man}, {"bash", bash}, {"zsh", zsh}, {"fish", fish}};
  for (const auto& [name, write] : writers)
    if (arguments == std::vector<std::string>{name}) {
      console.out << write(described_verbs(console));
      return kDone;
    }
  misuse("O1101", "`orrery write-for` writes one of man, bash, zsh and fish", "name one of them");
}

}  // namespace orrery::verbs
