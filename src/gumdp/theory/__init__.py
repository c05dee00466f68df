"""The paper's constructions: the occupancy MDP as a type, and histories as its states."""

from gumdp.theory.history import histories_of as histories_of
from gumdp.theory.history import history_of as history_of
from gumdp.theory.history import running_occupancy as running_occupancy
from gumdp.theory.occupancy_mdp import OccupancyMDP as OccupancyMDP
from gumdp.theory.occupancy_mdp import OccupancyState as OccupancyState
