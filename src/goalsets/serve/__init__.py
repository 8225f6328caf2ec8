"""A policy server, and its client.

    models.py     the policies that are served, and their descriptions
    questions.py  requests become arrays, arrays become answers
    plans.py      chains of questions: make, follow and describe them
    schema.py     the wire format; errors.py: the form of a refusal
    limits.py     upper bounds on everything
    reading.py    checks the size of a message before it is parsed
    state.py      what is in progress
    guard.py      who may use the server
    door.py       bounds requests in size, time and number
    session.py    control loops over a WebSocket
    metrics.py    metrics for Prometheus
    app.py        the endpoints
    connections.py  drops connections that are held open for nothing
    server.py     the process: address, signals, shutdown
    client.py     the client, which needs neither torch nor FastAPI; client_session.py has its
                  control loops, client_plan.py its plans, client_words.py what they share

Nothing is imported here, so that a robot with only the client need not import the server.
"""
