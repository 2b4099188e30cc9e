"""One PostgreSQL and one MariaDB for all tests of this folder, started when the first test asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import servers


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[servers.Server]:
    if reason := servers.missing_server("postgres"):
        pytest.skip(reason)
    with servers.postgres() as server:
        yield server


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[servers.Server]:
    if reason := servers.missing_server("mariadb"):
        pytest.skip(reason)
    with servers.mariadb(binlog=True) as server:
        yield server
