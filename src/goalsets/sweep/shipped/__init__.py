"""The sweeps that goalsets ships, one YAML file each."""
