"""Collects OGBench data sets on this machine with the scripted oracles that OGBench ships."""

from goalsets.collect.errors import CollectError, CollectStopped
from goalsets.collect.recipes import RECIPES, Recipe, can_collect, recipe_for
from goalsets.collect.run import Collection, collect

__all__ = [
    "RECIPES",
    "CollectError",
    "CollectStopped",
    "Collection",
    "Recipe",
    "can_collect",
    "collect",
    "recipe_for",
]
