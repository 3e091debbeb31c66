"""Runs as people and programs read them: found, opened, checked and told.

``book``             finds and opens them, for Discord, shell and page alike
``kept_traces``      the ones read last   ``pruned``  what is left of one whose trace is gone
``list_text``        runs in a list, told to people (pure)   ``inspect_text``  one run (pure)
``tool_text``        its tool calls (pure)   ``diff_text``  what differs between two turns (pure)
``verify_text``      whether a trace is as it was written (pure)
``forms``            numbers, hashes and times in all of these (pure)
``inspect_json``     the same for programs (pure)
``inspect_proof``    receipts and replays (pure)   ``replay_settings``  other settings for a replay
``prompt_files``     exact prompts as files (pure)

What a view of a run holds is in ``sessions.review.views``.
"""
