# Sourced. keep_cpus_awake keeps idle CPUs from halting until the script ends, as `coz run --awake` does, for runs without coz and for
# coz as an ordinary user; sets awake to that option where this user may, and to nothing elsewhere.
awake=()
keep_cpus_awake() {
  [[ -w /dev/cpu_dma_latency ]] || return 0
  exec {awake_file}>/dev/cpu_dma_latency
  printf '\0\0\0\0' >&"$awake_file" # at most 0 us, as a 32 bit integer
  awake=(--awake)
}
