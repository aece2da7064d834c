"""Whether two outputs of coz say the same: all words and counts, and figures but for the rounding of sums."""
import json
import math

# Sums of doubles, which are added up in another order.
_ROUNDING = 1e-9


def difference(one, other, path=""):
    """The first difference of two JSON values, as "PATH: this and that"; None where there is none."""
    if isinstance(one, float) or isinstance(other, float):
        both = [one, other]
        if all(isinstance(value, (int, float)) for value in both) and math.isclose(*both, rel_tol=_ROUNDING, abs_tol=_ROUNDING):
            return None
    elif isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return _first(difference(value, other[key], f"{path}.{key}") for key, value in one.items())
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return _first(difference(*pair, f"{path}[{index}]") for index, pair in enumerate(zip(one, other)))
    elif one == other:
        return None
    return f"{path or 'the whole'}: {json.dumps(one)[:200]} and {json.dumps(other)[:200]}"


def difference_of_lines(one, other):
    """The same of two texts with a JSON value in each line."""
    return difference([json.loads(line) for line in one.splitlines()], [json.loads(line) for line in other.splitlines()])


def _first(found):
    return next((text for text in found if text is not None), None)
