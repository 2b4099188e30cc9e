"""Where the real weights lie that tests marked `model` use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def weights_folder() -> Path:
    return Path(os.environ["ROWHOP_CACHE"]) / "models"
