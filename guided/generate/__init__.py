"""Models, the sampler, generators and their events."""
