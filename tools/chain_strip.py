"""Draw a strip of pictures of one episode with a chain of questions: how each question ended.

python tools/chain_strip.py RUN docs/assets/swap.jpg --task-id 4 --seed 3
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

os.environ.setdefault("MUJOCO_GL", "egl")

from goalsets.evaluate.strip import draw_strip
from goalsets.runs.run import Run


def main() -> None:
    """Run the episode and draw the strip."""
    parser = argparse.ArgumentParser(description="Draw an episode by a chain of questions.")
    parser.add_argument("run", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--task-id", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=9, help="pictures besides the start")
    asked = parser.parse_args()
    strip = draw_strip(Run.open(asked.run), asked.task_id, asked.seed, asked.most)
    strip.image.save(asked.picture, quality=88)
    print(f"{'reached' if strip.success else 'not reached'} after {strip.steps} steps")
    print(f"{asked.picture}: {asked.picture.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
