"""The forms in which a model is asked and answers (pure).

``forms``        the three of them: where to, what is cached, how an answer streams
``completions``  OpenAI's Chat Completions   ``responses``  its Responses
``anthropic``    Anthropic's Messages
"""
