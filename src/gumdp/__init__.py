"""Planning when the goal is a function of where you spend your time, and you get one run."""

from __future__ import annotations

import importlib
import operator
import sys
import warnings
from typing import TYPE_CHECKING, Any

from gumdp.registration import register_when_imported

if TYPE_CHECKING:
    from gumdp import occupancy as occupancy
    from gumdp import plot as plot
    from gumdp import theory as theory
    from gumdp import zoo as zoo
    from gumdp.average.planner import BestOnAverage as BestOnAverage
    from gumdp.average.solve import solve_infinite as solve_infinite
    from gumdp.bounds.bound import lower_bound as lower_bound
    from gumdp.bounds.planner import Dual as Dual
    from gumdp.counts.features import Features as Features
    from gumdp.counts.hashed import Hashed as Hashed
    from gumdp.errors import GumdpError as GumdpError
    from gumdp.exact.planner import Exact as Exact
    from gumdp.exact.policy_value import exact_value as exact_value
    from gumdp.exact.policy_value import infinite_trials_value as infinite_trials_value
    from gumdp.exact.solve import solve_exact as solve_exact
    from gumdp.experiments.plan.experiment import Experiment as Experiment
    from gumdp.experiments.run import run_experiment as run_experiment
    from gumdp.models.base import Model as Model
    from gumdp.models.belief import Belief as Belief
    from gumdp.models.bins import Bins as Bins
    from gumdp.models.check import check_model as check_model
    from gumdp.models.gymnasium.adapter import from_gymnasium as from_gymnasium
    from gumdp.models.learned import Learned as Learned
    from gumdp.models.learned import learn as learn
    from gumdp.models.saved import load_model as load_model
    from gumdp.models.saved import save_model as save_model
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
    from gumdp.objectives.groups import GroupEntropy as GroupEntropy
    from gumdp.objectives.imitation import Imitation as Imitation
    from gumdp.objectives.linear import Linear as Linear
    from gumdp.objectives.mean_variance import MeanVariance as MeanVariance
    from gumdp.objectives.quadratic import Quadratic as Quadratic
    from gumdp.objectives.ratio import Ratio as Ratio
    from gumdp.objectives.risk import entropic as entropic
    from gumdp.objectives.tail import Chance as Chance
    from gumdp.objectives.tail import cvar as cvar
    from gumdp.objectives.target import Target as Target
    from gumdp.objectives.utility import Utility as Utility
    from gumdp.objectives.welfare import Chebyshev as Chebyshev
    from gumdp.objectives.welfare import CobbDouglas as CobbDouglas
    from gumdp.objectives.welfare import Gini as Gini
    from gumdp.objectives.welfare import Minimum as Minimum
    from gumdp.objectives.welfare import Nash as Nash
    from gumdp.objectives.welfare import PMean as PMean
    from gumdp.objectives.welfare import WeightedSum as WeightedSum
    from gumdp.objectives.worst_case import WorstCase as WorstCase
    from gumdp.policies.base import Planner as Planner
    from gumdp.policies.base import Policy as Policy
    from gumdp.policies.by_hand import ByHand as ByHand
    from gumdp.policies.check import check_planner as check_planner
    from gumdp.policies.fixed import Greedy as Greedy
    from gumdp.policies.fixed import Markov as Markov
    from gumdp.policies.fixed import Random as Random
    from gumdp.policies.fixed import Stationary as Stationary
    from gumdp.policies.history import NonMarkov as NonMarkov
    from gumdp.problem import Problem as Problem
    from gumdp.report.frame import read_results as read_results
    from gumdp.results import Bound as Bound
    from gumdp.results import Certificate as Certificate
    from gumdp.results import Decision as Decision
    from gumdp.results import Evaluation as Evaluation
    from gumdp.results import Measure as Measure
    from gumdp.results import Solution as Solution
    from gumdp.results import Trial as Trial
    from gumdp.run.act import play as play
    from gumdp.run.certify import certify as certify
    from gumdp.run.compare import Comparison as Comparison
    from gumdp.run.compare import compare as compare
    from gumdp.run.environment import OccupancyEnv as OccupancyEnv
    from gumdp.run.evaluate import evaluate as evaluate
    from gumdp.run.evaluate import run_trial as run_trial
    from gumdp.run.registry import register_planner as register_planner
    from gumdp.run.tail import fit_threshold as fit_threshold
    from gumdp.search.planner import MCTS as MCTS
    from gumdp.search.worlds import CertaintyEquivalent as CertaintyEquivalent
    from gumdp.search.worlds import Optimistic as Optimistic
    from gumdp.search.worlds import Robust as Robust
    from gumdp.search.worlds import Thompson as Thompson
    from gumdp.zoo.registry import register_problem as register_problem

__version__ = "0.2.0"

