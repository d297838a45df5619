#!/usr/bin/env python3
"""Train a skill; the entry that notebooks and job schedulers call. Same arguments as `skillopt train`."""

from __future__ import annotations

from skillopt.__main__ import main_train

if __name__ == "__main__":
    main_train()
