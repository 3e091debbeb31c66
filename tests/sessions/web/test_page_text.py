"""A page's bytes to its text, and a process that hostile ones cannot keep."""

from __future__ import annotations

import pytest

from sessions.web.address import WebFault, WebRefused
from sessions.web.fetch import read_in_a_process
from sessions.web.page_text import decode, text_of


@pytest.mark.parametrize(
    ("data", "told", "text"),
    [
        ("Feuer, süß".encode(), "", "Feuer, süß"),
        ("Feuer, süß".encode("latin-1"), "iso-8859-1", "Feuer, süß"),
        ("Feuer, süß".encode("cp1252"), "", "Feuer, süß"),
        ("Feuer, süß".encode("utf-16"), "utf-8", "Feuer, süß"),
        ("Feuer".encode("utf-8-sig"), "", "Feuer"),
        (b"<meta charset='koi8-r'>" + "Огонь".encode("koi8-r"), "", "<meta charset='koi8-r'>Огонь"),
        (b"plain", "no-such-charset", "plain"),
        (b"plain", "zip", "plain"),
        (b"half \xe2\x82", "utf-8", "half â‚"),
    ],
)
def test_charsets(data: bytes, told: str, text: str) -> None:
    """The mark of the bytes, the server's word, the page's own, UTF-8, and at last Windows'."""
    assert decode(data, told, html=True) == text


def test_lines_follow_blocks_and_not_words() -> None:
    html = (
        "<body><header>Top</header><p>One <b>bo</b>ld\n word<br>and <a href=x>more</a></p>"
        "<ul><li>a<li>b</ul><pre>def f():\n    return 1</pre><table><tr><td>x<td>y</table></body>"
    )
    assert text_of(html) == (
        "",
        "Top\nOne bold word\nand more\na\nb\ndef f():\n    return 1\nx y",
    )


def test_what_is_not_shown_is_left_out() -> None:
    """Also the places where words for a model are hidden."""
    html = (
        "<title>T</title><body><p>seen</p><p hidden>sly</p><!-- sly --><script>sly</script>"
        "<style>sly{}</style><template>sly</template><noscript>sly</noscript><nav>sly</nav></body>"
    )
    assert text_of(html) == ("T", "seen")


def test_the_main_part_counts_where_there_is_one() -> None:
    long = "word " * 60
    html = f"<body><div>around</div><main><p>{long}</p></main></body>"
    assert text_of(html)[1] == long.strip()
    assert text_of("<body><div>around</div><main>short</main></body>")[1] == "around\nshort"
    assert text_of("") == ("", "")


async def test_a_page_that_no_parser_can_bear_is_given_up() -> None:
    """Nesting that takes the parser minutes: the process ends at its limit, the host does not."""
    with pytest.raises(WebRefused) as refused:
        await read_in_a_process(b"<div>" * 400_000, "", html=True, max_chars=10, cpu_seconds=1)
    assert refused.value.fault is WebFault.UNREADABLE
