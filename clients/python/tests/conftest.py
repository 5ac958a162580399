from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from memoir_client import Administrator, AgentMemory
from memoir_service import Service

NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    with Service() as running:
        yield running


@pytest.fixture
def administrator(service: Service) -> Iterator[Administrator]:
    with Administrator(service.url, service.admin) as client:
        yield client


@pytest.fixture
def memory(service: Service, administrator: Administrator) -> Iterator[AgentMemory]:
    """The memory of a new agent.

    Its loss guard is off: the scripted sessions of these tests are not to be bound by its limits.
    """
    name = f"wren-{next(NUMBERS)}"
    administrator.create_agent(name, model="builtin:careful", loss_guard="off")
    token = administrator.create_token(name).token
    with AgentMemory(service.url, name, token) as client:
        yield client
