"""An episode from scenario to verdict: run, log, replay, faults, films."""
