"""Chains of questions: a planner divides a goal into questions that the policy can answer."""

from goalsets.plan.chain import Plan, Step
from goalsets.plan.follow import Follower, Following
from goalsets.plan.planner import Planner
from goalsets.plan.planner_file import read_planner, write_planner
from goalsets.plan.policy import PlanningPolicy

__all__ = [
    "Follower",
    "Following",
    "Plan",
    "Planner",
    "PlanningPolicy",
    "Step",
    "read_planner",
    "write_planner",
]
