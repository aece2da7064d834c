"""What bench/servers has for this bench, too."""
import pathlib
import sys

SERVERS = pathlib.Path(__file__).resolve().parent.parent / "servers"
sys.path.insert(0, str(SERVERS))
sys.path.insert(0, str(SERVERS.parent / "verdicts"))

# pylint: disable=wrong-import-position,unused-import
import intervals  # noqa: E402
import original_profile  # noqa: E402
import packages  # noqa: E402
import processes  # noqa: E402
import table  # noqa: E402
import under_coz  # noqa: E402
