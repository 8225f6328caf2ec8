"""The playground: point at a goal, tick what matters, watch the robot do it.

What can be tested without a browser is apart from the page. `Show` is the model: a goal with the
source of each of its numbers, a question, one stage for each checkpoint, a clock, and what was
recorded. The page (`page`, `panels`, `scene`) draws a show with viser and passes on what people do;
`app` gives each browser tab a session of its own.
"""
