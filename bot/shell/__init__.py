"""The commands of the shell, one a module, called by ``bot.cli``.

``arguments``       what can be typed
``run_command``     the bot, with what stands around it
``init_command``    questions, from nothing to a bot that answers   ``doctor_command``  the checks
``ask_command``     one question   ``task_command``  tasks
``task_home``       both, whether a bot runs beside them or not
``runs_command``    what was recorded   ``gates_command``  what waits for a decision
``export_command``  all that is kept of one person   ``prune_command``  what is kept no longer
``signals``         how the bot is told to end
``terminal``        what all of them print: nothing that a terminal would obey
"""
