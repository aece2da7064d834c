"""The servers that attach.py attaches to: how each is started and asked, and what of it may not change."""
import hashlib
import pathlib
import re
import signal
import socket
import subprocess
import time

import processes
import servers


class Target:
    name = ""
    packages = ()
    program = ""   # the file that the attached process runs
    function = ""  # counted; exported by the program, which is stripped
    point = ""     # how coz is told of it, where not by its name
    coz_options = ("--unit=function",)
    stop_signal = signal.SIGTERM

    def __init__(self, folder):
        self.folder = pathlib.Path(folder) / self.name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port = servers.free_port()
        self.pid = 0  # of the process that is attached to
        self._server = None

    def command(self):
        raise NotImplementedError

    def connect(self, timeout_s):
        raise NotImplementedError

    def __enter__(self):
        self._server = processes.start(self.command(), self.folder / "server.log")
        for _ in range(500):
            try:
                client = self.connect(1)
                client.ask("0")
                client.close()
                break
            except (OSError, ValueError):  # or it is not ready yet
                time.sleep(0.02)
        else:
            raise processes.Failed("%s does not answer; read %s" % (self.name, self.folder / "server.log"))
        self.pid = self.worker(self._server.pid)
        return self

    def __exit__(self, *_):
        processes.end(self._server, self.stop_signal, 10)

    def worker(self, pid):
        return pid

    def _status(self, folder):
        return dict(line.split(":\t", 1) for line in (folder / "status").read_text().splitlines() if ":\t" in line)

    def _address(self):
        """Where the counted function is: its symbol's value behind the program's first mapping."""
        symbols = subprocess.run(["readelf", "--dyn-syms", "--wide", self.program], capture_output=True, text=True,
                                 check=True).stdout
        value = re.search(r"^\s*\d+: ([0-9a-f]+)\s.*\s%s(?:@.*)?$" % re.escape(self.function), symbols, re.M)
        if not value:
            raise processes.Failed("%s exports no %s" % (self.program, self.function))
        with open("/proc/%d/maps" % self.pid, encoding="utf-8") as maps:
            begin = next(line.split("-")[0] for line in maps if line.rstrip().endswith(self.program))
        header = pathlib.Path(self.program).read_bytes()[16:18]
        return int(value[1], 16) + (int(begin, 16) if header == b"\x03\x00" else 0)

    def state(self):
        """What has to be the same afterwards."""
        process = pathlib.Path("/proc/%d" % self.pid)
        status = self._status(process)
        with open(process / "mem", "rb") as memory:
            memory.seek(self._address())
            code = memory.read(64).hex()
        # Connections of clients come and go.
        links = [link.readlink() for link in (process / "fd").iterdir()]
        files = sorted(str(link) for link in links if not str(link).startswith("socket:"))
        return {"code": code, "handled signals": status["SigCgt"], "ignored signals": status["SigIgn"],
                "blocked signals": status["SigBlk"], "threads": status["Threads"], "tracer": status["TracerPid"],
                "files": " ".join(files)}

    def stopped_threads(self):
        tasks = pathlib.Path("/proc/%d/task" % self.pid).iterdir()
        return [task.name for task in tasks if self._status(task)["State"][0] in "tTD"]


class Connection:
    def __init__(self, port, timeout_s):
        self._socket = socket.create_connection(("127.0.0.1", port), timeout_s)
        self._file = self._socket.makefile("rb")

    def close(self):
        self._file.close()
        self._socket.close()

    def send(self, text):
        self._socket.sendall(text.encode())

    def line(self):
        line = self._file.readline()
        if not line.endswith(b"\n"):
            raise ValueError("the server has closed the connection")
        return line.rstrip(b"\r\n").decode()

    def read(self, size):
        return self._file.read(size).decode()


def _value(number):
    return hashlib.sha256(number.encode()).hexdigest()


class Redis(Target):
    name = "redis"
    packages = ("redis-server",)
    program = "/usr/bin/redis-check-rdb"  # redis-server is a link to it
    function = "processCommand"

    def command(self):
        return ["/usr/bin/redis-server", "--bind", "127.0.0.1", "--port", self.port, "--save", "", "--appendonly", "no",
                "--io-threads", 2, "--jemalloc-bg-thread", "no", "--dir", self.folder]

    class Client(Connection):
        def ask(self, number):
            value = _value(number)
            self.send("SET %s %s\r\nGET %s\r\n" % (number, value, number))
            answer = [self.line(), self.line(), self.line()]
            return "" if answer == ["+OK", "$64", value] else "redis answered %s" % answer

    def connect(self, timeout_s):
        return self.Client(self.port, timeout_s)


_NGINX = """daemon off; worker_processes 1; user root; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log off; keepalive_requests 1000000000; client_body_temp_path {folder}; proxy_temp_path {folder};
  fastcgi_temp_path {folder}; uwsgi_temp_path {folder}; scgi_temp_path {folder};
  server {{ listen 127.0.0.1:{port}; location / {{ return 200 "$request_uri"; }} }}
}}
"""


class Nginx(Target):
    name = "nginx"
    packages = ("nginx-light",)
    program = "/usr/sbin/nginx"
    function = "ngx_http_process_request"

    def command(self):
        (self.folder / "nginx.conf").write_text(_NGINX.format(folder=self.folder, port=self.port))
        return [self.program, "-c", self.folder / "nginx.conf", "-e", self.folder / "error.log"]

    def worker(self, pid):
        return int(pathlib.Path("/proc/%d/task/%d/children" % (pid, pid)).read_text().split()[0])

    class Client(Connection):
        def ask(self, number):
            uri = "/%s/%s" % (number, _value(number))
            self.send("GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % uri)
            status = self.line()
            length = 0
            while line := self.line():
                if line.lower().startswith("content-length:"):
                    length = int(line.split(":")[1])
            body = self.read(length)
            return "" if status == "HTTP/1.1 200 OK" and body == uri else "nginx answered %s: %s" % (status, body)

    def connect(self, timeout_s):
        return self.Client(self.port, timeout_s)


_PYTHON_SERVER = """
import hashlib, socketserver, sys
class Answer(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            self.wfile.write(hashlib.sha256(line.strip()).hexdigest().encode() + b"\\n")
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
Server(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
"""


class Python(Target):
    """A thread for each client."""
    name = "python"
    packages = ("python3",)
    program = str(pathlib.Path("/usr/bin/python3").resolve())
    function = "PyObject_Call"

    def command(self):
        return [self.program, "-c", _PYTHON_SERVER, self.port]

    class Client(Connection):
        def ask(self, number):
            self.send(number + "\n")
            answer = self.line()
            return "" if answer == _value(number) else "python answered %s" % answer

    def connect(self, timeout_s):
        return self.Client(self.port, timeout_s)
