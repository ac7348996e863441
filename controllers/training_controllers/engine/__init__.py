"""The replica engine that all kinds share: from a snapshot of the world to a plan, and from the plan to effects."""
