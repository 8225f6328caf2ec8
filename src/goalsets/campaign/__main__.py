"""`python -m goalsets.campaign`: make our results."""

from goalsets.campaign.stages import main

main()
