"""What no policy can be better than, and how far from it policies are at most, for the terminal."""

from runcard.assess.policy_choice import is_small, policy_note
from runcard.city.model import LATE, City
from runcard.cli.show_comparison import print_files
from runcard.cli.terminal import make_console
from runcard.outputs.bound import Bounded
from runcard.outputs.bound_words import BY_CHANCE, ESTIMATED, EXACTLY, bound_lines, bound_table, work_words
from runcard.plan.words import PLUS_MINUS, city_line, counted, kind_line, objective_words, table_words


def print_bound(city: City, found: Bounded) -> None:
    """Print the bound of a city beside its policies, in a table and in a sentence, and then each kind of units."""
    console = make_console()
    console.print(city_line(city), style="bold")
    print_files(found.beside.choices)
    console.print(bound_table(found))
    units = f"{next(iter(found.kinds))}s" if len(found.kinds) == 1 else "units"
    for line in bound_lines(found, units=units):
        console.print(line)
    if not found.proven:
        console.print(ESTIMATED)
    console.print()
    for kind, own in found.kinds.items() if len(found.kinds) > 1 else ():
        console.print(kind_line(own.city, kind), style="bold")
        console.print(bound_table(own))
    for kind, own in found.kinds.items():
        console.print(f"{kind if len(found.kinds) > 1 else 'Bound'}: {work_words(kind, own.bounds[kind])}.")
    console.print(
        f"Simulated: {counted(found.beside.num_incidents or 0, 'incident')} for each policy, seed {found.seed}. "
        f"{PLUS_MINUS}; what could be avoided counts from its upper end."
    )
    shown = [found, *found.kinds.values()]
    if any(outcome.missed.value < part.lower for part in shown for outcome in part.beside):
        console.print(BY_CHANCE)
    for kind, own in found.kinds.items():
        if is_small(own.city):
            console.print(EXACTLY.format(units=f"{kind}s"))
        for choice in found.beside.choices:
            if note := policy_note(own.city, choice.name_for(kind)):
                console.print(f"{kind}: {note}" if len(found.kinds) > 1 else note)
    if city.objective != LATE:
        counts, missed = objective_words(city.objective), table_words(city).fraction
        console.print(f"Policies minimise {counts}; the bound is on {missed} all the same.")
    if city.has_periods:
        console.print("Rates are the means of the week, not those of its periods.")
