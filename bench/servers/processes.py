"""Programs that the bench starts: each is bounded in time, and none is left behind.

A program gets a process group of its own, so that its children can be ended with it. Below coz (session.py) it stays
in the group of coz, which the bench outside ends as a whole. All stay in one terminal session: the kernel shares the
CPUs out by session first, and a program that is alone in its session gets another part than one that is not.
"""
import os
import signal
import subprocess
import time

_groups = set()
own_groups = True


class Failed(Exception):
    """What was tried, what was seen, and what to type next: one sentence."""


# Of one server, which leaves the others to be measured: also a connection that is refused, or a compiler that fails.
FAILURES = (Failed, OSError, subprocess.SubprocessError)


def start(command, log, **options):
    """Starts `command`, whose output goes to the file `log`."""
    with open(log, "wb") as output:
        process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT, process_group=0 if own_groups else None, **options)
    if own_groups:
        _groups.add(process.pid)
    return process


def run(command, limit_s, log, **options):
    """Runs `command` to its end and returns its output; Failed after `limit_s` seconds or where it fails."""
    process = start(command, log, **options)
    try:
        status = process.wait(limit_s)
    except subprocess.TimeoutExpired:
        raise Failed("%s ran for more than %.0f s and was ended; read %s" % (command[0], limit_s, log)) from None
    finally:
        end(process, signal.SIGTERM, 5)
    if status != 0:
        raise Failed("%s ended with status %d; read %s" % (" ".join(map(str, command[:3])), status, log))
    with open(log, encoding="utf-8", errors="replace") as output:
        return output.read()


def end(process, by_signal, patience_s):
    """Ends a program by a signal, and with it, after `patience_s` seconds, all that it has left behind."""
    if process.poll() is None:
        process.send_signal(by_signal)
        try:
            process.wait(patience_s)
        except subprocess.TimeoutExpired:
            process.kill()
    if process.pid in _groups:
        _end_group(process.pid)
    process.wait()


def end_all():
    """Ends whatever still runs, at once."""
    for group in list(_groups):
        _end_group(group)


def _end_group(group):
    _groups.discard(group)
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def descendants(root):
    """The processes that descend from `root`, without those that run the same program, as its helpers do."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            children.setdefault(_parent(int(name)), []).append(int(name))
    found, left = [], [root]
    while left:
        new = children.get(left.pop(), [])
        found += new
        left += new
    program = _program(root)
    return [pid for pid in found if _program(pid) != program]


def _parent(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as stat:
            return int(stat.read().rpartition(")")[2].split()[1])
    except OSError:
        return 0  # it has ended


def _program(pid):
    try:
        return os.readlink("/proc/%d/exe" % pid)
    except OSError:
        return ""


def cpu_times(pids):
    """By process: the CPU time of all its threads, in user code and in the kernel, to the ns. Those that have ended are left out."""
    times = {}
    for pid in pids:
        try:
            times[pid] = time.clock_gettime(~pid << 3 | 2)  # CPUCLOCK_SCHED of a process
        except OSError:
            pass
    return times


def wait_until(is_true, limit_s, what):
    """Looks every 20 ms whether `is_true()`; Failed after `limit_s` seconds."""
    deadline = time.monotonic() + limit_s
    while not is_true():
        if time.monotonic() > deadline:
            raise Failed("%s has not happened within %.0f s" % (what, limit_s))
        time.sleep(0.02)
