"""Who goes: plans, which have a policy for each period and kind of units, situations and answers, and the plan file."""
