"""Slurm and Dask on this machine alone, with hosts that can die: each is a process namespace, and so dies as a whole."""
import os
import pathlib
import secrets
import signal
import socket
import subprocess
import time

HOSTS = ("host1", "host2")
_PYTHON = "/usr/bin/python3"  # Debian's, which has Debian's Dask


class Failed(Exception):
    """What was tried, what was seen, and what to type next: one sentence."""


def install(packages):
    """Debian packages, by name, where they are missing."""
    shown = subprocess.run(["dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status}\n", *packages],
                           capture_output=True, text=True, check=False).stdout
    missing = [package for package in packages if f"{package} installed\n" not in shown]
    if not missing:
        return
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing]
    if os.getuid() != 0:
        raise Failed("packages are missing, and you are not root; run: sudo " + " ".join(command))
    print("installing", *missing, flush=True)
    # Of the runlevel for single users: their services are not started.
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    for part in (["apt-get", "update", "-qq"], command):
        subprocess.run(part, env=environment, stdout=subprocess.DEVNULL, check=True)


def wait_until(is_true, limit_s, what):
    """Looks every 50 ms whether `is_true()`; Failed after `limit_s` seconds."""
    deadline = time.monotonic() + limit_s
    while not is_true():
        if time.monotonic() > deadline:
            raise Failed(f"{what} took more than {limit_s} s; read the logs with --keep")
        time.sleep(0.05)


def free_port():
    """Of the loopback. Another program may take it before it is used; run again then."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Engine:
    """Daemons of an engine. `environment` is for its commands; use as a context manager, which ends them all."""
    packages = ()

    def __init__(self, folder, environment):
        self.folder = pathlib.Path(folder)
        self.environment = dict(environment)
        self._running = {}

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_):
        self._end()

    def kill(self, name):
        """Of a host, everything that runs there."""
        process = self._running.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def _run(self, name, *command, **more):
        # Its output is a file's, so that no reader waits for a killed one's children.
        with open(self.folder / f"{name}.log", "ab") as log:
            self._running[name] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                   env={**self.environment, **more})

    def _run_host(self, name, *command):
        # The kernel kills all of a process namespace with its first process, and that with `unshare`.
        self._run(name, "unshare", "--pid", "--fork", "--kill-child", "--mount-proc", *command, FLEET_NODE=name)

    def _end(self):
        for name in reversed(list(self._running)):
            self.kill(name)

    def _start(self):
        raise NotImplementedError


class Slurm(Engine):
    """slurmctld, munged, and a slurmd for each host."""
    packages = ("slurmctld", "slurmd", "slurm-client", "munge")

    def merge_command(self, examples, output, folder, fan):
        """What merges the profiles of a folder, with its environment."""
        return [examples / "slurm_merge.sh", output, folder], {"FAN": str(fan)}

    def _start(self):
        self.folder.chmod(0o711)  # munged insists that all may reach its socket
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o400)
        configuration = self.folder / "slurm.conf"
        configuration.write_text(self._configuration(), encoding="utf-8")
        self.environment["SLURM_CONF"] = str(configuration)
        self._run("munged", "munged", "--foreground", "--num-threads=10", f"--key-file={key}",
                  *(f"--{kind}={self.folder}/munge.{kind}" for kind in ("socket", "pid-file", "log-file", "seed-file")))
        wait_until((self.folder / "munge.socket").exists, 20, "the start of munged")
        (self.folder / "state").mkdir()
        self._run("slurmctld", "slurmctld", "-D", "-f", configuration)
        for host in HOSTS:
            (self.folder / f"spool.{host}").mkdir()
            self._run_host(host, "slurmd", "-D", "-N", host, "-f", configuration)
        wait_until(lambda: self._states().count("idle") == len(HOSTS), 60, "the start of Slurm")

    def _states(self):
        return subprocess.run(["sinfo", "--noheader", "--Node", "--format=%T"], env=self.environment, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.split()

    def _configuration(self):
        name = socket.gethostname().split(".")[0]
        ports = ",".join(str(free_port()) for _ in HOSTS)
        return f"""ClusterName=fleet
SlurmctldHost={name}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
# A task of a host that died waits until its credential has expired.
AuthInfo=socket={self.folder}/munge.socket,cred_expire=5
SlurmctldPort={free_port()}
StateSaveLocation={self.folder}/state
SlurmdSpoolDir={self.folder}/spool.%n
SlurmctldPidFile={self.folder}/slurmctld.pid
SlurmdPidFile={self.folder}/slurmd.%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdTimeout=5
# Nodes and jobs are few, so that Slurm may look for room at once.
SchedulerParameters=sched_min_interval=1,batch_sched_delay=0
MpiDefault=none
SlurmdParameters=config_overrides
NodeName={",".join(HOSTS)} NodeHostname={name} NodeAddr=127.0.0.1 Port={ports} CPUs=2
PartitionName=all Nodes=ALL Default=YES State=UP
"""


class Dask(Engine):
    """A scheduler, and a worker with two threads on each host."""
    packages = ("python3-distributed",)

    def merge_command(self, examples, output, folder, fan):
        """What merges the profiles of a folder, with its environment."""
        return [_PYTHON, examples / "dask_merge.py", f"--scheduler={self._address}", f"--coz={self.environment['COZ']}",
                f"--fan={fan}", output, folder], {}

    def _start(self):
        port = free_port()
        self._address = f"tcp://127.0.0.1:{port}"
        self._run("scheduler", _PYTHON, "-m", "distributed.cli.dask_scheduler", "--host=127.0.0.1", f"--port={port}",
                  "--no-dashboard", "--no-show")
        for host in HOSTS:
            self._run_host(host, _PYTHON, "-m", "distributed.cli.dask_worker", self._address, "--nthreads=2", "--no-nanny",
                           "--no-dashboard", f"--name={host}", f"--local-directory={self.folder}/{host}")
        wait_until(lambda: self._workers() == len(HOSTS), 90, "the start of Dask")

    def _workers(self):
        log = self.folder / "scheduler.log"
        return log.read_text(errors="replace").count("Register worker")


ENGINES = {"slurm": Slurm, "dask": Dask}
