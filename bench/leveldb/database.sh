# To be sourced. database_for FOLDER prints where db_bench's database goes: to memory if 4 GB are
# free there, else to FOLDER.
database_for() {
  local free_kb
  free_kb=$(df --output=avail /dev/shm 2>/dev/null | tail -1)
  if ((${free_kb:-0} > 4000000)); then echo /dev/shm/coz-leveldb-db; else echo "$1/db"; fi
}
