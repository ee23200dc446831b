"""Who the caller is, and how people and programs log in: sessions, tokens, one-time links."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from roost.answers.users import Notice
from roost.answers.values import Time, Versioned


class You(msgspec.Struct, kw_only=True):
    """Who the caller is; `runs_as` is the account that their jobs run as, null: none, they are refused."""

    user: str
    admin: bool
    via: str
    unix: str | None
    runs_as: str | None


class Me(You, Versioned, kw_only=True):
    """Who the caller is and what they may do; `token` is the id of the token that was used."""

    csrf: str | None
    token: int | None
    notice: Notice | None


class Token(msgspec.Struct, kw_only=True):
    """A token, but never the token itself. `scope` is what it may do: `read`, `submit` or `operate`."""

    id: int
    user: str
    label: str
    scope: str
    created_at: Time
    expires_at: Time | None
    used_at: Time | None


class Tokens(Versioned):
    """Tokens."""

    tokens: list[Token]


class TokenShown(Token, Versioned, kw_only=True):
    """One token."""


class TokenMade(TokenShown, kw_only=True):
    """A new token, told this once."""

    token: str


class LoggedOut(Versioned, kw_only=True):
    """How many tokens and sessions have ended."""

    tokens: int
    sessions: int


class Link(Versioned):
    """A one-time link."""

    url: str


class UserLink(Link):
    """A one-time link for a user."""

    user: str


class FirstLink(Versioned):
    """A one-time link; null when there is an administrator already."""

    url: str | None


class LinkShown(Versioned):
    """What a one-time link is for."""

    purpose: Annotated[str, msgspec.Meta(extra_json_schema={"enum": ["password", "login", "first"]})]
    user: str | None


class LoggedIn(Versioned):
    """A session began and is in the cookie, with `csrf` for the header Roost-CSRF; or a token was made, `token` and `id`."""

    user: str
    csrf: str | UnsetType = UNSET
    token: str | UnsetType = UNSET
    id: int | UnsetType = UNSET


class Defaults(Versioned):
    """What the caller's jobs are like unless they say otherwise: keys of a JobSpec."""

    defaults: Annotated[dict[str, Any], msgspec.Meta(extra_json_schema={"$ref": "#/components/schemas/JobDefaults"})]
