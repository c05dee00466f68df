"""Planning when the goal is a function of where you spend your time, and you get one run."""

from __future__ import annotations

from gumdp import zoo
from gumdp.errors import GumdpError
from gumdp.evaluate import evaluate, run_trial
from gumdp.models.simulator import Simulator
from gumdp.models.tabular import Tabular
from gumdp.objectives.base import Objective
from gumdp.objectives.compose import normalized
from gumdp.objectives.entropy import Entropy, StateEntropy
from gumdp.objectives.function import Function
from gumdp.objectives.linear import Linear
from gumdp.objectives.risk import entropic
from gumdp.planners.baselines import Greedy, Markov, Random, Stationary
from gumdp.planners.mcts import MCTS
from gumdp.problem import Problem
from gumdp.results import Decision, Evaluation, Trial

__version__ = "0.1.0"

__all__ = [
    "MCTS",
    "Decision",
    "Entropy",
    "Evaluation",
    "Function",
    "Greedy",
    "GumdpError",
    "Linear",
    "Markov",
    "Objective",
    "Problem",
    "Random",
    "Simulator",
    "StateEntropy",
    "Stationary",
    "Tabular",
    "Trial",
    "entropic",
    "evaluate",
    "normalized",
    "run_trial",
    "zoo",
]
