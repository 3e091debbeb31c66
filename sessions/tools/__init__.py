"""The tools that the model is offered, and what answers each.

``table``   what is offered, in its order (pure)   ``call``  one call and its answer
``desk``    open for one turn                      ``record``  the line of the trace (pure)
``gates``   ``check_gates``                        ``memory``  the tools of memory
``purpose`` ``propose_purpose``                    ``talk``  ``reply``, ``stay_silent``
``task``    ``file_task``

``web_fetch`` is answered in ``sessions.web``; ``sessions.gateway`` judges every call.
"""
