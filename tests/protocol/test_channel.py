from __future__ import annotations

from algorithms.nic import Hop
from r2cc_mpi.protocol.channel import SendChannel
from tests.protocol.fakes import buffer, chunk

WINDOW = 3


def sender(captured: int = 0, sent: int = 0) -> SendChannel:
    """Make a sending end that has captured and sent some chunks."""
    channel = SendChannel(1, WINDOW)
    channel.route = (Hop(0, 1),)
    for number in range(captured):
        channel.capture(chunk(bytes([number] * 8)), 0.0)
    for _ in range(sent):
        channel.was_sent()
    return channel


def counters(channel: SendChannel) -> tuple[int, int, int, int]:
    """What a sending end knows."""
    return channel.captured, channel.sent, channel.landed, channel.consumed


class TestSender:
    """The sending end."""

    def test_window_limits_what_is_not_consumed(self):
        """Credit returns when chunks are consumed, not when they land."""
        channel = sender(captured=WINDOW, sent=WINDOW)
        assert not channel.has_room
        channel.acknowledge(2, 0, 1.0)
        assert not channel.has_room
        channel.acknowledge(2, 1, 2.0)
        assert channel.has_room
        channel.capture(chunk(), 2.0)
        assert not channel.has_room

    def test_chunks_are_sent_in_order(self):
        """The next chunk is the first that was not sent, with its number and bytes."""
        channel = sender(captured=2)
        for number in range(2):
            following = channel.next_chunk()
            assert following is not None
            assert following[0] == number
            assert following[1].buffer.payload[:8].tolist() == [number] * 8
            channel.was_sent()
        assert channel.next_chunk() is None

    def test_acknowledgement_frees_the_buffers_of_landed_chunks(self):
        """Each buffer comes back once, in order, when its chunk has landed."""
        channel = sender(captured=3, sent=3)
        buffers = channel.acknowledge(2, 0, 1.0)
        assert [held.payload[0] for held in buffers] == [0, 1]
        assert channel.acknowledge(2, 0, 1.0) == []
        assert [held.payload[0] for held in channel.acknowledge(3, 3, 1.0)] == [2]
        assert channel.is_consumed
        assert counters(channel) == (3, 3, 3, 3)

    def test_older_acknowledgements_change_nothing(self):
        """Acknowledgements may overtake each other: only the largest counts matter."""
        channel = sender(captured=3, sent=3)
        channel.acknowledge(3, 1, 1.0)
        assert channel.acknowledge(1, 0, 5.0) == []
        assert counters(channel) == (3, 3, 3, 1)
        assert channel.progress_at == 1.0

    def test_rewind_goes_back_to_the_first_chunk_that_has_not_landed(self):
        """What is sent again is what was sent and has not landed; it counts as resent when it is sent."""
        channel = sender(captured=3, sent=3)
        channel.acknowledge(1, 0, 1.0)
        assert channel.bytes_on_their_way() == 16
        assert channel.rewind() == 2
        assert counters(channel) == (3, 1, 1, 0)
        assert channel.generation == 1
        assert channel.resent_bytes == 0
        assert channel.bytes_on_their_way() == 0
        following = channel.next_chunk()
        assert following is not None
        assert following[0] == 1
        channel.was_sent()
        channel.was_sent()
        assert channel.resent_bytes == 16

    def test_rewind_with_nothing_on_its_way_sends_nothing_again(self):
        """A channel that has settled only gets a new generation."""
        channel = sender(captured=3, sent=2)
        channel.acknowledge(2, 2, 1.0)
        assert channel.is_settled
        assert channel.rewind() == 0
        channel.was_sent()
        assert channel.resent_bytes == 0

    def test_acknowledgement_after_a_rewind_is_not_sent_again(self):
        """A chunk that turns out to have landed before the rewind is skipped."""
        channel = sender(captured=3, sent=3)
        channel.rewind()
        channel.acknowledge(2, 0, 1.0)
        assert counters(channel) == (3, 2, 2, 0)

    def test_generation_fits_the_header(self):
        """The count of rewinds starts over at 65536."""
        channel = sender(captured=1, sent=1)
        for _ in range(65536):
            channel.rewind()
        assert channel.generation == 0

    def test_progress_is_noted(self):
        """A channel has progressed when it becomes busy, and when an acknowledgement says something new."""
        channel = sender()
        channel.capture(chunk(), 3.0)
        channel.capture(chunk(), 4.0)
        assert channel.progress_at == 3.0
        channel.pings = 2
        channel.acknowledge(0, 0, 5.0)
        assert (channel.progress_at, channel.pings) == (3.0, 2)
        channel.acknowledge(1, 0, 6.0)
        assert (channel.progress_at, channel.pings) == (6.0, 0)
        channel.acknowledge(1, 1, 7.0)
        assert channel.progress_at == 7.0

    def test_pending_local_sends_are_seen(self):
        """A chunk that this rank's own NIC still holds is not lost."""
        channel = sender(captured=2)
        following = channel.next_chunk()
        assert following is not None
        held = following[1].buffer
        held.pending = 1
        assert not channel.local_sends_pending()
        channel.was_sent()
        assert channel.local_sends_pending()
        held.pending = 0
        assert not channel.local_sends_pending()

    def test_buffer_can_be_replaced(self):
        """A chunk keeps its length and collective in its new buffer."""
        channel = sender(captured=1)
        fresh = buffer(b"abcdefgh")
        channel.replace_buffer(0, fresh)
        following = channel.next_chunk()
        assert following is not None
        assert following[1] == chunk()._replace(buffer=fresh)
