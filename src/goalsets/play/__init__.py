"""The playground: point at a goal, tick what matters, watch the robot do it.

The model is separate from the page, so that it can be tested without a browser. `Show` is the
model: a goal with the source of each of its numbers, a question, one stage for each checkpoint, a
clock, and recordings. The page (`page`, `panels`, `scene`) draws a show with viser and passes on
what people do. `app` gives each browser tab its own session.
"""
