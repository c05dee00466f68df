"""The former home of ``OccupancyEnv``, for ``gymnasium.make("gumdp.environment:gumdp/Occupancy-v0", …)``."""

from gumdp.run.environment import OccupancyEnv as OccupancyEnv
