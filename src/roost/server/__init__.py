"""The server: the only place where parts are joined.

`controller` decides in rounds, without a clock or a socket of its own. `commands` is what people may ask of it and `obeying`
what comes of that; `reports` is what nodes tell it. `engine` runs it in asyncio; `main` starts everything.
"""
