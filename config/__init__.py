"""The owner's settings: read, checked all at once, kept fresh while the bot runs.

``settings``    the shape of ``org.toml``, one class a section
``coherence``   bounds and relations that types cannot say   ``rules``  those of each section
``findings``    what does not hold, as a value
``problems``    what is wrong, where, and what to do; ``ConfigError``
``toml_lines``  the line of each key of a TOML text
``toml_edit``   keys set in an owner's text, all else kept   ``dotenv_edit``  the same of ``.env``
``layers``      environment, ``.env``, ``org.toml``: raw values and where each came from
``check``       layers -> ``Settings`` or every problem (pure)
``homedir``     the home directory: made from a template, owner-only files
``imp_files``   ``imps/<imp>/imp.toml``: what differs for one imp   ``imps``  what holds then
``effects``     from when on an edit counts (pure)
``bots``        bots with a token of their own
``channels``    ``channels/<id>/channel.toml``: what slash commands set
``load``        ``LiveConfig``: the last good settings, reloaded when a file changes
"""
