"""`python -m goalsets.campaign`: make our results."""

from goalsets.campaign.results import main

main()
