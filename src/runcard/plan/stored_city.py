"""The city in a policy file: the texts of its folder, compressed, for incidents and units anywhere in it.

It is a word of the header beside `runcard`, not an array, so that readers which do not know it pass over it. What the
file says of itself has its digest, and how far trucks from outside drive, which all routes of the city would say. The
city is unpacked and read when it is first needed, and refused in a sentence if it is not sound.
"""

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from runcard.city.files import city_from_texts, city_texts
from runcard.city.model import City
from runcard.errors import CityError, PolicyFileError
from runcard.plan.ground import Ground
from runcard.plan.plan import Plan

KEY: Final = "city"
"""Of the word of the header, and of what the file says of it."""

MOST_BYTES: Final = 256 * 2**20
"""Of the texts of a city, unpacked."""

MOST_LINKS: Final = 10**9


def pack_city(plan: Plan) -> tuple[dict[str, Any], dict[str, str]]:
    """What a file says of the city of a plan, and the word of its header; both empty if there is no city."""
    ground = plan.ground
    if ground is None:
        return {}, {}
    texts = json.dumps(city_texts(ground.city)).encode()
    word = base64.b64encode(zlib.compress(texts, 9)).decode()
    outside = {fleet.kind: ground.outside_links(fleet) for fleet in plan.fleets}
    return {KEY: {"digest": _digest(word), "outside_links": outside}}, {KEY: word}


def ground_of(about: Mapping[str, Any], words: Mapping[str, Any]) -> Ground | None:
    """The city of a file as a ground, which is read when it is needed; None if the file has none."""
    said, word = about.get(KEY), words.get(KEY)
    if said is None and word is None:
        return None
    if not isinstance(said, dict) or not isinstance(word, str) or said.get("digest") != _digest(word):
        raise PolicyFileError("damaged: its city does not match its digest")
    outside = said.get("outside_links")
    if not isinstance(outside, dict) or not all(
        type(one) is int and 1 <= one <= MOST_LINKS for one in outside.values()
    ):
        raise PolicyFileError(f"damaged: expected the links of trucks from outside by kind, found {outside!r:.80}")
    return Ground(partial(_unpacked, word), outside)


def _digest(word: str) -> str:
    return hashlib.blake2b(word.encode(), digest_size=16).hexdigest()


def _unpacked(word: str) -> City:
    """The city of a word; whoever wrote it, it is refused in a sentence, or it is a sound city."""
    try:
        unpacking = zlib.decompressobj()
        content = unpacking.decompress(base64.b64decode(word, validate=True), MOST_BYTES)
        if not unpacking.eof:
            raise PolicyFileError(f"the city in the policy file is cut short, or of more than {MOST_BYTES:,} bytes")
        texts = json.loads(content)
        if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
            raise PolicyFileError("the city in the policy file is damaged: expected the texts of its files")
        return city_from_texts(texts)
    except CityError as error:
        raise PolicyFileError(f"the city in the policy file is not sound: {error}") from error
    except (ValueError, zlib.error, RecursionError) as error:
        raise PolicyFileError(f"the city in the policy file is damaged: {error!r:.100}") from error
