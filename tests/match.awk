# awk -f match.awk EXPECTED ACTUAL: compares line by line. In EXPECTED, `...` within a line stands for any
# text, and a line that is only `...` for any number of lines. Prints the first line that finds no
# partner and exits with 1. Greedy with one point of return, as for file globs: O(lines x lines).

function fits(pattern, text,   parts, count, i, at) {
  if (index(pattern, "...") == 0) return pattern == text
  count = split(pattern, parts, /\.\.\./)
  if (substr(text, 1, length(parts[1])) != parts[1]) return 0
  text = substr(text, length(parts[1]) + 1)
  for (i = 2; i < count; i++) {
    if (parts[i] == "") continue
    at = index(text, parts[i])
    if (!at) return 0
    text = substr(text, at + length(parts[i]))
  }
  return length(text) >= length(parts[count]) && substr(text, length(text) - length(parts[count]) + 1) == parts[count]
}

FILENAME == ARGV[1] { expected[++wanted] = $0; next }
{ actual[++given] = $0 }

END {
  e = a = 1
  furthest = 1
  while (a <= given) {
    if (e <= wanted && expected[e] == "...") {
      star = e++
      resume = a
      continue
    }
    if (e <= wanted && fits(expected[e], actual[a])) {
      e++
      a++
      if (e > furthest) furthest = e
      continue
    }
    if (!star) break
    e = star + 1
    a = ++resume
  }
  while (e <= wanted && expected[e] == "...") e++
  if (a > given && e > wanted) exit 0
  if (star && furthest > e) e = furthest
  if (e <= wanted) printf "no line fits: %s\n", expected[e]
  else printf "not expected: %s\n", actual[a]
  exit 1
}
