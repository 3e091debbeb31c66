"""All SQL of the project: one SQLite database in the home, through aiosqlite.

``database``    WAL, migrations, one writer    ``connection``  one, on its thread
``readers``     looking things up beside the writer
``migrations``  the ordered list of changes and the table of those applied   ``sql``  pieces
``runs``        runs, turns, outcomes, which reply belongs to which turn
``run_list``    the list of runs, looked through   ``usage``  what was spent, by day
``history``     what was said in each conversation
``inbox``       messages that are owed an answer    ``outbox``  what is posted, until it is there
``cursors``     how far each channel has been read  ``pairings``  who was let in by a click
``vault``       the keys of remembered texts, in ``keys.db``
``memory``      notes, sealed (``note_rows``)   ``tasks``  what is due and waits (``task_rows``)
``erasure``     forgetting, in steps that can be finished (``burials``)
``consent``     what people allow to be remembered   ``key_fault``  what can be wrong with keys
``summaries``   what each one was made of            ``directives``  house rules at rest
``gates``       each move of a gate in a transaction of its own
``person``      all rows of one person               ``kept``  what is kept of him, in counts
``retention``   what is old enough to go             ``backlog``  what waits, in numbers alone
``copies``      a database as it was before its schema was changed
``warm``        sessions that a restarted host may resume
"""
