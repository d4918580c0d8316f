# synthesis.awk: what Yosys's `stat -tech cmos` says of a hierarchy, and `ltp` of its longest path, as a line of the whole, as a table of its
# modules (-v table=1), or as one figure (-v field=um2).

# `\$paramod$HASH\name`, `\$paramod\name\PARAMETER=VALUE`, `name`.
function base(full,   part) {
  if (full !~ /^\$paramod/) return full
  split(full, part, "\\")
  return part[2]
}
function um2(t, b) { return t * 0.798 / 4 + b * 0.45 }

/^=== design hierarchy ===/ { tree = 1; next }
/^=== / { section = $2; modules[++count] = $2; next }
/Longest topological path/ { sub(/.*length=/, ""); sub(/\).*/, ""); levels = $0; next }
tree && /Number of/ { exit }
# Each line has the module's name, indented by its depth, and how often it stands in the one above.
tree && NF == 2 && $2 ~ /^[0-9]+$/ {
  match($0, /[^ ]/)
  depth = RSTART
  times[depth] = $2
  for (above = depth - 1; above > 0 && !(above in times); above--);
  if (above > 0) times[depth] *= times[above]
  for (deeper in times) if (deeper + 0 > depth) delete times[deeper]
  stands[$1] += times[depth]
  next
}
tree { next }
/Number of memory bits:/ { bits[section] = $5 }
/^ +\$_[A-Z0-9_]+_ +[0-9]+$/ {
  if (/DFF/) flops[section] += $2
  else gates[section] += $2
  # Yosys counts 16 for a plain flip-flop and none for the others: enable and reset are 4 more each here.
  if (/_(SDFF|SDFFE|DFFE|SDFFCE)_/) transistors[section] += $2 * (16 + (/DFFE|CE_/ ? 4 : 0) + (/SDFF/ ? 4 : 0))
}
/Estimated number of transistors/ { sub(/\+/, "", $5); transistors[section] += $5 }
END {
  for (i = 1; i <= count; i++) {
    full = modules[i]
    n = tree ? stands[full] : 1
    name = base(full)
    if (!(name in instances)) names[++kinds] = name
    instances[name] += n
    g[name] += n * gates[full]; all_gates += n * gates[full]
    f[name] += n * flops[full]; all_flops += n * flops[full]
    m[name] += n * bits[full]; all_bits += n * bits[full]
    t[name] += n * transistors[full]; all_transistors += n * transistors[full]
  }
  area = um2(all_transistors, all_bits)
  for (i = 2; i <= kinds; i++)  # the largest first
    for (j = i; j > 1 && um2(t[names[j]], m[names[j]]) > um2(t[names[j - 1]], m[names[j - 1]]); j--) {
      name = names[j]
      names[j] = names[j - 1]
      names[j - 1] = name
    }
  if (field == "um2") {
    printf "%.0f\n", area
  } else if (table) {
    printf "%-18s %9s %10s %10s %10s %12s %6s\n", "module, itself", "instances", "gates", "flip-flops", "memory", "um2", "%"
    for (i = 1; i <= kinds; i++) {
      name = names[i]
      printf "%-18s %9d %10d %10d %10d %12.0f %6.1f\n", name, instances[name], g[name], f[name], m[name], um2(t[name], m[name]), \
        100 * um2(t[name], m[name]) / area
    }
    printf "%-18s %9s %10d %10d %10d %12.0f\n", "all", "", all_gates, all_flops, all_bits, area
    printf "of these um2, memories %.0f, flip-flops and gates %.0f\n", um2(0, all_bits), um2(all_transistors, 0)
  } else {
    printf "%-18s %8d %8d %8d %6d %10d %12.0f   %s\n", module, all_gates, all_flops, all_bits, levels, all_transistors, area, parameters
  }
}
