"""pi as a child process.

``framing``         bytes to records: only LF ends one (pure)
``protocol``        typed models of what pi says (pydantic border)   ``commands``  what it is told
``provider_fault``  a provider's failure gets a code and a sentence of ours (pure)
``session_file``    pi's own record of a conversation, mended after a crash (pure, and in place)
``engine_files``    models.json and settings.json from our settings, without the key
``process``         the life of the process: spawn, drain, close, terminate, kill
``host_request``    what pi's extension asks of the host
``family``          a process with its descendants, found by start time and mark
``client``          commands and their answers, one prompt in flight
``exchange``        that prompt, an iterator of its events
``extension.mjs``   gives the system prompt one fixed text for the working directory
``errors``          what can go wrong, by who must act
"""
