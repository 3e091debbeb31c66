"""A recorded run, looked at again: from its trace and its rows alone; no model is asked.

``inspection``    a run's views, made of its trace  ``views``       what such a view holds
``prompts``       the exact texts, or nothing       ``block_tokens``  what each block takes
``wire_calls``    what left for the model           ``tool_calls``  what tools were asked
``differences``   from one turn to the next         ``plan_difference``  between two plans
``cache_report``  what came from the provider's cache, and where it broke
``replay``        a turn worked out anew            ``replay_sources``  from what it is
"""
