# The rules of includes.sh; reads every source file of the checkout in turn.
BEGIN {
  third_party = "^(fmt|minizip|utf8proc|sentencepiece|yaml-cpp|nlohmann|CLI|xxhash|google|coin|sqlite3|libconfig|gtest|gmock|rapidcheck|benchmark)[/.]"
  # Rooms by floor. A file includes its own room and rooms of floors below; rooms of one floor do not know each other.
  split("base:0 describe:1 runtime/kernels:2 engines/nest:3 engines/cluster:3 engines/dataflow:3 engines/amped:3 engines/masks:3 " \
        "runtime/layer:3 engines/accelerator:4 engines/fused:4 engines/serving:4 runtime/network:4 runtime/tuning:4 runtime/pruning:5 formats:6 inputs:7 " \
        "present:8 verbs:9 library:10 cli:10 faces:11 program:12", rooms, " ")
  for (i in rooms) {
    split(rooms[i], pair, ":")
    floor_of[pair[1]] = pair[2]
  }
  # What a verb shows and what it is told (cmake/rooms.cmake has the same list).
  face = "^verbs/((sweep|help|report)/|.*(/|[^/]*_)(options|table|json|report|picture|trace|text|output)(_test)?[.](h|cc)$)"
}
# The path below src/orrery.
function below(path) {
  sub(/^(src\/)?orrery\//, "", path)
  return path
}
# The room of such a path: "engines/nest", "verbs", "faces", ...
function room_of(path,   parts, count) {
  count = split(path, parts, "/")
  if (count == 1) return path == "orrery.h" ? "library" : "" # the one header beside the rooms
  if (path ~ face) return "faces"
  return parts[1] ~ /^(engines|runtime)$/ && count > 2 ? parts[1] "/" parts[2] : parts[1]
}
# The verb of such a path: "verbs/tune" is one room with all its sub-verbs.
function verb_of(path,   parts) {
  return split(path, parts, "/") > 2 && parts[1] == "verbs" ? parts[2] : ""
}
function third_party_in(line) {
  sub(/^[^<"]*[<"]/, "", line)
  return line ~ third_party
}
function breach(what) {
  printf "%s:%d: %s\n", FILENAME, FNR, what
  breaches++
}
function close_header() {
  if (previous ~ /\.h$/ && !guarded) {
    printf "%s:1: a header needs #pragma once\n", previous
    breaches++
  }
}

FNR == 1 {
  close_header()
  previous = FILENAME
  guarded = 0
  in_header = FILENAME ~ /\.h$/
  in_test = FILENAME ~ /_((test|bench|fuzz)\.cc|test_[a-z]+\.h)$/
  own = room_of(below(FILENAME))
  own_verb = verb_of(below(FILENAME))
  if (!(own in floor_of)) breach("the folder of this file is no room; add it to tests/house/includes.awk")
}
/^[ \t]*#[ \t]*pragma[ \t]+once/ { guarded = 1 }

/^[ \t]*#[ \t]*include[ \t]*"/ {
  target = $0
  sub(/^[^"]*"/, "", target)
  sub(/".*/, "", target)
  if (target ~ third_party) next
  if (target !~ /^orrery\//) {
    breach("write the whole path: \"orrery/...\", not \"" target "\"")
    next
  }
  other = room_of(below(target))
  other_verb = verb_of(below(target))
  # Tests of a verb may look at what it shows.
  height = in_test && own ~ /^(verbs|faces)$/ ? floor_of["program"] : floor_of[own]
  if (!(other in floor_of)) breach("\"" target "\" stands in no room")
  else if (other_verb != "" && own_verb != "" && other_verb != own_verb && own_verb !~ /^(sweep|check|help|report)$/ && !in_test)
    breach("a verb may not include another: what both need belongs in inputs/ or below, not in \"" target "\"")
  else if (own == "verbs" && other ~ /^(present|cli)$/ && !in_test)
    breach("what a verb computes knows nothing of how it is shown or asked: not \"" target "\"")
  else if (other != own && floor_of[other] >= height)
    breach(own " may not include \"" target "\": it is not on a floor below")
}
in_header && !in_test && /^[ \t]*#[ \t]*include[ \t]*[<"]/ && $0 !~ /[<"]fmt\// && third_party_in($0) {
  breach("third-party headers stay out of .h files (fmt excepted)")
}

{ code = $0; sub(/\/\/.*/, "", code) }
!in_test && own !~ /^(cli|present|faces|program)$/ && code ~ /std::(cout|cerr|clog)|[^a-z_:n](printf|puts)[ ]*\(|fmt::print[ ]*\(/ {
  breach("only cli/, present/, program/ and the faces of verbs print")
}
!in_test && FILENAME != "src/orrery/cli/interrupt.cc" && code ~ /(^|[^a-zA-Z_.>])(std::)?(exit|_exit|quick_exit|abort)[ ]*\(/ {
  breach("only a signal (cli/interrupt.cc) ends the program")
}

END {
  close_header()
  exit breaches > 0
}
