"""One world, gone on with in many directions."""

import pickle
from copy import copy

from fuzz.model import Model
from fuzz.rules.world import World

__all__ = ["Fork"]


class Fork:
    """A world held still; `branch` gives the same world again and again, each independent of the others."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._model = _pickled(world.model.realm)
        known = {name: value for name, value in vars(world.history).items() if name != "initial_state"}
        self._history = _pickled(known)

    def branch(self) -> World:
        """A world of its own that stands where the fork was made. Counters are shared."""
        branch = copy(self.world)
        branch.model = Model()
        branch.model.realm = pickle.loads(self._model)
        branch.history = copy(self.world.history)
        vars(branch.history).update(pickle.loads(self._history))
        branch.driver = self.world.driver.twin()
        branch.checker = self.world.checker.twin(branch.history, branch.driver)
        return branch

    def is_untouched(self) -> bool:
        """Whether the model still stands where the fork was made."""
        return _pickled(self.world.model.realm) == self._model


def _pickled(value: object) -> bytes:
    return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
