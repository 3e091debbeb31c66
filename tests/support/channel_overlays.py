"""Overlays of a channel with any values, and any of them unsaid."""

from __future__ import annotations

from hypothesis import strategies as st

from config.settings import ChannelMode, ChannelOverlay, DirectiveMode, ReplyMode, ThreadMode


def channel_overlays(imps: st.SearchStrategy[str]) -> st.SearchStrategy[ChannelOverlay]:
    """Build overlays whose imp, if they name one, is one of these."""
    return st.builds(
        ChannelOverlay,
        enabled=st.none() | st.booleans(),
        mode=st.none() | st.sampled_from(ChannelMode),
        trusted=st.none() | st.booleans(),
        directives=st.none() | st.sampled_from(DirectiveMode),
        threads=st.none() | st.sampled_from(ThreadMode),
        shared_context=st.none() | st.booleans(),
        replies=st.none() | st.sampled_from(ReplyMode),
        imp=st.none() | imps,
    )
