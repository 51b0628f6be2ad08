"""What `check` says: whole sentences with named values, so that another language can replace them one by one."""

SAY = {
    "right": "Right on every example. Score: {points:g} of {points:g}.",
    "stub": "Not done yet: complete `{signature}`, run its cell, then run this one again.",
    # ---- nothing was tried
    "not_callable": "Not yet: write `check({id!r}, {name})` with the function itself; this got {got}.",
    "swapped": "The id comes first: write `check({id!r}, {name})`. Nothing was checked.",
    "other_function": "Check {id!r} is about `{signature}`; `{name}` belongs to check {other!r}. Nothing was checked.",
    "unknown_near": "There is no check {id}; did you mean {near!r}? Nothing was checked.",
    "unknown": "There is no check {id}; the id stands in the exercise's text. Nothing was checked.",
    # ---- the call gave nothing
    "arguments": "Not yet: your function is called as `{call}`, and yours does not take these arguments: {error}.",
    "raised": "Not yet: `{call}` raised {error} (line {line} of your code).",
    "raised_elsewhere": "Not yet: `{call}` raised {error}.",
    "late": "Not yet: `{call}` had not finished after {seconds:g} seconds. Look for a loop that never ends.",
    "input": "Not yet: `{call}` asked for `input()`. All that it needs comes as arguments.",
    "printed": "Not yet: `{call}` returned None. Did you print the answer instead of returning it?",
    "in_place": "Not yet: `{call}` changed its input and returned None. End it with `return` and the result.",
    "nothing": "Not yet: `{call}` returned None. Does every path through the function end in `return`?",
    # ---- a value of another form
    "form": "Not yet: `{call}` returned {got}. {fault}",
    "asked": "Asked for: `{form}`.",
    "kind": "`{where}` should be of type {want}, not {kind}.",
    "kind_number": "`{where}` should be a plain number, not {kind}: put `float(…)` or `int(…)` around it.",
    "kind_text": "`{where}` should be a number, not text: leave out the quotes, `str(…)` or formatting.",
    "kind_list": "`{where}` should be a list, not {kind}: put `list(…)` around it.",
    "kind_call": "`{where}` should be of type {want}, not {kind}: did you leave out the parentheses of a call?",
    "kind_async": "`{where}` should be of type {want}, not coroutine: write `def` instead of `async def`.",
    "finite": "`{where}` should be a finite number, not {got}.",
    "length": "`{where}` should hold {want} values, not {length}.",
    "keys": "`{where}` should have exactly the keys {want}, not {keys}.",
    "large": "`{where}` holds far more than was asked for.",
    # ---- a wrong value
    "too_large": "Not yet: `{call}` returned {got}; `{where}` is too large.",
    "too_small": "Not yet: `{call}` returned {got}; `{where}` is too small.",
    "large_factor": "Not yet: `{call}` returned {got}; `{where}` is too large by a factor of {ratio}.",
    "small_factor": "Not yet: `{call}` returned {got}; `{where}` is too small by a factor of {ratio}.",
    "large_percent": "Not yet: `{call}` returned {got}; `{where}` is too large by {percent} %.",
    "small_percent": "Not yet: `{call}` returned {got}; `{where}` is too small by {percent} %.",
    "value": "Not yet: `{call}` returned {got}; `{where}` is not right.",
    "diagnosed": "Not yet: `{call}` returned {got}. {message}",
    "differs": "Not yet: `{call}` returned {got} at first, and {again} when it was called again with the same input.",
    "keeps": "Does it change a variable outside it or a default argument, or draw random numbers?",
    "whole": "Did you round, or use `//` where `/` is meant?",
    "agree": "Examples that agree: {agree} of {cases}.",
    "partial": "Points so far: {earned:g} of {points:g}, for {groups}.",
    # ---- what the function printed
    "cut": "… ({shown} of {total} characters of what your function printed)",
}

SAY_OF_A_QUANTITY = {
    "right": "Right. Score: {points:g} of {points:g}.",
    "stub": "Not done yet: give `{signature}` a value, run its cell, then run this one again.",
    "form": 'Not yet: `{call}` is {got}. Write a number in {unit}, or a text with number and unit: "12 {unit}".',
    "form_pure": "Not yet: `{call}` is {got}. Write a plain number; it has no unit.",
    "nothing": "Not done yet: `{call}` is None.",
    "too_large": "Not yet: `{call}` is {quantity}; that is too large.",
    "too_small": "Not yet: `{call}` is {quantity}; that is too small.",
    "large_factor": "Not yet: `{call}` is {quantity}; that is too large by a factor of {ratio}.",
    "small_factor": "Not yet: `{call}` is {quantity}; that is too small by a factor of {ratio}.",
    "large_percent": "Not yet: `{call}` is {quantity}; that is too large by {percent} %.",
    "small_percent": "Not yet: `{call}` is {quantity}; that is too small by {percent} %.",
    "value": "Not yet: `{call}` is {quantity}; that is not right.",
    "diagnosed": "Not yet: `{call}` is {quantity}. {message}",
}
"""Where the learner assigns a quantity: the sentences that differ, for nothing is called and nothing returned."""
