"""Figures, one file each; all take results and return drawings, or none."""
