"""A Java process that attach.py attaches to. Its functions have no call frame information, so its libraries are the units; the
function that is counted is the native one by which sockets are read."""
import pathlib

import attach_targets
import processes

_JVM = pathlib.Path("/usr/lib/jvm/default-java")
_SOURCE = pathlib.Path(__file__).resolve().parent / "java/Answer.java"


class Java(attach_targets.Target):
    """A thread for each client. Compiler threads are as many as at the start, so that threads can be compared."""
    name = "java"
    packages = ("default-jdk-headless",)  # the runtime, and the compiler for Answer.java
    function = "Java_sun_nio_ch_SocketDispatcher_read0"
    point = "libnio.so!" + function
    coz_options = ("--unit=library",)

    @property
    def program(self):
        return str((_JVM / "lib/libnio.so").resolve())

    def command(self):
        processes.run([_JVM / "bin/javac", "-d", self.folder, _SOURCE], 60, self.folder / "javac.log")
        return [_JVM / "bin/java", "-Xmx64m", "-XX:+UseSerialGC", "-XX:-UseDynamicNumberOfCompilerThreads", "-cp", self.folder,
                "Answer", self.port]

    Client = attach_targets.Python.Client

    def connect(self, timeout_s):
        return self.Client(self.port, timeout_s)
