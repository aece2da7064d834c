# The programs of compare.py. A function case_NAME runs in an empty folder, without and with coz. What
# it prints and leaves there is compared, so that must not depend on time or chance. The line above
# the function is its title and, in brackets, the commands that it needs.
# shellcheck shell=bash

# Prints some megabytes of text that is the same for both runs.
input() { find /usr/share/perl/5* -name '*.p[ml]' -type f -print0 2>/dev/null | sort -z | xargs -0 cat | head -c "${1:-6000000}"; }
python() { /usr/bin/python3 -c "$1"; }
# Compiles C from standard input to ./$1.
compile() { gcc -O1 -pthread -x c - -o "$1" "${@:2}"; }
wait_for() { for _ in $(seq 200); do "$@" >/dev/null 2>&1 && return; sleep 0.05; done; echo "never: $*" >&2; return 1; }

# xz -T2 [xz]
case_xz() { input >a; xz -T2 --block-size=1MiB -k a; xz -t a.xz; xz -l a.xz; }

# zstd -T2 [zstd]
case_zstd() { input >a; zstd -T2 -q -12 -k a; zstd -q -dc a.zst | cmp - a && echo whole; }

# pbzip2 [pbzip2]
case_pbzip2() { input >a; pbzip2 -p2 -k a; pbzip2 -dc a.bz2 | cmp - a && echo whole; }

