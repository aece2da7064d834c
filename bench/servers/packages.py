"""Installs the Debian packages that the chosen servers need, by name."""
import os
import subprocess

import processes


def _is_installed(package):
    shown = subprocess.run(["dpkg-query", "--show", "--showformat=${db:Status-Status}", package], capture_output=True,
                           text=True, check=False)
    return shown.returncode == 0 and shown.stdout == "installed"


def install(packages, folder, say):
    """Failed where one is missing and this is not root."""
    missing = [package for package in packages if not _is_installed(package)]
    if not missing:
        return
    command = "apt-get install --no-install-recommends " + " ".join(missing)
    if os.getuid() != 0:
        raise processes.Failed("packages are missing, and you are not root; run: sudo " + command)
    say("installing the missing packages: " + " ".join(missing))
    # Of the runlevel for single users: their services are not started.
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    processes.run(["apt-get", "update", "-qq"], 300, folder / "apt-get-update.log", env=environment)
    processes.run([*command.split(), "-y", "-qq"], 600, folder / "apt-get-install.log", env=environment)
