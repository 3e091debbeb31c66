"""Orchestration: knows pi, SQLite and time, not Discord.

A conversation, from a message to its outcome:

``inbound``      a message with its trusted scope, and how its turn ended
``registry``     one warm session for each conversation   ``slots``  the cap on warm ones
``session``      those who wait, one worker, one run after another   ``view``  as its owner sees it
``waiting``      who waits, what is joined, and whose turn is next
``ticket``       the promise of exactly one outcome   ``tickets``  all those of one conversation
``outcomes``     those that pi never settled
``take``         one turn: sources, compile, trace, prompt, outcome, record
``turn_account`` what a turn reads, is compiled to and comes to
``turn``         the machine of a turn (pure)   ``exchange``  drives it   ``draft``  what it writes
``turn_memory``  its notes   ``turn_tools``  its tool calls   ``turn_marks``  what these made of it
``steering``     what is said into a running turn   ``chunks``  a message read part by part
``preview``      what would be answered from   ``visible``  whether a text shows anything (pure)
``house``        the house rules   ``summaries``  what stands for earlier talk
``summing_up``   the turn that writes one
``sources``      the only reader of the owner's texts   ``pictures``  what the model is shown

Runs:

``run``          one recorded execution: a trace, a system prompt, a pi
``start``        makes runs and ends them   ``run_process``  gives them their processes
``warm_runs``    those that outlive their host   ``leftovers``  what a killed host left
``run_holder``   the run of a session   ``one_shot``  a run of one input
``run_files``    what a run has on disk   ``run_feed``  word of which runs change
``trace``        the exact account, durable before pi sees a byte   ``traces``  its form, its proof
``review``       a recorded run, looked at again
``retention``    what has to go by now (pure)   ``pruning``  lets it go

The model, and what may be spent on it:

``engine``       what is spawned for a run and prompted   ``pi``  the child process
``model_gateway`` the door to the provider   ``wire``  what goes through it
``tokens``       who counts a prompt
``allowance``    what may still be spent today, by all bots of a process (``day_sums``, pure)
``usage_book``   what was spent, by whom

What the imp may do:

``tools``        what the model is offered, and what answers each call
``gateway``      judges each call   ``grants``  by the owner's rules (pure)
``hands``        all of it, taken together
``gates``        what becomes of a proposed action (pure)   ``gate_desk``  gates at work
``gate_filing``  from a call to a gate   ``gate_execution``  from an approval to its effect
``earned``       trust (pure)   ``continuations``  the turn in which an end is heard (pure)
``box``          what a process may see   ``boxes``  its parts and its kinds
``workspaces``   where approved calls work   ``workspace_files``  what was made there
``web``          pages read for the imp
``memory``       what the imp remembers: chosen, written, forgotten

Tasks:

``tasks``        what becomes of one (pure)   ``schedule``  when it runs (pure)   ``zones``  where
``task_service`` the one door   ``task_settings``  its bounds
``supervisor``   runs what is due   ``task_run``  one run of one task   ``worktrees``  for code

Under all of it:

``parts``        what sessions work with, handed in once   ``limits``  their settings
``store``        all SQL   ``clock``  time and fresh ids
``errors``       what can go wrong, by who must act   ``faults``  our own, named in a log
"""
