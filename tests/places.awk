# awk -f places.awk OUTPUT: what is left of printed messages without their words: severities and codes, places, and the
# carets under them.
/^(error|warning|note)\[O[0-9][0-9][0-9][0-9]\]/ {
  print substr($0, 1, index($0, "]"))
  next
}
/^ *(-->|:::) / { print; next }
/^ *\| *[\^-]/ {
  match($0, /^ *\| *[\^-]+/)
  print substr($0, 1, RLENGTH)
}
