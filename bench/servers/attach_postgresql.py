"""PostgreSQL, for attach.py: the process that serves one of its clients. Each client adds one to a number of its own in the
database, so that a query that is lost, or done twice, is seen."""
import os
import pathlib
import queue
import shutil
import signal
import struct

import attach_load
import attach_targets
import postgresql_server
import processes

_OPTIONS = ("listen_addresses=127.0.0.1", "fsync=off", "autovacuum=off", "log_min_messages=fatal", "shared_buffers=64MB")


class Client(attach_targets.Connection):
    """Version 3 of the protocol, as far as simple queries of one row need it."""

    def __init__(self, port, timeout_s):
        super().__init__(port, timeout_s)
        self._asked = 0
        parameters = b"user\0postgres\0database\0postgres\0\0"
        self._socket.sendall(struct.pack("!ii", len(parameters) + 8, 196608) + parameters)
        self._answer()
        self.pid = int(self.query("SELECT pg_backend_pid()"))
        self.query("CREATE TEMPORARY TABLE asked AS SELECT 0 AS n")

    def close(self):
        """Not yet: the process that serves it is looked at when the load is over."""

    def _answer(self):
        """The last column of the last row, up to where the server is ready."""
        value = ""
        while True:
            head = self._file.read(5)
            if len(head) < 5:
                raise ValueError("postgresql has closed the connection")
            kind, length = struct.unpack("!ci", head)
            body = self._file.read(length - 4)
            if kind == b"E":
                raise ValueError("postgresql answered %s" % body.replace(b"\0", b" ").decode(errors="replace"))
            if kind == b"D":
                size = struct.unpack("!i", body[2:6])[0]
                value = body[6:6 + size].decode()
            if kind == b"Z":
                return value

    def query(self, text):
        body = text.encode() + b"\0"
        self._socket.sendall(b"Q" + struct.pack("!i", len(body) + 4) + body)
        return self._answer()

    def ask(self, number):
        self._asked += 1
        answer = self.query("UPDATE asked SET n = n + 1 RETURNING n || ' %s'" % number)
        right = "%d %s" % (self._asked, number)
        return "" if answer == right else "postgresql answered %s for %s" % (answer, right)


class Postgresql(attach_targets.Target):
    """The clients are connected before the load begins: a process that serves one is attached to."""
    name = "postgresql"
    packages = ("postgresql",)
    function = "ReadyForQuery"
    stop_signal = signal.SIGINT  # clients that are connected do not keep it

    def __init__(self, folder):
        super().__init__(folder)
        self._tools = pathlib.Path(postgresql_server.newest_tools())
        self._data = self.folder / "data"
        self._connected = []
        self._clients = queue.SimpleQueue()  # those of them that no thread of the load has yet

    @property
    def program(self):
        return str(self._tools / "postgres")

    def command(self):
        shutil.rmtree(self._data, ignore_errors=True)
        ordinary = []
        if os.getuid() == 0:  # which PostgreSQL refuses
            shutil.chown(self.folder, "nobody", "nogroup")
            ordinary = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
        processes.run([*ordinary, self._tools / "initdb", "-D", self._data, "-A", "trust", "-U", "postgres", "--no-sync"], 120,
                      self.folder / "initdb.log", cwd=self.folder)
        options = [part for option in _OPTIONS for part in ("-c", option)]
        return [*ordinary, self.program, "-D", self._data, "-p", self.port, "-k", self._data, *options]

    def __enter__(self):
        super().__enter__()
        self._connected = [Client(self.port, attach_load.LONGEST_ANSWER_S) for _ in range(attach_load.CLIENTS)]
        self.pid = self._connected[0].pid
        for client in self._connected:
            self._clients.put(client)
        return self

    def connect(self, timeout_s):
        try:
            return self._clients.get_nowait()
        except queue.Empty:
            return Client(self.port, timeout_s)

    def state(self):
        state = super().state()
        # Tables are opened and closed as queries need them.
        state["files"] = " ".join(name for name in state["files"].split() if not name.startswith(str(self._data)))
        return state
