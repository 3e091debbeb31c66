"""The chat page: a browser's window into the playground.

``routes``  the addresses of the page   ``guard``  who may ask at all
``views``   what a person sees, as JSON   ``feed``  what happens from now on
``acts``    what a person does

Add it with ``Playground(extend=[page.attach])``, or under another banner with
``functools.partial(page.attach, banner=page.TOY_BANNER)``. What a browser loads is in ``static/``.
"""

from bot.playground.page.routes import LOCAL_BANNER, TOY_BANNER, attach

__all__ = ["LOCAL_BANNER", "TOY_BANNER", "attach"]
