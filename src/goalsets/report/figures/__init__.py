"""Figures, one file each; all take results and give drawings, or none where there is nothing."""
