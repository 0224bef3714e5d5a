"""Hearing from the kernel that an interface went down or came back, at once and without looking at files."""

from __future__ import annotations

import errno

from r2cc_mpi.netdev.netlink import (
    RECEIVE_BYTES,
    REMOVED,
    RTMGRP_LINK,
    Link,
    ask_about,
    look_up,
    open_netlink,
    read_links,
)


class LinkWatch:
    """Listens for one interface, which carries when this is made.

    The kernel sends every change within the system call or the interrupt that makes it.

    Args:
        interface: Its name.

    Raises:
        MachineError: There is no such interface.
    """

    def __init__(self, interface: str) -> None:
        self._name = interface
        self._socket = open_netlink(RTMGRP_LINK)
        self._socket.settimeout(0)
        self._number = look_up(interface).number
        self._trouble = ""
        ask_about(self._socket, self._number)  # a change before we listened is read from the answer

    def poll(self) -> list[str]:
        """Take in what the kernel has said since; never waits.

        Returns:
            Every change, in order: what the trouble is now (:attr:`Link.trouble`), or an empty text when it
            is over.
        """
        changes: list[str] = []
        while (data := self._receive()) is not None:
            for link in read_links(data):
                trouble = self._about_ours(link)
                if trouble is not None and trouble != self._trouble:
                    self._trouble = trouble
                    changes.append(trouble)
        return changes

    def close(self) -> None:
        """Stop listening."""
        self._socket.close()

    def _receive(self) -> bytes | None:
        try:
            return self._socket.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return None
        except OSError as error:
            if error.errno != errno.ENOBUFS:
                raise
        ask_about(
            self._socket, self._number
        )  # it had more to say than there was room for: only the end counts
        return b""

    def _about_ours(self, link: Link | None) -> str | None:
        """Say what a message means for the interface; None if it is about another one."""
        if link is None:
            return REMOVED
        if link.name == self._name and link.trouble != REMOVED:
            self._number = link.number  # perhaps it was removed, and made again under the same name
        return link.trouble if link.number == self._number else None
