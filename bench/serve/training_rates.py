#!/usr/bin/env python3
"""Writes training_rates.csv: made-up request rates of the kinds found in public traces.

The surges of the Twitter day and both Azure LLM traces are spent on mixes.yaml, on which nothing is
tuned. These have their kinds, none of their values:
  surges  a level of 50 that wanders by 15 %, Poisson noise; every 25 to 50 minutes a surge of 2 to 5
          times the level: up within 5 to 20 s, stays for 2 to 4 minutes, dies out over 100 s
  swings  Poisson noise about a level of 5.5 that swings between 3.5 and 8 over 20 to 40 minutes
  bursts  nothing or next to it for 20 to 300 s, then 3 to 14 a second for 10 to 200 s
Usage: training_rates.py > training_rates.csv
"""
import math
import random

LENGTH_S = 9000


def poisson(dice, mean):
    if mean > 30:
        return max(0, round(dice.gauss(mean, math.sqrt(mean))))
    limit, product, count = math.exp(-mean), dice.random(), 0
    while product > limit:
        product *= dice.random()
        count += 1
    return count


def surges(dice):
    level, begin, height, stay, rise = 50.0, 900, 3.0, 180, 10
    values = []
    for t in range(LENGTH_S):
        level += 0.002 * (50 - level) + dice.gauss(0, 0.35)
        since = t - begin
        factor = 1.0
        if since >= 0:
            up = min(1.0, since / rise)
            factor += (height - 1) * up * math.exp(-max(0, since - stay) / 100)
        if since > stay + 600:
            begin = t + dice.randint(700, 2000)
            height, stay, rise = dice.uniform(2, 5), dice.randint(120, 240), dice.randint(5, 20)
        values.append(poisson(dice, level * factor))
    return values


def swings(dice):
    values, phase, length = [], 0.0, 1800.0
    for t in range(LENGTH_S):
        phase += 2 * math.pi / length
        if t % 600 == 0:
            length = dice.uniform(1200, 2400)
        values.append(poisson(dice, 5.75 - 2.25 * math.cos(phase)))
    return values


def bursts(dice):
    values, until, mean = [], 0, 0.0
    for t in range(LENGTH_S):
        if t >= until:
            if mean < 1:
                mean, until = dice.uniform(3, 14), t + round(10 * 20 ** dice.random())
            else:
                mean, until = dice.choice([0.0, 0.02, 0.3]), t + round(20 * 15 ** dice.random())
        values.append(poisson(dice, mean * dice.choice([0.6, 1, 1, 1.6])))
    return values


def main():
    columns = [surges(random.Random(61)), swings(random.Random(62)), bursts(random.Random(63))]
    print("t_s,surges,swings,bursts")
    for t in range(LENGTH_S):
        print(",".join(str(value) for value in [t] + [column[t] for column in columns]))


main()
