"""Planning when the goal is a function of where you spend your time, and you get one run."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gumdp import plot as plot
    from gumdp import zoo as zoo
    from gumdp.acting import play as play
    from gumdp.comparison import Comparison as Comparison
    from gumdp.comparison import compare as compare
    from gumdp.environment import OccupancyEnv as OccupancyEnv
    from gumdp.errors import GumdpError as GumdpError
    from gumdp.evaluation import evaluate as evaluate
    from gumdp.evaluation import run_trial as run_trial
    from gumdp.history import histories_of as histories_of
    from gumdp.history import history_of as history_of
    from gumdp.history import running_occupancy as running_occupancy
    from gumdp.models.bins import Bins as Bins
    from gumdp.models.gymnasium import from_gymnasium as from_gymnasium
    from gumdp.models.learned import Learned as Learned
    from gumdp.models.learned import learn as learn
    from gumdp.models.simulator import Simulator as Simulator
    from gumdp.models.tabular import Tabular as Tabular
    from gumdp.objectives.base import Objective as Objective
    from gumdp.objectives.check import check_objective as check_objective
    from gumdp.objectives.compose import normalized as normalized
    from gumdp.objectives.constrained import Constrained as Constrained
    from gumdp.objectives.divergence import KLImitation as KLImitation
    from gumdp.objectives.entropy import Entropy as Entropy
    from gumdp.objectives.entropy import StateEntropy as StateEntropy
    from gumdp.objectives.function import Function as Function
    from gumdp.objectives.imitation import Imitation as Imitation
    from gumdp.objectives.linear import Linear as Linear
    from gumdp.objectives.mean_variance import MeanVariance as MeanVariance
    from gumdp.objectives.quadratic import Quadratic as Quadratic
    from gumdp.objectives.risk import entropic as entropic
    from gumdp.objectives.target import Target as Target
    from gumdp.objectives.worst_case import WorstCase as WorstCase
    from gumdp.occupancy import empirical_occupancy as empirical_occupancy
    from gumdp.occupancy import expected_occupancy as expected_occupancy
    from gumdp.occupancy import horizon_for as horizon_for
    from gumdp.occupancy import occupancy_covariance as occupancy_covariance
    from gumdp.occupancy import step_weights as step_weights
    from gumdp.occupancy import truncation_gap as truncation_gap
    from gumdp.occupancy_mdp import OccupancyMDP as OccupancyMDP
    from gumdp.occupancy_mdp import OccupancyState as OccupancyState
    from gumdp.planners.baselines import Greedy as Greedy
    from gumdp.planners.baselines import Markov as Markov
    from gumdp.planners.baselines import Random as Random
    from gumdp.planners.baselines import Stationary as Stationary
    from gumdp.planners.exact import Exact as Exact
    from gumdp.planners.mcts import MCTS as MCTS
    from gumdp.planners.nonmarkov import NonMarkov as NonMarkov
    from gumdp.planners.solver import Solver as Solver
    from gumdp.problem import Problem as Problem
    from gumdp.results import Bound as Bound
    from gumdp.results import Certificate as Certificate
    from gumdp.results import Decision as Decision
    from gumdp.results import Evaluation as Evaluation
    from gumdp.results import Solution as Solution
    from gumdp.results import Trial as Trial
    from gumdp.solvers.bounds import lower_bound as lower_bound
    from gumdp.solvers.certify import certify as certify
    from gumdp.solvers.exact import solve_exact as solve_exact
    from gumdp.solvers.infinite import solve_infinite as solve_infinite
    from gumdp.solvers.policy_value import exact_value as exact_value
    from gumdp.solvers.policy_value import infinite_trials_value as infinite_trials_value

__version__ = "0.1.0"

# Where each public name lives. Names are imported when they are first used: `gumdp list` and `gumdp --help` answer
# at once, without the half second that compiled code and solvers take to load. Type checkers read the list above.
_HOMES = {
    "Bins": "gumdp.models.bins",
    "Bound": "gumdp.results",
    "Certificate": "gumdp.results",
    "Comparison": "gumdp.comparison",
    "Constrained": "gumdp.objectives.constrained",
    "Decision": "gumdp.results",
    "Entropy": "gumdp.objectives.entropy",
    "Evaluation": "gumdp.results",
    "Exact": "gumdp.planners.exact",
    "Function": "gumdp.objectives.function",
    "Greedy": "gumdp.planners.baselines",
    "GumdpError": "gumdp.errors",
    "Imitation": "gumdp.objectives.imitation",
    "KLImitation": "gumdp.objectives.divergence",
    "Learned": "gumdp.models.learned",
    "Linear": "gumdp.objectives.linear",
    "MCTS": "gumdp.planners.mcts",
    "Markov": "gumdp.planners.baselines",
    "MeanVariance": "gumdp.objectives.mean_variance",
    "NonMarkov": "gumdp.planners.nonmarkov",
    "Objective": "gumdp.objectives.base",
    "OccupancyEnv": "gumdp.environment",
    "OccupancyMDP": "gumdp.occupancy_mdp",
    "OccupancyState": "gumdp.occupancy_mdp",
    "Problem": "gumdp.problem",
    "Quadratic": "gumdp.objectives.quadratic",
    "Random": "gumdp.planners.baselines",
    "Simulator": "gumdp.models.simulator",
    "Solution": "gumdp.results",
    "Solver": "gumdp.planners.solver",
    "StateEntropy": "gumdp.objectives.entropy",
    "Stationary": "gumdp.planners.baselines",
    "Tabular": "gumdp.models.tabular",
    "Target": "gumdp.objectives.target",
    "Trial": "gumdp.results",
    "WorstCase": "gumdp.objectives.worst_case",
    "certify": "gumdp.solvers.certify",
    "check_objective": "gumdp.objectives.check",
    "compare": "gumdp.comparison",
    "empirical_occupancy": "gumdp.occupancy",
    "entropic": "gumdp.objectives.risk",
    "evaluate": "gumdp.evaluation",
    "exact_value": "gumdp.solvers.policy_value",
    "expected_occupancy": "gumdp.occupancy",
    "from_gymnasium": "gumdp.models.gymnasium",
    "histories_of": "gumdp.history",
    "history_of": "gumdp.history",
    "horizon_for": "gumdp.occupancy",
    "infinite_trials_value": "gumdp.solvers.policy_value",
    "learn": "gumdp.models.learned",
    "lower_bound": "gumdp.solvers.bounds",
    "normalized": "gumdp.objectives.compose",
    "occupancy_covariance": "gumdp.occupancy",
    "play": "gumdp.acting",
    "plot": "gumdp.plot",
    "run_trial": "gumdp.evaluation",
    "running_occupancy": "gumdp.history",
    "solve_exact": "gumdp.solvers.exact",
    "solve_infinite": "gumdp.solvers.infinite",
    "step_weights": "gumdp.occupancy",
    "truncation_gap": "gumdp.occupancy",
    "zoo": "gumdp.zoo",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'gumdp' has no attribute {name!r}")
    home = importlib.import_module(_HOMES[name])
    value = home if home.__name__ == f"gumdp.{name}" else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
