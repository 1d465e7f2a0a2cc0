"""How late each team would be: routes, driving times, lateness.

city ── travel_of ──▶ Travel: routes, laws, turnout, outside ──┐
  └──── needs_of ───▶ Needs: trucks, arrivals, targets ────────┴── response_table ──▶ ResponseTable
                                                                   P(late) and minutes, team × demand point,
                                                                   and the first and the last arrival
"""
