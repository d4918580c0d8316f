# The rules of includes.sh; reads every source file of the checkout in turn.
BEGIN {
  third_party = "^(fmt|minizip|utf8proc|sentencepiece|yaml-cpp|nlohmann|CLI|xxhash|google|coin|sqlite3|libconfig|gtest|gmock|rapidcheck|benchmark)[/.]"
  split("base:0 cost:1 workload:2 machine:3 energy:4 collective:4 kernels:4 " \
        "nest:5 layer:5 model:5.5 study:5.7 tuning:5.5 sparse:5 array:5.5 dataflow:5 cluster:5 amped:5 formats/yaml:6 formats/libconfig:6.5 formats/csv:6 formats/json:6 formats/pickle:6 formats/*:7 " \
        "formats/huggingface/families:6.5 formats/huggingface/networks:7.5 " \
        "formats/timeloop/expressions:7.1 formats/timeloop/templates:7.15 formats/timeloop/architecture:7.2 formats/timeloop/constraints:7.3 " \
        "formats/timeloop/components:7.4 formats/timeloop/documents:7.5 " \
        "scenario:8 store:8.2 sweep:8.4 library:9 report:9 cli:10", floors, " ")
  for (i in floors) {
    split(floors[i], pair, ":")
    height[pair[1]] = pair[2]
  }
}
# The folder below src/orrery that a path lies in.
function folder_of(path) {
  sub(/^(src\/)?orrery\//, "", path)
  if (!sub(/\/[^\/]*$/, "", path)) return path == "orrery.h" ? "library" : "" # the one header beside the folders
  return path
}
function height_of(folder) {
  if (folder in height) return height[folder]
  if (folder ~ /^formats\/[^\/]+$/) return height["formats/*"]
  return -1
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
  own = folder_of(FILENAME)
  if (height_of(own) < 0) breach("the folder " own " stands on no floor; add it to tests/house/includes.awk")
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
  other = folder_of(target)
  if (other == own) next
  if (own == "cli" && target == "orrery/orrery.h") next
  if (own == "cli" && other !~ /^(base|cost|scenario|store|sweep|report)$/ && height_of(other) >= 0) {
    breach("cli may not include \"" target "\": a verb calls scenario or report, which know engines and formats")
    next
  }
  if (height_of(other) < 0) breach("\"" target "\" stands on no floor")
  else if (height_of(other) >= height_of(own)) breach(own " may not include \"" target "\": it is not on a floor below")
}
in_header && !in_test && /^[ \t]*#[ \t]*include[ \t]*[<"]/ && $0 !~ /[<"]fmt\// && third_party_in($0) {
  breach("third-party headers stay out of .h files (fmt excepted)")
}

{ code = $0; sub(/\/\/.*/, "", code) }
!in_test && own != "cli" && own != "report" && code ~ /std::(cout|cerr|clog)|[^a-z_:n](printf|puts)[ ]*\(|fmt::print[ ]*\(/ {
  breach("only cli/ and report/ print")
}
!in_test && FILENAME != "src/orrery/program/main.cc" && code ~ /(^|[^a-zA-Z_.>])(std::)?(exit|_exit|quick_exit|abort)[ ]*\(/ {
  breach("only program/main.cc ends the program")
}

END {
  close_header()
  exit breaches > 0
}