"""The MDPs and environments that claims are checked on. Each function makes one Problem."""
