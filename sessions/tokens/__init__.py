"""Who counts the tokens of a prompt, and how exactly.

``desk``      which tokenizer serves an engine, its window, and what stands around our texts
``estimate``  a declared estimate, meant to be too high
``llama``     asked of a llama.cpp server: exact
``tiktoken``  OpenAI's vocabularies, offline: exact
"""