# Python: threads, processes, asyncio [/usr/bin/python3]
case_python() {
  python '
import threading, queue, hashlib
q, out = queue.Queue(8), []
def work():
    while (n := q.get()) is not None: out.append((n, hashlib.sha256(b"x" * n * 1000).hexdigest()))
threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads: t.start()
for n in range(400): q.put(n)
for t in threads: q.put(None)
for t in threads: t.join()
print(hashlib.sha256(repr(sorted(out)).encode()).hexdigest())'
  for way in fork spawn forkserver; do python "
import multiprocessing as m
if __name__ == '__main__':
    m.set_start_method('$way')
    with m.Pool(3) as pool: print(sum(pool.map(abs, range(-20000, 0))))"; done
  python '
import subprocess, sys
print(subprocess.run(["tr", "a-z", "A-Z"], input=b"piped\n" * 9999, capture_output=True).stdout.count(b"PIPED"))
for i in range(40): subprocess.run(["true"], check=True, close_fds=True)
print(subprocess.run([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"]).returncode)'
  python '
import asyncio
async def client(port, i):
    r, w = await asyncio.open_connection("127.0.0.1", port)
    w.write(b"%d\n" % i); line = await r.readline(); w.close(); return int(line)
async def main():
    async def serve(r, w): w.write(await r.readline()); await w.drain(); w.close()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    print(sum(await asyncio.gather(*[client(port, i) for i in range(300)])))
    child = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
    print((await child.communicate(b"through cat\n"))[0])
asyncio.run(main())'
}

# ffmpeg, 2 threads [ffmpeg]
case_ffmpeg() {
  ffmpeg -nostdin -hide_banner -loglevel error -threads 2 -f lavfi -i testsrc=size=320x240:rate=25:duration=4 -c:v mpeg4 -bitexact -threads 2 a.avi
  ffmpeg -nostdin -hide_banner -loglevel error -threads 2 -i a.avi -f framemd5 -
}

# redis-server and redis-benchmark [redis-server redis-benchmark]
case_redis() {
  redis-server --port 7391 --save '' --appendonly yes --io-threads 2 --daemonize yes --dir "$PWD" --logfile log >/dev/null
  wait_for redis-cli -p 7391 ping
  redis-benchmark -p 7391 -n 5000 -c 20 -t set,get,lpush -q --csv | cut -d, -f1
  redis-cli -p 7391 set k 5; redis-cli -p 7391 incr k; redis-cli -p 7391 dbsize
  redis-cli -p 7391 bgrewriteaof >/dev/null; redis-cli -p 7391 shutdown; wait_for test ! -e /proc/"$(grep -om1 'pid=[0-9]*' log | cut -d= -f2)"
  grep -c 'ready to exit' log; grep -iE 'crash|fail|error' log | grep -v WARNING; rm -rf log appendonlydir
}

# memcached, 4 threads [memcached]
case_memcached() {
  memcached -u nobody -p 7392 -l 127.0.0.1 -t 4 2>log & server=$!
  python '
import socket, threading, time
def connect():
    while True:
        try: return socket.create_connection(("127.0.0.1", 7392))
        except OSError: time.sleep(0.02)
def load(n):
    s = connect(); f = s.makefile("rwb")
    for i in range(1500):
        f.write(b"set %d-%d 0 0 5\r\nhello\r\nget %d-%d\r\n" % (n, i, n, i)); f.flush()
        assert f.readline() == b"STORED\r\n"
        assert f.readline().startswith(b"VALUE"); assert f.readline() == b"hello\r\n"; assert f.readline() == b"END\r\n"
ts = [threading.Thread(target=load, args=(n,)) for n in range(6)]
for t in ts: t.start()
for t in ts: t.join()
print("answered")'
  kill -INT $server; wait $server; echo "ended with $?"; rm log
}

# nginx, 2 workers, reload [nginx]
case_nginx() {
  input 40000 >page.txt
  echo "daemon off; worker_processes 2; pid nginx.pid; error_log stderr crit; events { worker_connections 64; }
http { access_log off; gzip on; gzip_types text/plain; types { text/plain txt; } server { listen 127.0.0.1:7393; root $PWD; } }" >c
  nginx -p "$PWD" -c "$PWD/c" -g 'user root;' & server=$!
  fetch() { python '
import urllib.request, gzip
for i in range(150):
    r = urllib.request.Request("http://127.0.0.1:7393/page.txt", headers={"Accept-Encoding": "gzip"})
    body = gzip.decompress(urllib.request.urlopen(r).read())
print(len(body))'; }
  wait_for bash -c ': </dev/tcp/127.0.0.1/7393'
  fetch; kill -HUP $server; fetch; kill -QUIT $server; wait $server; echo "ended with $?"; rm -f c
}

# PostgreSQL and pgbench, 4 clients [/usr/lib/postgresql/15/bin/postgres runuser]
case_postgresql() {
  local bin=/usr/lib/postgresql/15/bin data; data=$(mktemp -d /tmp/coz-pg.XXXXXX); chown postgres "$data"
  as() { (cd /; runuser -u postgres -- "$@"); }
  as $bin/initdb -D "$data/d" --no-sync -A trust >/dev/null
  as $bin/pg_ctl -D "$data/d" -w -s -l "$data/log" -o "-p 7394 -k $data -c fsync=off -c autovacuum=off" start
  as $bin/pgbench -h "$data" -p 7394 -i -q postgres 2>/dev/null
  as $bin/pgbench -h "$data" -p 7394 -c 4 -j 2 -t 250 postgres 2>&1 | grep -E 'processed|failed'
  as $bin/psql -h "$data" -p 7394 -Atc 'select count(*) from pgbench_history; set force_parallel_mode=on; select sum(aid) from pgbench_accounts' postgres
  as $bin/pg_ctl -D "$data/d" -w -s -m fast stop; echo "ended with $?"
  grep -E 'ERROR|PANIC|terminated' "$data/log"; rm -rf "$data"
}

# node: worker_threads, child_process, crypto pool [node]
case_node() {
  cat >w.js <<'JS'
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
if (isMainThread) {
  let sum = 0, left = 4;
  for (let i = 0; i < 4; i++) new Worker(__filename, { workerData: i }).on('message', m => { sum += m; if (!--left) console.log('sum', sum); });
  const c = require('crypto');
  let n = 0;
  for (let i = 0; i < 8; i++) c.pbkdf2('x', 's', 20000, 32, 'sha256', (e, k) => { if (++n == 8) console.log(k.toString('hex')); });
  process.on('exit', () => console.log(require('child_process').execSync('echo child; exit 0').toString().trim()));
} else { let s = 0; for (let i = 0; i < 3e6; i++) s = (s * 31 + i + workerData) % 65537; parentPort.postMessage(s); }
JS
  node w.js | sort
}

# Java: threads, collector, its own signals [java javac]
case_java() {
  cat >T.java <<'JAVA'
import java.util.concurrent.*;
class T { public static void main(String[] a) throws Exception {
  var pool = Executors.newFixedThreadPool(4); var parts = new java.util.ArrayList<Future<Long>>();
  for (int i = 0; i < 40; i++) { final int n = i; parts.add(pool.submit(() -> { long s = n; for (int k = 0; k < 200000; k++) s = s * 31 + new int[8].length; return s; })); }
  long sum = 0; for (var p : parts) sum += p.get(); pool.shutdown(); System.out.println(sum);
  try { Object o = null; o.hashCode(); } catch (NullPointerException e) { System.out.println("null"); }
  try { deep(0); } catch (StackOverflowError e) { System.out.println("overflow"); }
  System.out.println(new String(new ProcessBuilder("echo", "child").start().getInputStream().readAllBytes()).trim()); System.exit(3); }
  static int deep(int n) { return deep(n + 1) + 1; } }
JAVA
  javac T.java && java -Xmx64m T; echo "status $?"; rm -f ./*.class
}

# git: init, commit, repack with threads, gc, clone [git]
case_git() {
  export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z' HOME=$PWD
  git -c init.defaultBranch=main init -q r; cd r || return
  git config user.email a@b; git config user.name n; git config pack.threads 1
  for i in $(seq 20); do input $((i * 3000)) >"f$i"; git add . ; git commit -qm "$i"; done
  git gc -q; git fsck --no-progress; git clone -q . ../c; git -C ../c log --format=%H | tail -1; git grep -c sub | head -3
  cd ..; rm -rf r c
}

# make -j2 with gcc [make gcc]
case_make() {
  for i in $(seq 12); do echo "int f$i(int x) { return x * $i; }" >"f$i.c"; done
  echo 'int main(void) { return 0; }' >main.c
  printf 'all: p\np: $(patsubst %%.c,%%.o,$(wildcard *.c))\n\t@gcc -o $@ $^\n%%.o: %%.c\n\t@gcc -O2 -c -o $@ $<\n' >Makefile
  make -s -j2; ./p; echo "made $?"; make -s -j2 -k nonsense 2>&1; echo "status $?"
}

# Go, static [go]
case_go() {
  echo 'package main
import ("fmt"; "sync")
func main() { var w sync.WaitGroup; var m sync.Mutex; n := 0
 for i := 0; i < 100; i++ { w.Add(1); go func() { defer w.Done(); for k := 0; k < 1000; k++ { m.Lock(); n++; m.Unlock() } }() }
 w.Wait(); fmt.Println(n) }' >a.go
  HOME=$PWD GOCACHE=$PWD/cache GOFLAGS=-trimpath CGO_ENABLED=0 go build -o p a.go && ./p; echo "status $?"; rm -rf p cache
}

# Go with cgo: its own stacks and signals [go gcc]
case_cgo() {
  echo 'package main
// #include <unistd.h>
// static int twice(int x) { usleep(10); return 2 * x; }
import "C"
import "fmt"
func main() { c := make(chan int)
 for i := 0; i < 50; i++ { go func(i int) { s := 0; for k := 0; k < 300; k++ { s += int(C.twice(C.int(i))) }; c <- s }(i) }
 s := 0; for i := 0; i < 50; i++ { s += <-c }; fmt.Println(s)
 defer func() { fmt.Println(recover() != nil) }(); var p *int; fmt.Println(*p) }' >a.go
  HOME=$PWD GOCACHE=$PWD/cache GOFLAGS=-trimpath go build -o p a.go && ./p; echo "status $?"; rm -rf p cache
}

# rustc, and what it made: threads, channels, a panic [/root/.cargo/bin/rustc]
case_rust() {
  echo 'use std::{sync::{mpsc, Arc, Mutex}, thread};
fn main() { let (tx, rx) = mpsc::channel(); let total = Arc::new(Mutex::new(0u64));
 for i in 0..8u64 { let (tx, total) = (tx.clone(), total.clone()); thread::spawn(move || { for k in 0..2000 { *total.lock().unwrap() += k; tx.send(i * k).unwrap(); } }); }
 drop(tx); let s: u64 = rx.iter().sum(); println!("{s} {}", total.lock().unwrap());
 let e = thread::Builder::new().stack_size(65536).spawn(|| panic!("meant")).unwrap().join().is_err(); println!("{e}"); std::process::exit(7) }' >a.rs
  /root/.cargo/bin/rustc -O a.rs && { ./a; echo "status $?"; } 2>&1 | sed -E 's/ \([0-9]+\) panicked/ panicked/'; rm -f a
}

# gdb and a program in it [gdb gcc]
case_gdb() {
  echo 'int f(int x) { return x + 1; } int main(void) { int s = 0; for (int i = 0; i < 100; i++) s = f(s); return s == 100 ? 0 : 1; }' | compile p -g -O0
  gdb -q -batch -nx -ex 'set startup-with-shell off' -ex 'break f if x == 50' -ex run -ex 'print x' -ex continue ./p 2>&1 |
    grep -vE 'process|libthread_db|Breakpoint 1 at|debuginfod'
  rm p
}

# strace of a program [strace]
case_strace() { strace -f -e trace=execve -o /dev/null sh -c 'echo traced; exit 5'; echo "status $?"; }

# setuid and other privileges: su, runuser, mount [su runuser]
case_setuid() {
  su nobody -s /bin/sh -c 'id -un; id -G'; runuser -u nobody -- sh -c 'passwd -S nobody 2>&1 | cut -c1-20; umask'
  cp "$(command -v id)" setuid-id; chmod 4755 setuid-id; chown nobody setuid-id; chmod 4755 setuid-id; ./setuid-id -un; rm setuid-id
  setpriv --reuid=65534 --clear-groups --no-new-privs id -un
}

# bash: jobs, traps, pipelines, process substitution, here documents [bash]
case_bash() {
  bash -c 'trap "echo got USR1" USR1; trap "echo leaving" EXIT; kill -USR1 $$; cat <(seq 3) <(seq 4 5) | paste -sd,
    for i in 1 2 3; do (sleep 0.1; exit $i) & done; for j in $(jobs -p); do wait $j; echo "job $?"; done
    set -o pipefail; yes | head -1; echo "pipe $?"; coproc { cat; }; echo via >&${COPROC[1]}; read -u ${COPROC[0]} x; echo $x
    ulimit -n; ulimit -s; exit 9'
  echo "status $?"; { bash -c 'kill -SEGV $$'; echo "status $?"; } 2>/dev/null; timeout 0.2 sleep 5; echo "status $?"
  bash -ic 'set -m; sleep 0.2 & fg >/dev/null; echo fg $?' 2>/dev/null
}

# Limits: 64 descriptors, 10,000 descriptors, RLIMIT_AS, RLIMIT_NPROC, RLIMIT_FSIZE [/usr/bin/python3]
case_limits() {
  (ulimit -n 64; python '
import os
n = 0
try:
    while True: os.open("/dev/null", os.O_RDONLY); n += 1
except OSError as e: print(n, e.errno)')
  (ulimit -n 12000 2>/dev/null; python '
import os
first = os.open("/dev/null", os.O_RDONLY); fds = [os.open("/dev/null", os.O_RDONLY) for _ in range(10000)]
print(first, fds[-1] - fds[0], os.listdir("/proc/self/fd")[-2:] and max(fds)); os.closerange(3, 20000); print(os.open("/dev/null", os.O_RDONLY))')
  (ulimit -v 300000; python 'import threading
t = [threading.Thread(target=lambda: sum(range(10000))) for _ in range(5)]; [x.start() for x in t]; [x.join() for x in t]; print("ok")
try: bytearray(1 << 30)
except MemoryError: print("no memory")')
  (ulimit -f 4; python 'import signal
signal.signal(signal.SIGXFSZ, lambda *a: print("too large"))
try: open("f", "wb", buffering=0).write(b"x" * 9000)
except OSError as e: print(e.errno)
')
  (ulimit -s 256; xz -T2 -c /bin/true | xz -dc | cmp - /bin/true && echo small stack)
  (ulimit -s unlimited; xz -T2 -c /bin/true | xz -dc | cmp - /bin/true && echo unlimited stack)
  (ulimit -l 0; ulimit -i 0; ulimit -q 0; python 'import threading; t = threading.Thread(target=print, args=("no locked memory, no pending signals",)); t.start(); t.join()')
}

# Odd surroundings: deleted folder, names that are not UTF-8, closed standard streams, no /dev/shm, read-only /tmp [unshare /usr/bin/python3]
case_surroundings() {
  (mkdir gone; cd gone; rmdir ../gone; xz -T2 -c /bin/true | xz -dc | cmp - /bin/true && echo deleted; python 'import os
try: os.getcwd()
except FileNotFoundError: print("gone")')
  printf 'x' >"$(printf 'f\377\xfe')"; python 'import os, sys; print(os.listdir(b"."))'; /usr/bin/python3 -c 'import os, sys; print(os.fsencode(sys.argv[1]))' "$(printf 'a\377b')"; rm -f f*
  (exec <&-; cat; echo "no input $?"); (exec >&-; echo x; true); sh -c 'exec 0<&- 1>&- 2>&-; exec /usr/bin/python3 -c "import os; os._exit(os.open(\"/dev/null\", 0))"'; echo "first descriptor $?"
  unshare -m sh -c 'mount -o remount,ro,bind /tmp 2>/dev/null || { mount --bind /tmp /tmp && mount -o remount,ro,bind /tmp; }; xz -T2 -c /bin/true | xz -dc | cmp - /bin/true && echo read-only'
  unshare -m sh -c 'umount -l /dev/shm; mount -t tmpfs none /proc 2>/dev/null && sh -c "echo without /proc"'
  unshare -pf --mount-proc sh -c 'echo "pid $$"; xz -T2 -c /bin/true | xz -dc | cmp - /bin/true && echo pid namespace'
  unshare -n sh -c 'cat /proc/net/dev | wc -l'; unshare -Ur id -un; chroot / sh -c 'echo chroot'
  env -i /bin/sh -c 'env | cut -d= -f1 | sort | paste -sd,'; printenv | cut -d= -f1 | grep -vE '^(COZ_|LD_PRELOAD|BASH_FUNC)' | sort | paste -sd,
}

# jemalloc and tcmalloc preloaded [/usr/lib/x86_64-linux-gnu/libjemalloc.so.2 /usr/lib/x86_64-linux-gnu/libtcmalloc.so.4]
case_allocators() {
  for library in libjemalloc.so.2 libtcmalloc.so.4; do
    LD_PRELOAD="/usr/lib/x86_64-linux-gnu/$library${LD_PRELOAD:+:$LD_PRELOAD}" python 'import threading, os
def f():
    for i in range(2000): x = [bytes(i) for i in range(50)]
t = [threading.Thread(target=f) for _ in range(4)]; [x.start() for x in t]; [x.join() for x in t]
print("'$library'" in open("/proc/self/maps").read(), os.waitstatus_to_exitcode(os.wait()[1]) if os.fork() else os._exit(4))'
  done
}

# Stopped and continued; a terminal; background process group [setsid script /usr/bin/python3]
case_job_control() {
  python 'import os, signal, time, subprocess
p = subprocess.Popen(["xz", "-T2", "-c", "/usr/bin/gdb"], stdout=open("o", "wb"))
for i in range(4):
    time.sleep(0.1); p.send_signal(signal.SIGSTOP); s = os.waitpid(p.pid, os.WUNTRACED)[1]
    if not os.WIFSTOPPED(s): break
    time.sleep(0.05); p.send_signal(signal.SIGCONT)
    if i == 0: print(os.WIFCONTINUED(os.waitpid(p.pid, os.WCONTINUED)[1]))
print(p.wait())'
  xz -dc o | cmp - /usr/bin/gdb && echo whole; rm -f o
  script -qec 'tty -s && echo terminal; stty size; ps -o pgid= -p $$ >/dev/null; sh -c "kill -TSTP 0 & wait" </dev/null >/dev/null 2>&1; echo on' /dev/null </dev/null | tr -d '\r' | head -3
  setsid -w sh -c 'echo session; exit 6'; echo "status $?"; nohup sh -c 'echo nohup' 2>/dev/null
}

# SIGTRAP, SIGPROF, timers, alternate stacks, thread stacks of 16 KiB and 512 MiB, 2,000 threads [gcc]
case_signals() {
  compile p <<'C'
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
static volatile int traps, profs; static sigjmp_buf back;
static void trap(int s, siginfo_t* i, void* c) { (void)s; (void)c; traps += i->si_code == SI_KERNEL || i->si_code == SI_TKILL; }
static void prof(int s) { (void)s; profs++; }
static void segv(int s) { (void)s; siglongjmp(back, 1); }
static void* spin(void* a) { volatile unsigned long x = 1; for (unsigned long i = 0; i < (unsigned long)a; ++i) x = x * 3 + i; return 0; }
static int overflow(int n) { volatile char b[4096]; memset((char*)b, n, sizeof b); return overflow(n + 1) + b[7]; }
int main(void) {
  struct sigaction a = {.sa_sigaction = trap, .sa_flags = SA_SIGINFO}, old;
  sigaction(SIGTRAP, 0, &old); printf("default %d\n", old.sa_handler == SIG_DFL);
  sigaction(SIGTRAP, &a, 0); __asm__("int3"); raise(SIGTRAP); printf("traps %d\n", traps);
  signal(SIGPROF, prof); struct itimerval t = {{0, 1000}, {0, 1000}}; setitimer(ITIMER_PROF, &t, 0);
  while (profs < 20) spin((void*)100000); t = (struct itimerval){{0, 0}, {0, 0}}; setitimer(ITIMER_PROF, &t, 0); puts("profs");
  size_t sizes[] = {PTHREAD_STACK_MIN, 65536, 512u << 20};
  for (int k = 0; k < 3; ++k) { pthread_attr_t at; pthread_attr_init(&at); pthread_attr_setstacksize(&at, sizes[k]); pthread_t th[8];
    for (int i = 0; i < 8; ++i) if (pthread_create(&th[i], &at, spin, (void*)3000000)) puts("no thread");
    for (int i = 0; i < 8; ++i) pthread_join(th[i], 0); printf("stack %zu\n", sizes[k]); }
  static pthread_t many[2000]; pthread_attr_t at; pthread_attr_init(&at); pthread_attr_setstacksize(&at, 65536);
  int made = 0; for (int i = 0; i < 2000; ++i) made += !pthread_create(&many[i], &at, spin, (void*)20000);
  for (int i = 0; i < made; ++i) pthread_join(many[i], 0);
  printf("threads %d\n", made);
  stack_t st = {.ss_sp = malloc(65536), .ss_size = 65536}; sigaltstack(&st, 0);
  struct sigaction v = {.sa_handler = segv, .sa_flags = SA_ONSTACK}; sigaction(SIGSEGV, &v, 0);
  if (!sigsetjmp(back, 1)) printf("%d\n", overflow(0)); else puts("overflow caught");
  sigset_t all, was; sigfillset(&all); sigprocmask(SIG_SETMASK, &all, &was); sigprocmask(SIG_SETMASK, 0, &was);
  printf("masked %d %d\n", sigismember(&was, SIGTRAP), sigismember(&was, SIGPROF)); fflush(stdout);
  spin((void*)3000000); signal(SIGTRAP, SIG_DFL); sigprocmask(SIG_UNBLOCK, &all, 0); raise(SIGTRAP); return 0; }
C
  { ./p; echo "status $?"; } 2>&1 | sed -E 's/: +[0-9]+ Trace/: Trace/'; rm p
}

# seccomp: strict, and a filter that kills on all but a few calls [gcc]
case_seccomp() {
  compile p <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#define ALLOW(n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, n, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
static void work(void) { volatile unsigned long x = 1; for (unsigned long i = 0; i < 60000000; ++i) x = x * 3 + i; }
int main(int argc, char** argv) { (void)argc;
  if (!strcmp(argv[1], "strict")) { prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT); work(); write(1, "strict\n", 7); syscall(SYS_exit, 3); }
  struct sock_filter f[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)), ALLOW(SYS_write), ALLOW(SYS_exit_group), ALLOW(SYS_rt_sigreturn),
    BPF_STMT(BPF_RET | BPF_K, argv[1][0] == 'k' ? SECCOMP_RET_KILL_PROCESS : (SECCOMP_RET_ERRNO | EPERM))};
  struct sock_fprog p = {sizeof f / sizeof *f, f};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p); work();
  write(1, "filtered\n", 9); if (argv[1][0] == 'e') { if (getpgid(0) < 0 && errno == EPERM) write(1, "EPERM\n", 6); } _exit(4); }
C
  { for way in strict kill errno; do ./p $way; echo "status $?"; done; } 2>/dev/null; rm p
}

# io_uring by system call, vfork, clone, closefrom, daemon, dlopen [gcc]
case_kernel() {
  compile p <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static int uring(void) { struct io_uring_params p; memset(&p, 0, sizeof p); int fd = syscall(SYS_io_uring_setup, 8, &p); if (fd < 0) return -1;
  char* sq = mmap(0, p.sq_off.array + p.sq_entries * 4, 3, MAP_SHARED, fd, IORING_OFF_SQ_RING), *cq = mmap(0, p.cq_off.cqes + p.cq_entries * 16, 3, MAP_SHARED, fd, IORING_OFF_CQ_RING);
  struct io_uring_sqe* e = mmap(0, p.sq_entries * sizeof *e, 3, MAP_SHARED, fd, IORING_OFF_SQES); int ok = 0;
  for (int i = 0; i < 20000; ++i) { unsigned tail = *(unsigned*)(sq + p.sq_off.tail), m = *(unsigned*)(sq + p.sq_off.ring_mask); memset(&e[tail & m], 0, sizeof *e); e[tail & m].opcode = IORING_OP_NOP; e[tail & m].user_data = i;
    ((unsigned*)(sq + p.sq_off.array))[tail & m] = tail & m; atomic_store((_Atomic unsigned*)(sq + p.sq_off.tail), tail + 1);
    if (syscall(SYS_io_uring_enter, fd, 1, 1, IORING_ENTER_GETEVENTS, 0, 0) != 1) return -2;
    unsigned head = *(unsigned*)(cq + p.cq_off.head); struct io_uring_cqe* c = (void*)(cq + p.cq_off.cqes); ok += c[head & *(unsigned*)(cq + p.cq_off.ring_mask)].user_data == (unsigned)i; atomic_store((_Atomic unsigned*)(cq + p.cq_off.head), head + 1); }
  close(fd); return ok; }
static int child(void* a) { (void)a; volatile unsigned long x = 1; for (unsigned long i = 0; i < 20000000; ++i) x = x * 3 + i; return 21; }
static void work(void) { child(0); }
int main(void) { int s; printf("uring %d\n", uring()); fflush(stdout);
  for (int i = 0; i < 50; ++i) { pid_t p = vfork(); if (!p) { if (i % 2) _exit(i); execl("/bin/true", "true", (char*)0); _exit(99); } waitpid(p, &s, 0); if (WEXITSTATUS(s) != (i % 2 ? i : 0)) printf("vfork %d %d\n", i, s); }
  static char stack[1 << 16]; pid_t p = clone(child, stack + sizeof stack, SIGCHLD, 0); waitpid(p, &s, 0); printf("clone %d\n", WEXITSTATUS(s)); fflush(stdout);
  p = syscall(SYS_fork); if (!p) { work(); _exit(12); } waitpid(p, &s, 0); printf("raw fork %d\n", WEXITSTATUS(s)); fflush(stdout);
  int fds[2]; if (pipe(fds)) return 1; printf("descriptors %d %d\n", fds[0], fds[1]); fflush(stdout);
  p = fork(); if (!p) { closefrom(3); work(); _exit(open("/dev/null", 0)); } waitpid(p, &s, 0); printf("closefrom %d\n", WEXITSTATUS(s)); fflush(stdout);
  p = fork(); if (!p) { for (int i = 3; i < 1024; ++i) close(i); work(); _exit(dup(2)); } waitpid(p, &s, 0); printf("close all %d\n", WEXITSTATUS(s)); fflush(stdout);
  p = fork(); if (!p) { if (daemon(1, 1)) _exit(1); work(); close(fds[0]); write(fds[1], "daemon\n", 7); _exit(0); } waitpid(p, &s, 0); close(fds[1]); char b[99]; ssize_t n = 0, k; while ((k = read(fds[0], b + n, 90)) > 0) n += k; b[n] = 0; printf("%s", b);
  return 0; }
C
  ./p; echo "status $?"; rm p
}
