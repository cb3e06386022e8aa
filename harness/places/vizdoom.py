"""ViZDoom's defend-the-center with the paper's rewards: an arena, monsters that come closer, 26 bullets (Figure 3).

The paper's network begins with three convolutions. Ours are fully connected, so an observation is a small vector: the
part of the grey frame where monsters are seen, as means of blocks. One step is four tics.
"""

import os
import sys
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgtd.harness.places.world import Observations, OneByOne, WorldInfo

ROWS, BLOCK = slice(40, 80), 4  # of a frame of 120 × 160: above is the ceiling, below the gun
SEEN = (80 - 40) // BLOCK * (160 // BLOCK)
GREY, CONTRAST = 90.0, 25.0  # of walls and floor, and of what moves before them: inputs are about 0 ± 1
SKIP = 4  # tics per step
LIMIT = 2100 // SKIP  # steps: the scenario's own limit
LOSS = 0.1  # for a step that loses ammunition, and for one that loses health
BUTTONS = ((0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0))  # nothing, attack, right, left: as gymnasium has them
# The engine is a process that outlives a parent which was killed, and waits for ever: Linux can end it as well. The
# launcher also writes down the id under which engine and parent share 10 MB of memory.
LAUNCHER = """#!{python} -IS
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL
with open("id", "w") as file:
    file.write(sys.argv[sys.argv.index("+viz_instance_id") + 1])
os.execv({engine!r}, [{engine!r}, *sys.argv[1:]])
"""
SHARED = Path("/dev/shm")


class DefendTheCenter(OneByOne):
    """One game per lane; a game does the same again after the same seed and actions, whatever was played before.

    The engine has no picture of an ended episode. So its own time limit is off and ours cuts episodes: a learner
    bootstraps from the true last frame. Where the player died the observation is 0, and the discount too.
    """

    actions = len(BUTTONS)

    def __init__(self, streams: NDArray[np.uint64], limit: int = LIMIT) -> None:
        self.limit = limit
        self.games = [new_game() for _ in streams]
        self._owned = np.zeros((len(streams), 2))
        super().__init__(streams)

    def reset(self, lane: int, seed: int) -> Observations:
        game = self.games[lane]
        game.set_seed(seed)
        game.new_episode()
        self._owned[lane] = owned(game)
        return seen(game)

    def move(self, lane: int, action: int) -> tuple[Observations, float, bool, bool]:
        game = self.games[lane]
        reward = game.make_action(list(BUTTONS[action]), SKIP)  # +1 per kill, −1 for death
        left = owned(game)
        reward -= LOSS * np.count_nonzero(left < self._owned[lane])
        self._owned[lane] = left
        died = game.is_episode_finished()  # without a time limit, only death ends an episode
        return np.zeros(SEEN, np.float32) if died else seen(game), reward, died, len(self._taken[lane]) >= self.limit


def new_game(colour: bool = False) -> Any:
    """A game without window and sound, that leaves nothing in the working folder."""
    import vizdoom

    game = vizdoom.DoomGame()
    game.load_config(os.path.join(vizdoom.scenarios_path, "defend_the_center.cfg"))
    game.set_doom_game_path(os.path.join(vizdoom.root_path, "freedoom2.wad"))  # not one of the working folder's
    game.set_doom_config_path(os.devnull)
    game.set_window_visible(False)
    game.set_sound_enabled(False)
    game.set_screen_format(vizdoom.ScreenFormat.RGB24 if colour else vizdoom.ScreenFormat.GRAY8)
    sizes = vizdoom.ScreenResolution
    game.set_screen_resolution(sizes.RES_640X480 if colour else sizes.RES_160X120)
    game.set_episode_timeout(0)
    with TemporaryDirectory() as folder, chdir(folder):  # the engine writes to where it is started
        _start(game, vizdoom.exe_path, Path(folder))
    return game


def _start(game: Any, engine: str, folder: Path) -> None:
    """Begin, so that nothing stays behind however this process ends."""
    if sys.platform != "linux":
        game.init()
        return
    launcher = folder / "engine"
    launcher.write_text(LAUNCHER.format(python=sys.executable, engine=engine))
    launcher.chmod(0o700)
    game.set_vizdoom_path(str(launcher))
    game.init()
    for each in SHARED.glob(f"ViZDoom*{(folder / 'id').read_text()}"):
        each.unlink()  # both have it open: without a name it is free once both have ended


def seen(game: Any) -> Observations:
    """[SEEN]: the rows about the horizon, in blocks."""
    rows = game.get_state().screen_buffer[ROWS]
    blocks = rows.reshape(rows.shape[0] // BLOCK, BLOCK, -1, BLOCK).mean((1, 3))
    return ((blocks.reshape(-1) - GREY) / CONTRAST).astype(np.float32)


def owned(game: Any) -> NDArray[np.float64]:
    """[2]: ammunition and health."""
    from vizdoom import GameVariable

    return np.array([game.get_game_variable(GameVariable.AMMO2), game.get_game_variable(GameVariable.HEALTH)])


def frame() -> Any:
    """What a player sees, after a second."""
    game = new_game(colour=True)
    game.set_seed(0)
    game.new_episode()
    game.make_action([0, 0, 0], 35)
    return game.get_state().screen_buffer


def world() -> WorldInfo:
    """For `dgtd.worlds`; returns are the paper's."""
    return WorldInfo(
        "vizdoom-defend-the-center",
        f"ViZDoom: +1 per kill, −1 for death, −{LOSS:g} for losing ammunition or health; extra vizdoom",
        SEEN, len(BUTTONS), LIMIT, DefendTheCenter, extra="vizdoom", frame=frame, returns=(-10.0, 20.0),
    )  # fmt: skip
