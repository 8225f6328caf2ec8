"""What a run is: configuration, frame, weights and directory. Nothing here trains."""
