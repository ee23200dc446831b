"""Addresses and networks of machines, read from text. Pure."""

import ipaddress

from roost.messages import MessageError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class BadNetwork(MessageError, ValueError):
    """A text that is neither an address nor a network."""


def networks(text: str) -> tuple[Network, ...]:
    """The networks that stand between commas, a single address being one of its own; `BadNetwork` names what is neither."""
    found: list[Network] = []
    for word in filter(None, (part.strip() for part in text.split(","))):
        try:
            found.append(ipaddress.ip_network(word, strict=False))
        except ValueError:
            raise BadNetwork("setting.bad_network", word=word) from None
    return tuple(found)


def address(text: str) -> Address | None:
    """One address, `1.2.3.4`, `1.2.3.4:80`, `::1` or `[::1]:80`; None when it is none. IPv4 inside IPv6 is IPv4."""
    word = text.strip().strip('"')
    if word.startswith("["):
        word = word[1:].partition("]")[0]
    elif word.count(":") == 1:
        word = word.partition(":")[0]
    try:
        found = ipaddress.ip_address(word.partition("%")[0])
    except ValueError:
        return None
    inside = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return inside or found
