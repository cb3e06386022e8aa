"""The figures of the paper, each as data for `dgtd figures`: what it says, our claims, and what is drawn."""
