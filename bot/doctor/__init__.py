"""``doctor``: look at everything that the bot needs, and say what to do where it fails.

``results``   a finding as a value; its table, text and JSON
``system``    Python, Node, pi, bubblewrap, disk
``home``      the home's permissions, the settings, the imps, the database
``discord``   token, intents, owners, asked of Discord itself
``bots``      those with a token of their own
``model``     one tiny turn through the real pi
``tools``     which tools the imp has (pure)   ``grants``  whether rules can count (pure)
``tasks``     the repositories of code tasks

``drill``     the project's own faults, played on the owner's settings

``examine`` runs them all; each is bounded in time and none changes anything of the owner's.
"""

from bot.doctor.examine import examine
from bot.doctor.results import Check, Report, Verdict, render_json, render_table, render_text

__all__ = [
    "Check",
    "Report",
    "Verdict",
    "examine",
    "render_json",
    "render_table",
    "render_text",
]
