"""The Discord edge: what comes in is translated once, what goes out is safe to post.

A message's way:

``proxies``      whose words a proxy says again
``threshold``    into a channel: debts (``leftovers``), what was missed (``catch_up``), the new
``missed``       what stands in a channel behind a point   ``look_back``  what is gone from it
``wake``         which messages are answered (pure)   ``loop_guard``  how often other bots are
``place``        where somebody acts, and what the place lets them do
``reading``      what a message is here, by the settings and the lists of the moment
``ingress``      a Discord message -> ``InboundMessage`` with its trusted scope
``attachments``  what attached files hold, by ``text_files`` and ``images`` (pure)
``shown``        what embeds, buttons and the like show   ``odd_messages``  forms nobody knows yet
``usual_fields`` what events may come without (pure)   ``odd_servers``  servers with new things
``stop_word``    "stop" (pure)   ``threads``  those that nobody told us of
``auto_threads`` a thread of its own for each question
``split``        a long answer -> parts that Discord takes (pure)   ``markup``  open code and quotes
``answering``    a turn seen to its end   ``live_answer``  what stands there while it runs
``delivery``     a ``TurnOutcome`` -> messages in the channel, by ``posts``
``sending``      one of them, to the end
``live_posts``   messages that become the answer   ``find_posted``  what may have been sent
``parcels``      what stands in the outbox, posted beside everything else
``stop_button``  the way to stop a turn
``long_message`` one that is read in parts   ``parts_line``  what stands under it (pure)
``voice``        what the imp says while a turn goes on   ``host_tools``  its tools
``tasks``        filed and told   ``gates``  asked, decided and followed
``memory``       notes shown under an answer   ``alarms``  what an owner must hear at once
``interactions`` each command and button once   ``follow_up``  a late answer, in private
``callbacks``    what Discord says to the answer to one
``rule_notices`` what is said of house rules beside answers
``buttons``      what stands under messages and works after a restart
``errors``       the one place where an error becomes a reply
``lanes``        what belongs together in order, everything else side by side

What holds it:

``app``          the composition root   ``wiring``  its topics   ``client``  the connection
``frames``       those that cannot be read   ``global_limit``  the limit over all requests
``login_faults`` why the bot does not run   ``host``  what carries runs, without Discord too
``cogs``         events and slash commands, one topic a file   ``views``  forms
``permissions``  who may give which command   ``tiers``  owner, administrator, trusted or member
``logs``         no words in them
``names``        what channels and people are called
``heap``         the garbage collector of a process that is one bot's
``home``         its folder: one bot in it, copied, cleaned and brought forward
``further_bots`` bots with a token of their own, in the same process
``init``         questions, from nothing to a bot that answers
``cli``          the shell   ``shell``  its commands and options   ``help_texts``  what they say
``doctor``       the checks
``runs``         what was recorded: found, opened and told
``charts``       figures as pictures, for Discord
``metrics``      figures and health for monitors   ``telemetry``  turns as spans
``engine_around`` an engine with something around each of its processes
``inspector``   the owner's page in a browser   ``outlooks``  these three, opened
``*_text``       what people read of it (pure)

Around it:

``bootstrap`` with ``installer``  the environment, from nothing   ``checks``  the ``test`` command
``playground``   Discord in a box, an embedded model and a chat page
``toy_model``    the embedded model for a host of its own
``read_ahead``   it reads its prompt early, by a ``trial_turn``
``bench``        what the host costs   ``drill``  kills under load, and what they cost
"""
