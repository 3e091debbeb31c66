"""What ``--help`` tells of the commands, their actions and what ``init`` may be given. Pure.

Standard library only: before the set-up ``bootstrap`` has no other help to give.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

DESCRIPTION = """\
Inglenook: a Discord bot whose every model input is compiled, scoped and traced.
"""
EPILOG = """\
Settings are in org.toml in the home, secrets in .env beside it; any key can come from a variable,
such as INGLENOOK_ENGINE__URL for [engine] url. The home is home/ beside the checkout, or what
INGLENOOK_HOME or --home says.
"""
RUN = """\
Start the bot.

Without a Discord token this opens the playground: a local Discord with a chat page in your
browser, and a small language model on this machine. Nothing leaves it. You are Ada, the owner.

With DISCORD_TOKEN set (in the environment or in the home's .env) the same bot goes to Discord. A
model of your choice is set in org.toml, section [engine]; without one the small model answers.

Stop with Ctrl-C: running turns may finish.
"""
INIT = """\
Set the bot up by a few questions: token, you, invitation, model, imp, first channel; at the end the
model is asked for a word and a message is posted. Each answer is kept at once; started again, init
goes on from there, and replaces nothing without asking.

With --non-interactive it asks nothing: answers come from the options, the token from DISCORD_TOKEN
and the model's key from the variable of --key-env. Exit code 0 when a bot can answer, 1 when
something is left to do, 2 when an answer is missing or wrong.
"""
DOCTOR = """\
Check Python, Node, pi, the home, the settings, the database, the token, the intents and the model
(with one tiny question), and say what to do for each failure.

With --drill play this project's own faults instead: your settings and imps, a local Discord, a
scripted model; nothing is asked, paid or posted outside. It takes a minute or two.

Exit code 0 when nothing failed, 1 when something needs mending, 2 for a wrong call.
"""
INIT_OPTIONS: Final = (
    ("--owner", "ID", "your Discord user id"),
    ("--provider", "NAME", 'the model\'s provider, or "embedded"'),
    ("--model", "NAME", "the model"),
    ("--url", "ADDRESS", "a server of your own instead of a provider"),
    ("--api", "FORM", "what it speaks (default: openai-completions)"),
    ("--key-env", "NAME", "the variable that holds the model's key"),
    ("--imp", "NAME", "the first imp's name"),
    ("--about", "TEXT", "what the place is about"),
    ("--language", "TEXT", "the imp's language"),
    ("--channel", "ID", 'the first channel, or "none"'),
)
RUNS = """\
Look into what the model was given. A run is one session: its start and all its turns.

RUN is a run's id, the unique beginning or end of one, or "latest".
"""
ASK = """\
Ask the imp one question and print its answer; the id of the run goes to standard error. A bot that
runs with the same home answers it; without one it is answered here. The imp is given its identity
and its own notes, and of a channel only what --channel names: its purpose, house rules and notes.
"""
TASK = """\
What the imp does later, or again and again. A running bot takes up what is filed here within a
second; without one, tasks wait for the next start.
"""
TASK_ACTIONS: Final[Mapping[str, str]] = {
    "add": "file a task; without a time it is due now",
    "list": "list the open tasks; with --all those that ended as well",
    "show": "tell one task whole, and its result if it has no channel",
    "cancel": "end a task; a running one ends soon",
    "retry": "run a task again that failed, was interrupted or cancelled",
}
BACKUP = """\
Copy the home into one file, also while the bot runs. Secrets (.env) are never in it, and keys.db,
without which remembered notes cannot be read, only with --keys.
"""
RESTORE = """\
Check a copy and make a new home of it. A home that has something in it is never touched.
"""
EXPORT = """\
Write all that is kept of one person into a file for that person: notes, messages, turns, what was
spent, consents, tasks and proposed actions, and nothing of others. Exit code 1 when something could
not be read, which is told.
"""
PRUNE = """\
Let go what [retention] in org.toml no longer keeps: traces, turns and messages. The bot does the
same once an hour. Of a pruned run its figures stay, and where its trace ended.
"""
UPGRADE = """\
Bring a home forward to this release, after a copy of its database was kept in backups/. The bot's
start does the same. With --check nothing is changed: it is tried on a copy, and told. Exit code 0
when this release can take up the home.
"""
SETUP = """\
Set up what the bot needs, and do nothing else. What stands already stays.

  --repair     look at every installed part again
  --semantic   bring the model for [memory] semantic = "local" as well
  --telemetry  bring OpenTelemetry's SDK for [telemetry] as well
  --checks     bring the tools of the tests as well
"""
GATES = """\
What the imp proposed to do, and what you decide.
"""
BENCH = """\
Measure turns, starts, memory, the wire and the pure parts on this machine. Everything runs on
loopback with the real pi and a scripted model.
"""
DRILL = """\
Kill the bot (SIGKILL) at random moments while people write, and count what was lost, answered
twice, or given to the model without a trace. Everything runs on loopback with the real pi and a
scripted model, in a home of its own.
"""
TEST = """\
Run every check: ruff, import contracts, mypy and pytest.
"""
COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "init": ("set the bot up by a few questions", INIT),
    "run": ("start the bot; without a token, a local Discord with a chat page", RUN),
    "doctor": ("check everything the bot needs", DOCTOR),
    "runs": ("look into what the model was given", RUNS),
    "gates": ("decide on what the imp proposed", GATES),
    "ask": ("ask the imp one question", ASK),
    "task": ("what the imp does by the clock", TASK),
    "backup": ("copy the home into one file", BACKUP),
    "restore": ("make a new home of a copy", RESTORE),
    "export": ("write down all of one person", EXPORT),
    "prune": ("let go what is kept no longer", PRUNE),
    "upgrade": ("bring a home forward to this release", UPGRADE),
    "setup": ("only set up; --repair looks at every installed part again", SETUP),
    "bench": ("measure this machine: turns, starts, compiling, memory", BENCH),
    "drill": ("kill the bot again and again under load, and count losses", DRILL),
    "test": ("run all checks of a checkout", TEST),
}
"""Every command: what it does, in a few words and in full; in the order of the list."""
GATES_ACTIONS: Final[Mapping[str, tuple[str, str]]] = {
    "list": ("list what waits for a decision", "List what waits; with --all also what ended."),
    "show": ("print exactly what would be done", "Print a gate with its exact payload and hash."),
    "approve": (
        "let it be done",
        "Approve a gate. The running bot carries it out, or the next one that starts.",
    ),
    "deny": ("do not let it be done", "Deny a gate. The imp hears of it in its conversation."),
}
RUNS_ACTIONS: Final[Mapping[str, tuple[str, str]]] = {
    "ls": ("list the latest runs", "List runs, the latest first."),
    "show": (
        "tell what a run was made of",
        """\
Tell a run: blocks, sizes, hashes, what was left out and why, the budget, the cache's boundaries,
what the provider counted. No content.
""",
    ),
    "context": (
        "print exactly what the model was given",
        "Print the exact system prompt and input of a turn, if all hashes of the trace match.",
    ),
    "diff": (
        "tell what changed against the turn before",
        "Compare a turn with the one before it, block by block, without content.",
    ),
    "cache": (
        "tell how much the provider's cache saves, and what broke it",
        """\
Tell, by session and imp, how much of what the model read came from its provider's cache, how much
could have, and for each break its cause, the block, and the first byte that differs. Of one run,
or of the latest ones.
""",
    ),
    "receipt": (
        "tell what was used for a turn, in counts and codes",
        """\
Print the receipt of a turn: kinds, counts, sizes and identities. It holds no content, no id of
anybody, and what could be guessed only as a commitment under a key that stays in the trace.
""",
    ),
    "replay": (
        "work out a turn again and compare every hash",
        """\
Rebuild the exact strings of a turn from its trace alone and compare every hash: blocks, records,
prompts, plan, receipt and, where its tokenizer is here, token ids. Exit code 1 when one differs.

With --against the same sources are compiled anew under other settings, and the difference of the
plans is told: what would come in, what would go, and why. Examples:
  --against context.memory_max_chars=2000
  --against engine.context_window=4096 --against engine.tokenizer=o200k_base
""",
    ),
    "verify": (
        "check a trace line by line",
        """\
Walk the hash chain of a trace and work out every hash in it anew. Exit code 1 when something is
not as it was written.
""",
    ),
}
