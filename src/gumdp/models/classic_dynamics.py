"""Compiled twins of Gymnasium's classic control environments, step for step the same arithmetic.

Each record answers ``reset``, ``step`` and ``ended``; its fields are the parameters of the environment.
Where Gymnasium keeps 64-bit floats, so does the twin; where it rounds to 32 bits, so does the twin.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from gumdp.jit.record import part, record, u64
from gumdp.models.compiled import four

START = -0.6, -0.4  # where MountainCar starts
ROUNDED = 1e-14  # more than rounding can do to numbers of this size


@part
def between(low_end, high_end, u):
    """The number at the share ``u`` of the way: how NumPy's generators draw a uniform number."""
    return low_end + (high_end - low_end) * u


@part
def clip(x, low_end, high_end):
    """``x``, or the end that it is beyond."""
    return min(max(x, low_end), high_end)


@record
class MountainCar:
    """The state is (position, velocity); three actions: push left, coast, push right."""

    force: float
    gravity: float
    min_position: float
    max_position: float
    max_speed: float
    goal_position: float
    goal_velocity: float

    def reset(self, bits):
        return between(-0.6, -0.4, four(bits)[0]), 0.0

    def step(self, s, a, bits):
        position, velocity = s
        velocity += (float(a) - 1.0) * self.force + math.cos(3.0 * position) * (-self.gravity)
        velocity = clip(velocity, -self.max_speed, self.max_speed)
        position = clip(position + velocity, self.min_position, self.max_position)
        if position == self.min_position and velocity < 0.0:
            velocity = 0.0
        return position, velocity

    def ended(self, s):
        return s[0] >= self.goal_position and s[1] >= self.goal_velocity


@record
class MountainCarBoxes:
    """Where a box of MountainCar's states can lead: the corners of a box that holds every image, rounding included."""

    car: MountainCar

    def image(self, low_end, high_end, a):
        car = self.car
        near, far = cosines(3.0 * low_end[0], 3.0 * high_end[0])
        push = (float(a) - 1.0) * car.force
        slow = clip(low_end[1] + push - car.gravity * far - ROUNDED, -car.max_speed, car.max_speed)
        fast = clip(high_end[1] + push - car.gravity * near + ROUNDED, -car.max_speed, car.max_speed)
        left = clip(low_end[0] + slow - ROUNDED, car.min_position, car.max_position)
        right = clip(high_end[0] + fast + ROUNDED, car.min_position, car.max_position)
        if left == car.min_position and slow < 0.0:  # some of it may be stopped by the wall, or all
            fast = max(fast, 0.0)
            slow = 0.0 if right == car.min_position else slow
        return (left, slow), (right, fast)


@part
def cosines(first, last):
    """The least and the largest cosine between two angles in (-2π, 2π), rounding included."""
    one, two = math.cos(first), math.cos(last)
    least, most = min(one, two), max(one, two)
    if first <= 0.0 <= last:
        most = 1.0
    if first <= -math.pi <= last or first <= math.pi <= last:
        least = -1.0
    return least - ROUNDED, most + ROUNDED


@record
class CartPole:
    """The state is (cart position, its velocity, pole angle, its velocity); two actions: push left, push right."""

    gravity: float
    masspole: float
    total_mass: float
    length: float
    polemass_length: float
    force_mag: float
    tau: float
    euler: bool
    x_threshold: float
    theta_threshold: float

    def reset(self, bits):
        u = four(bits)
        return (
            between(-0.05, 0.05, u[0]),
            between(-0.05, 0.05, u[1]),
            between(-0.05, 0.05, u[2]),
            between(-0.05, 0.05, u[3]),
        )

    def step(self, s, a, bits):
        x, x_dot, theta, theta_dot = s
        force = self.force_mag if a == u64(1) else -self.force_mag
        cosine, sine = math.cos(theta), math.sin(theta)
        temp = (force + self.polemass_length * (theta_dot * theta_dot) * sine) / self.total_mass
        theta_acc = (self.gravity * sine - cosine * temp) / (
            self.length * (4.0 / 3.0 - self.masspole * (cosine * cosine) / self.total_mass)
        )
        x_acc = temp - self.polemass_length * theta_acc * cosine / self.total_mass
        if self.euler:
            x = x + self.tau * x_dot
            theta = theta + self.tau * theta_dot
        x_dot = x_dot + self.tau * x_acc
        theta_dot = theta_dot + self.tau * theta_acc
        if not self.euler:
            x = x + self.tau * x_dot
            theta = theta + self.tau * theta_dot
        return x, x_dot, theta, theta_dot

    def ended(self, s):
        return abs(s[0]) > self.x_threshold or abs(s[2]) > self.theta_threshold


@record
class Pendulum:
    """The state is (angle, angular velocity), the angle not wrapped; an action is one of the ``pushes``."""

    pull: float  # 3g/2l
    pushes: Any  # float64 [A]: 3/(ml²) times the torque of each action
    dt: float
    max_speed: float

    def reset(self, bits):
        u = four(bits)
        return between(-math.pi, math.pi, u[0]), between(-1.0, 1.0, u[1])

    def step(self, s, a, bits):
        angle, speed = s
        speed = clip(speed + (self.pull * math.sin(angle) + self.pushes[a]) * self.dt, -self.max_speed, self.max_speed)
        return angle + speed * self.dt, speed

    def ended(self, s):
        return False


