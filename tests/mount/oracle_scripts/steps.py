"""The training of a script that is under test: each step takes its time, and the samples it had
are noted.

Once HOLD samples of an epoch were had, training is slow until a line comes on stdin, so that
there is time to look at the mount while most of the epoch lies ahead; and at the end of an epoch
it waits for a line. Both are told on stdout, as a line of JSON each:

    {"epoch": 0, "ended": false, "order": [the samples so far, as the sampler gave them]}
"""

import json
import os
import select
import sys
import time

HOLD = 64  # samples
SLOW = 33  # samples a second: the tests' patience ends before half of an epoch

# Stdout is the test's: what else is printed goes to stderr.
TEST = os.fdopen(os.dup(sys.stdout.fileno()), "w")
os.dup2(sys.stderr.fileno(), sys.stdout.fileno())


class Steps:
    def __init__(self, samples, rate):
        """Of about so many samples in an epoch, and so many in a second."""
        self.samples, self.rate = samples, rate

    def begin(self, epoch):
        self.epoch, self.order = epoch, []
        self.held = self.slow = False
        self.began = time.monotonic()

    def step(self, samples):
        """A batch was trained on."""
        self.order += [int(sample) for sample in samples]
        if not self.held and len(self.order) >= HOLD:
            self.say(False)
            self.held = self.slow = True
        if self.slow:
            at_half = len(self.order) > self.samples // 2
            self.slow = not self.is_told(None if at_half else len(samples) / SLOW)
            self.began = time.monotonic() - len(self.order) / self.rate
        time.sleep(max(0, self.began + len(self.order) / self.rate - time.monotonic()))

    def end(self):
        self.say(True)
        self.is_told(None)

    def say(self, ended):
        order = {"epoch": self.epoch, "ended": ended, "order": self.order}
        print(json.dumps(order), file=TEST, flush=True)

    @staticmethod
    def is_told(seconds):
        if not select.select([sys.stdin.buffer.raw], [], [], seconds)[0]:
            return False
        if not sys.stdin.buffer.raw.readline():
            sys.exit("the test is gone")
        return True
