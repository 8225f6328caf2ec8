"""A policy server, and its client.

    models.py     which policies are served, and what people may know of them
    questions.py  from what came over the wire to arrays, and to answers
    plans.py      chains of questions: made, followed and told
    schema.py     the wire format; errors.py: how a refusal reads
    limits.py     how much of everything there may be
    reading.py    messages are counted before they are read
    state.py      what is under way
    guard.py      who may speak to the server
    door.py       requests: bounded in size, in time and in number
    session.py    control loops over a WebSocket
    metrics.py    what Prometheus reads
    app.py        the endpoints
    connections.py  connections that cannot be held open for nothing
    server.py     the process: an address, signals, an orderly end
    client.py     the other side, which needs neither torch nor FastAPI: requests, and in
                  client_session.py control loops; client_plan.py plans; client_words.py is what all
                  of them say and hear

Nothing is imported here: a robot that uses the client should not pay for the server.
"""
