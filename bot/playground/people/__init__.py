"""Acting as people, and seeing what comes of it.

``saying``      messages, reactions and threads; reading a channel
``invoking``    commands, buttons, menus and forms   ``invocation``  what these send to a bot (pure)
``watch``       waiting until something has happened
"""
