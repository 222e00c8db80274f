"""References over time: lines, joint moves, ramps, brakes; and the guards that end them early."""