@record
class Upright:
    """The cell of a pendulum: its angle taken into [-π, π)."""

    where: Any

    def cell(self, s):
        return self.where.cell(((s[0] + math.pi) % (2.0 * math.pi) - math.pi, s[1]))


@record
class Acrobot:
    """The state is (first angle, second angle, their velocities), angles in [-π, π]; three torques: -1, 0, 1."""

    m1: float
    m2: float
    l1: float
    lc1: float
    lc2: float
    moi: float
    dt: float
    max_speed1: float
    max_speed2: float
    torques: Any  # float64 [3]
    noise: float
    book: bool  # the equations of Sutton and Barto's book, not those of the 1996 paper

    def reset(self, bits):
        u = four(bits)
        return (
            float(np.float32(between(-0.1, 0.1, u[0]))),
            float(np.float32(between(-0.1, 0.1, u[1]))),
            float(np.float32(between(-0.1, 0.1, u[2]))),
            float(np.float32(between(-0.1, 0.1, u[3]))),
        )

    def step(self, s, a, bits):
        torque = self.torques[a]
        if self.noise > 0.0:
            torque += between(-self.noise, self.noise, four(bits)[0])
        half = self.dt / 2.0
        k1 = slope(self, s, torque)
        k2 = slope(self, shifted(s, half, k1), torque)
        k3 = slope(self, shifted(s, half, k2), torque)
        k4 = slope(self, shifted(s, self.dt, k3), torque)
        sixth = self.dt / 6.0
        return (
            wrap(s[0] + sixth * (k1[0] + 2.0 * k2[0] + 2.0 * k3[0] + k4[0])),
            wrap(s[1] + sixth * (k1[1] + 2.0 * k2[1] + 2.0 * k3[1] + k4[1])),
            clip(s[2] + sixth * (k1[2] + 2.0 * k2[2] + 2.0 * k3[2] + k4[2]), -self.max_speed1, self.max_speed1),
            clip(s[3] + sixth * (k1[3] + 2.0 * k2[3] + 2.0 * k3[3] + k4[3]), -self.max_speed2, self.max_speed2),
        )

    def ended(self, s):
        return -math.cos(s[0]) - math.cos(s[1] + s[0]) > 1.0


@part
def wrap(x):
    """The angle ``x`` in [-π, π]."""
    while x > math.pi:
        x = x - (math.pi - -math.pi)
    while x < -math.pi:
        x = x + (math.pi - -math.pi)
    return x


@part
def shifted(s, dt, k):
    """The state ``s`` after moving ``dt`` at the rates ``k``."""
    return s[0] + dt * k[0], s[1] + dt * k[1], s[2] + dt * k[2], s[3] + dt * k[3]


@part
def slope(p, s, torque):
    """The rates of change of an acrobot with the parameters ``p``."""
    theta1, theta2, speed1, speed2 = s
    g = 9.8
    d1 = p.m1 * p.lc1**2 + p.m2 * (p.l1**2 + p.lc2**2 + 2 * p.l1 * p.lc2 * math.cos(theta2)) + p.moi + p.moi
    d2 = p.m2 * (p.lc2**2 + p.l1 * p.lc2 * math.cos(theta2)) + p.moi
    phi2 = p.m2 * p.lc2 * g * math.cos(theta1 + theta2 - math.pi / 2.0)
    phi1 = (
        -p.m2 * p.l1 * p.lc2 * speed2**2 * math.sin(theta2)
        - 2 * p.m2 * p.l1 * p.lc2 * speed2 * speed1 * math.sin(theta2)
        + (p.m1 * p.lc1 + p.m2 * p.l1) * g * math.cos(theta1 - math.pi / 2)
        + phi2
    )
    swing = p.m2 * p.l1 * p.lc2 * speed1**2 * math.sin(theta2) if p.book else 0.0
    acc2 = (torque + d2 / d1 * phi1 - swing - phi2) / (p.m2 * p.lc2**2 + p.moi - d2**2 / d1)
    acc1 = -(d2 * acc2 + phi1) / d1
    return speed1, speed2, acc1, acc2


def is_certain(dynamics: Any) -> bool:
    """Whether these are dynamics of this file in which nothing happens by chance."""
    return isinstance(dynamics, MountainCar | CartPole | Pendulum) or (
        isinstance(dynamics, Acrobot) and dynamics.noise == 0.0
    )


def boxes_of(dynamics: Any) -> tuple[Any, Any, Any] | None:
    """(the record that moves boxes of states, the lower and upper corner of all states), where there is one."""
    if not isinstance(dynamics, MountainCar) or dynamics.gravity < 0.0:
        return None
    low, high = (dynamics.min_position, -dynamics.max_speed), (dynamics.max_position, dynamics.max_speed)
    return (MountainCarBoxes(dynamics), low, high) if -2.0 < low[0] <= high[0] < 2.0 else None


def start_pieces(begin: Any, count: int) -> list[Any] | None:
    """Boxes that start states lie in, each as likely as the others; None where that is not known.

    ``count`` is a power of 2, so that all have exactly the same probability.
    """
    if not isinstance(begin, MountainCar):
        return None
    ends = [(START[0] + (START[1] - START[0]) * (k / count), 0.0) for k in range(count + 1)]
    return list(itertools.pairwise(ends))
