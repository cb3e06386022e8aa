"""dgtd: claims about gradient temporal-difference learning, checked by a machine."""
