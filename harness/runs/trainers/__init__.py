"""What runs lanes: one file for each kind of learner, behind the protocol in `trainer`."""
