"""What plans achieve: outcomes with intervals, exact or simulated, side by side, before and after, and why."""
