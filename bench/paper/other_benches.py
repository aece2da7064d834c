"""What other benches have for this one, too."""
import pathlib
import sys

_BENCHES = pathlib.Path(__file__).resolve().parent.parent
SERVERS = _BENCHES / "servers"
sys.path[:0] = [str(SERVERS), str(_BENCHES / "verdicts")]

# pylint: disable=wrong-import-position,unused-import
import intervals  # noqa: E402
import memcached_server  # noqa: E402
import original_profile  # noqa: E402
import packages  # noqa: E402
import processes  # noqa: E402
import server  # noqa: E402
import servers  # noqa: E402
import session  # noqa: E402
import subjects  # noqa: E402
import table  # noqa: E402
import under_coz  # noqa: E402
