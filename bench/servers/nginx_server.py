"""nginx that compresses every answer, with wrk that asks for them. The change is the compression level."""
import os

from server import BEFORE, Server, figure, load_threads

_CONFIGURATION = """daemon off;
worker_processes {workers};
{affinity}
pid {folder}/run/nginx.pid;
error_log {folder}/run/logs/error.log;
events {{ worker_connections 256; }}
http {{
  include mime.types;
  access_log off;
  gzip on;
  gzip_comp_level {level};
  gzip_types text/plain;
  keepalive_requests 1000000000;
  server {{
    listen 127.0.0.1:{port} reuseport;
    root {folder}/run/html;
  }}
}}
"""


def rate_of_wrk(output):
    return figure(r"Requests/sec:\s*([\d.]+)", output)


class Nginx(Server):
    program = "nginx"
    packages = ("wrk",)
    binary = "%/objs/nginx"
    unit = "ngx_http_gzip_filter_deflate"
    change = "gzip_comp_level 1 instead of 6"
    kind = "knob"
    workers = 0
    affinity = ""
    connections = 0

    @property
    def busy_cpus(self):
        return min(os.cpu_count(), self.workers)   # two CPUs are busy with the workers and wrk

    @property
    def load(self):
        return "wrk, %d connections" % self.connections

    def command(self, variant):
        configuration = self.folder / "run/conf/nginx.conf"
        configuration.write_text(_CONFIGURATION.format(workers=self.workers, affinity=self.affinity, folder=self.folder,
                                                       port=self.port, level=6 if variant == BEFORE else 1))
        return [self.folder / "nginx/objs/nginx"]

    def drive(self, variant, seconds):
        return rate_of_wrk(self.run_load(
            ["wrk", "-t%d" % load_threads(8), "-c%d" % self.connections, "-d%d" % max(1, round(seconds)), "-H", "Accept-Encoding: gzip",
             "http://127.0.0.1:%d/page.txt" % self.port], seconds))


class NginxTwo(Nginx):
    """The kernel gives each connection to a worker by its port: of sixteen, both workers get some."""
    name = "nginx-2"
    workers = 2
    affinity = "worker_cpu_affinity 01 10;"
    connections = 16


class NginxEight(Nginx):
    name = "nginx-8"
    workers = 8
    connections = 64
