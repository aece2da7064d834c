"""Clients that compare every answer of a server with the right one."""
import threading

CLIENTS = 4
LONGEST_ANSWER_S = 20


class Load:
    """Asks `target` over connections that stay open; `target.connect()` gives a client with ask(number)."""

    def __init__(self, target):
        self._target = target
        self._is_over = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._ask, args=(i,), daemon=True) for i in range(CLIENTS)]
        self.answered = 0
        self.wrong = []  # sentences
        self.stuck = 0   # clients that wait for an answer still

    def _ask(self, client):
        asked = 0
        try:
            connection = self._target.connect(LONGEST_ANSWER_S)
            while not self._is_over.is_set():
                wrong = connection.ask("%d-%d" % (client, asked))
                if wrong:
                    raise ValueError(wrong)
                asked += 1
            connection.close()
        except (OSError, ValueError) as error:
            with self._lock:
                self.wrong.append("request %d of client %d: %s" % (asked, client, error or type(error).__name__))
        with self._lock:
            self.answered += asked

    def start(self):
        for thread in self._threads:
            thread.start()

    def end(self):
        self._is_over.set()
        for thread in self._threads:
            thread.join(LONGEST_ANSWER_S + 5)
        self.stuck = sum(thread.is_alive() for thread in self._threads)
