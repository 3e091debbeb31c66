"""Discord in a box: REST and gateway on loopback, for people to play with and for tests.

It speaks to bots as Discord does (API v10, zlib-stream gateway, real sockets), and to a test or a
chat page in plain Python. Nothing in it knows this project's bot: use it for any other one, from
Python or alone with ``python -m bot.playground``, which prints the addresses and the token::

    async with Playground() as pg:
        with pointed_at(pg):              # sets discord.py's two addresses
            ...                           # start your bot with pg.token
            await pg.connected.wait()
            await pg.say(ADA, HEARTH, f"<@{EMBER}> hello")
            answer = await pg.wait_for_message(HEARTH)
            result = await pg.slash(ADA, HEARTH, "runs list")
            assert result.ephemeral and result.messages

The default world (``ids``): Ada, Bo, Cy, Dee and the bot Ember; Orchard with #hearth, its thread
"kindling" and #workshop; Harbour with #pier. ``pg.world`` makes more (``add_user``,
``add_channel``, ``set_overwrite`` ...). Users, channels and guilds are given as objects or as ids.

Acting: ``say edit delete bulk_delete forward react unreact pin typing open_dm create_thread
archive``; ``slash autocomplete click context_menu submit_modal`` wait for the bot's answer and
give an ``InteractionResult``. What Discord would refuse to a person raises ``errors.ApiError``;
what a person's client would not even offer raises ``invocation.NotOfferedError``.

Seeing: ``messages typing_in commands_for``; ``wait_for_message wait_for_messages
wait_for_request``; ``wait_for`` (an event), ``until`` (a condition), ``subscribe`` (all events).
``pg.requests`` is the log of REST requests with parsed bodies and ``time.monotonic_ns`` of
arrival; ``message.pinged`` says whom a message notified.

Several bots, each with a token and commands of its own, and all in the same channels::

    scribe = pg.add_bot("Scribe", guilds=[ORCHARD])   # scribe.token, scribe.user
    await pg.slash(ADA, HEARTH, "runs list", bot=scribe.user)

Trouble, on request::

    pg.faults.rate_limit(retry_after=0.2)            # the next send gets 429
    pg.faults.fail(status=500, after=True)           # sent, but answered 500
    pg.faults.fail("POST", "/channels/{channel_id}/threads", status=403, code=50013)
    pg.faults.hold(event)                            # the next send waits for an event
    pg.faults.swallow("MESSAGE_CREATE")              # the next message never reaches the bot
    pg.faults.realistic_limits()
    pg.gateway.reconnect(), .invalidate(resumable=False), .close(4009), .drop()
    pg.gateway.expire_sessions()                     # RESUME will get op 9
    pg.redeliver(message), pg.inject("ANY_EVENT", {...})
    pg.intents_allowed &= ~(1 << 15)                 # the content intent closes with 4014
    Playground(clock=...)                            # moves expiry of answers, tokens and files

Map, from the bottom up; no module imports from below its line::

    ids  entities  errors       ids, the things that all speak of, and Discord's refusals
    world                       the state, and its JSON
    ratelimit  faults           what goes wrong on request
    messages  applications      what is said; the bots, their commands and interactions
    people  rest  gateway       three ways in: people's, and a bot's two
    server                      wires them (``pointing`` leads discord.py there)
    page                        the chat page, over a server

Beside it two model endpoints: ``embedded_model`` with ``embedded_server``, a real one, and
``scripted_model``, which says ``model_wire``'s values in the forms of ``dialects``.

Simplified, and so not to be relied on: no voice, invites, audit log, custom emojis and stickers; no
webhooks but those of interactions; permissions are those in ``world.permissions``; an API token is
never reset; rate limits are counted over all bots, and in a server the chat page offers the first
one's commands alone. Two things surprise and are Discord's own: white space around a bot's text is
trimmed, and in a DM ``default_member_permissions`` hides nothing.
"""
