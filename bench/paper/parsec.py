"""PARSEC's sources: fetched at one commit, never committed here; and edits of what was fetched."""
import dataclasses
import io
import pathlib
import re
import subprocess
import tarfile

from other_benches import processes

URL = "https://github.com/bamos/parsec-benchmark"
COMMIT = "2e492f771c6749577fe4e7610d516a9e7f8ad580"
_CLONE_LIMIT_S = 1200


@dataclasses.dataclass(frozen=True)
class Edit:
    """Replaces the places in `file` that the regular expression `old` finds, which are `count`."""
    file: str
    old: str
    new: str
    count: int = 1

    def apply(self, folder):
        path = folder / self.file
        text = path.read_text(encoding="latin-1")
        changed, count = re.subn(self.old, lambda match: match.expand(self.new), text, flags=re.M | re.S)
        if count != self.count:
            raise processes.Failed("%s was to be edited at %d places, and %d match %r: it is another version than this bench knows" %
                                   (path, self.count, count, self.old))
        path.write_text(changed, encoding="latin-1")


def mark(file, after, point):
    """Edits that put a progress point behind the one place that `after` finds."""
    return (Edit(file, r"\A", '#include "coz.h"\n'), Edit(file, "(?P<place>%s)" % after, '\\g<place>\nCOZ_PROGRESS_NAMED("%s");\n' % point))


def repository(source, folder):
    """A git folder with the commit: `source` itself where it is one, else a clone of that address below `folder`."""
    if pathlib.Path(source).is_dir():
        return pathlib.Path(source)
    clone = folder / "parsec.git"
    if not clone.exists():
        # Only the files that are looked at are fetched: the inputs are large.
        processes.run(["git", "clone", "--quiet", "--bare", "--filter=blob:none", source, clone], _CLONE_LIMIT_S,
                      folder / "parsec-clone.log")
    return clone


def unpack(git_folder, path, folder):
    """Makes `folder` anew with the sources below `path`."""
    done = subprocess.run(["git", "--git-dir=%s" % git_folder, "archive", COMMIT + ":" + path], capture_output=True, check=False)
    if done.returncode != 0:
        raise processes.Failed("git cannot read %s of PARSEC's commit %s in %s: %s" %
                               (path, COMMIT[:10], git_folder, done.stderr.decode(errors="replace").strip()))
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder)
