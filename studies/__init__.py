"""The study of the planner: experiment files, and the page that is made of their results.

``make study`` runs and writes all of it.
"""
