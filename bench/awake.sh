# To be sourced. keep_cpus_awake keeps idle CPUs from halting until the script ends, as `coz run
# --awake` does. It is for runs without coz and for coz as an ordinary user. Where the user may do
# this, it sets `awake` to that option, else to nothing.
awake=()
keep_cpus_awake() {
  [[ -w /dev/cpu_dma_latency ]] || return 0
  # Nothing heeds the request where idle CPUs have no driver.
  if grep -qs '^none$' /sys/devices/system/cpu/cpuidle/current_driver; then return 0; fi
  exec {awake_file}>/dev/cpu_dma_latency
  printf '\0\0\0\0' >&"$awake_file" # at most 0 us, as a 32 bit integer
  awake=(--awake)
}
