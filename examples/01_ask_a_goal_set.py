"""One achieved state, many questions.

A robot's log contains no goals. This example takes one state that a scripted robot reached on the
tabletop and asks several questions about it. For each question it prints how much of the log
answers it. The fewer variables a question looks at, the more of the log answers it.

    python examples/01_ask_a_goal_set.py
"""

from goalsets import GoalSet, Query
from goalsets.envs.tabletop import record_play, tabletop_layout

layout = tabletop_layout(num_blocks=1)
play = record_play(num_episodes=500, episode_length=200, seed=0)
states = play.observations  # [episodes, time, coordinates]
reference = states[0, 120]

for text in ("all", "ee_pose & cube_pose", "ee_pose", "cube_pose", "cube_pos", "cube_yaw"):
    query = Query.parse(text, layout)
    inside = GoalSet(reference, query).contains(states)
    share = inside.any(axis=1).mean()  # episodes that pass through the set
    print(f"{text:22} {len(query):2} coordinates  {share:6.1%} of episodes")

# Why a state is outside: each term with its distance and its tolerance.
question = Query.parse("cube_pos:2cm & ee_pose", layout)
for term in GoalSet(reference, question).violations(states[0, 100]):
    verdict = "satisfied" if term.satisfied else "violated"
    print(f"{term.name:12} {term.distance:.2f} of {term.tolerance:.2f}  {verdict}")
