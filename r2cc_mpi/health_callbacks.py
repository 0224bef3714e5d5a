"""Tells the user's functions of every change of health, on a thread of their own.

Changes are learned while the driver's lock is held. A function of the user that was called there could
neither take its time nor ask the communicator anything. So the driver only hands the changes over.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence

from algorithms.nic import Nic
from r2cc_mpi.nic_health import NicHealth, health_of
from r2cc_mpi.protocol.engine import Detection

HealthCallback = Callable[[Nic, NicHealth], object]


class HealthCallbacks:
    """The functions of one communicator.

    Args:
        detections: The engine's list of changes, which grows.
        on_fatal: Called with whatever a function raised; it must end the job.
    """

    def __init__(self, detections: Sequence[Detection], on_fatal: Callable[[BaseException], None]) -> None:
        self._detections, self._on_fatal = detections, on_fatal
        self._functions: tuple[HealthCallback, ...] = ()
        self._changes: queue.SimpleQueue[Detection | None] = queue.SimpleQueue()
        self._seen = 0
        self._thread: threading.Thread | None = None

    def add(self, function: HealthCallback) -> None:
        """Call a function for the changes from now on."""
        self.look()
        self._functions += (function,)
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="r2cc-health", daemon=True)
            self._thread.start()

    def look(self, _now: float = 0.0) -> None:
        """Hand over what is new; a hook of the driver."""
        while self._seen < len(self._detections):
            detection = self._detections[self._seen]
            self._seen += 1
            if self._functions:
                self._changes.put(detection)

    def stop(self) -> None:
        """Hand over the last changes and wait until the functions have returned."""
        if self._thread is not None:
            self.look()
            self._changes.put(None)
            if threading.current_thread() is not self._thread:
                self._thread.join()

    def _serve(self) -> None:
        try:
            while (detection := self._changes.get()) is not None:
                for function in self._functions:
                    function(detection.nic, health_of(detection.nic, detection))
        except BaseException as error:
            self._on_fatal(error)
            raise