# Where each public name lives. Names are imported when they are first used: `gumdp list` and `gumdp --help` answer
# at once, without the half second that compiled code and solvers take to load. Type checkers read the list above.
_HOMES = {
    "Belief": "gumdp.models.belief",
    "BestOnAverage": "gumdp.average.planner",
    "Bins": "gumdp.models.bins",
    "Bound": "gumdp.results",
    "ByHand": "gumdp.policies.by_hand",
    "CertaintyEquivalent": "gumdp.search.worlds",
    "Certificate": "gumdp.results",
    "Chance": "gumdp.objectives.tail",
    "Chebyshev": "gumdp.objectives.welfare",
    "CobbDouglas": "gumdp.objectives.welfare",
    "Comparison": "gumdp.run.compare",
    "Constrained": "gumdp.objectives.constrained",
    "Decision": "gumdp.results",
    "Entropy": "gumdp.objectives.entropy",
    "Evaluation": "gumdp.results",
    "Dual": "gumdp.bounds.planner",
    "Exact": "gumdp.exact.planner",
    "Experiment": "gumdp.experiments.plan.experiment",
    "Features": "gumdp.counts.features",
    "Function": "gumdp.objectives.function",
    "Gini": "gumdp.objectives.welfare",
    "Greedy": "gumdp.policies.fixed",
    "GroupEntropy": "gumdp.objectives.groups",
    "GumdpError": "gumdp.errors",
    "Hashed": "gumdp.counts.hashed",
    "Imitation": "gumdp.objectives.imitation",
    "KLImitation": "gumdp.objectives.divergence",
    "Learned": "gumdp.models.learned",
    "Linear": "gumdp.objectives.linear",
    "MCTS": "gumdp.search.planner",
    "Markov": "gumdp.policies.fixed",
    "MeanVariance": "gumdp.objectives.mean_variance",
    "Measure": "gumdp.results",
    "Minimum": "gumdp.objectives.welfare",
    "Model": "gumdp.models.base",
    "Nash": "gumdp.objectives.welfare",
    "NonMarkov": "gumdp.policies.history",
    "Objective": "gumdp.objectives.base",
    "OccupancyEnv": "gumdp.run.environment",
    "Optimistic": "gumdp.search.worlds",
    "PMean": "gumdp.objectives.welfare",
    "Planner": "gumdp.policies.base",
    "Policy": "gumdp.policies.base",
    "Problem": "gumdp.problem",
    "Quadratic": "gumdp.objectives.quadratic",
    "Random": "gumdp.policies.fixed",
    "Ratio": "gumdp.objectives.ratio",
    "Robust": "gumdp.search.worlds",
    "Simulator": "gumdp.models.simulator",
    "Solution": "gumdp.results",
    "StateEntropy": "gumdp.objectives.entropy",
    "Stationary": "gumdp.policies.fixed",
    "Tabular": "gumdp.models.tabular",
    "Target": "gumdp.objectives.target",
    "Thompson": "gumdp.search.worlds",
    "Trial": "gumdp.results",
    "Utility": "gumdp.objectives.utility",
    "WeightedSum": "gumdp.objectives.welfare",
    "WorstCase": "gumdp.objectives.worst_case",
    "certify": "gumdp.run.certify",
    "check_model": "gumdp.models.check",
    "check_objective": "gumdp.objectives.check",
    "check_planner": "gumdp.policies.check",
    "compare": "gumdp.run.compare",
    "cvar": "gumdp.objectives.tail",
    "entropic": "gumdp.objectives.risk",
    "evaluate": "gumdp.run.evaluate",
    "exact_value": "gumdp.exact.policy_value",
    "fit_threshold": "gumdp.run.tail",
    "from_gymnasium": "gumdp.models.gymnasium.adapter",
    "infinite_trials_value": "gumdp.exact.policy_value",
    "learn": "gumdp.models.learned",
    "load_model": "gumdp.models.saved",
    "lower_bound": "gumdp.bounds.bound",
    "normalized": "gumdp.objectives.compose",
    "occupancy": "gumdp.occupancy",
    "play": "gumdp.run.act",
    "plot": "gumdp.plot",
    "read_results": "gumdp.report.frame",
    "register_planner": "gumdp.run.registry",
    "register_problem": "gumdp.zoo.registry",
    "run_experiment": "gumdp.experiments.run",
    "run_trial": "gumdp.run.evaluate",
    "save_model": "gumdp.models.saved",
    "solve_exact": "gumdp.exact.solve",
    "solve_infinite": "gumdp.average.solve",
    "theory": "gumdp.theory",
    "zoo": "gumdp.zoo",
}

# Names that moved: the old ones go on working in 0.2, and say the new one.
_FORMER = {
    "Solver": "BestOnAverage",
    "empirical_occupancy": "occupancy.empirical_occupancy",
    "expected_occupancy": "occupancy.expected_occupancy",
    "horizon_for": "occupancy.horizon_for",
    "occupancy_covariance": "occupancy.occupancy_covariance",
    "step_weights": "occupancy.step_weights",
    "truncation_gap": "occupancy.truncation_gap",
    "histories_of": "theory.histories_of",
    "history_of": "theory.history_of",
    "running_occupancy": "theory.running_occupancy",
    "OccupancyMDP": "theory.OccupancyMDP",
    "OccupancyState": "theory.OccupancyState",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _FORMER:
        warnings.warn(f"gumdp.{name} is now gumdp.{_FORMER[name]}.", DeprecationWarning, stacklevel=2)
        return operator.attrgetter(_FORMER[name])(sys.modules[__name__])
    if name not in _HOMES:
        raise AttributeError(f"module 'gumdp' has no attribute {name!r}")
    home = importlib.import_module(_HOMES[name])
    value = home if home.__name__ == f"gumdp.{name}" else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


register_when_imported()
