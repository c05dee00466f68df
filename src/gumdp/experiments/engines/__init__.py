"""Who plays an experiment's trials: processes here, or a cluster."""
