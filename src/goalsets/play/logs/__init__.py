"""The playground without a simulator: recorded episodes, and what a policy says of them.

A run on logs of one's own has no environment to act in. Its held-out episodes show what the robot
did; the policy is asked at every step of them what it would have done. Nothing moves that was not
recorded.

As in the playground with a simulator, the model is apart from the page: `LogShow` is what can be
tested without a browser; `page` and `scene` draw it.
"""
