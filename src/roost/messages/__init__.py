"""What Roost says to people: a message is a code and parameters, rendered at the edge in the reader's language.

    raise NotFound("job.not_found", job=12)          # in the program: no sentence
    job.not_found = there is no job {job}            # messages/en/job.txt
    job.not_found.hint = see them all: roost ls --all
    job.not_found = 没有任务 {job}                    # messages/zh/job.txt

The part before the first dot names the file of the catalogue. `CODE.hint` is what to do about it, if there is anything. See
`message` for what a sentence may contain. Standard library only: the command line imports this.
"""

from roost.messages.catalog import LANGUAGES, Language, language_of, languages_accepted
from roost.messages.message import (
    Message,
    MessageError,
    from_column,
    hint_of,
    is_code,
    message_of,
    plain,
    render,
    size,
    span,
)

__all__ = (
    "LANGUAGES",
    "Language",
    "Message",
    "MessageError",
    "from_column",
    "hint_of",
    "is_code",
    "language_of",
    "languages_accepted",
    "message_of",
    "plain",
    "render",
    "size",
    "span",
)
