"""The playground without a simulator: recorded episodes, and what a policy says about them.

A run on your own logs has no environment to act in. Its held-out episodes show what the robot did.
At every step of them, the policy is asked what it would have done. Nothing is simulated.

As in the playground with a simulator, the model is separate from the page: `LogShow` can be tested
without a browser; `page` and `scene` draw it.
"""
