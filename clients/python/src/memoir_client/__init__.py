"""Client of Memoir, the long-term memory of LLM agents.

`AgentMemory` is what an agent's runtime needs, `AsyncAgentMemory` the same for asyncio, and
`Administrator` manages the agents of an account without seeing their words.
"""

from .administrator import Administrator
from .agent import AgentMemory, NewMemory
from .aio import AsyncAgentMemory
from .errors import ConnectionFailed, MemoirError, Problem
from .models import (
    AccessRequest,
    Actor,
    Agent,
    Checkpoint,
    Context,
    Due,
    ErasedAgent,
    MadeToken,
    Memory,
    Misfit,
    Obstacle,
    OpenSession,
    Record,
    RehearsedChange,
    Rewound,
    SavedMemory,
    Session,
    Setting,
    SettingVersion,
    Stats,
    Tool,
    Usage,
    Verified,
)
from .refine import Outcome, Reply, ToolCall, Turn

__all__ = [
    "AccessRequest",
    "Actor",
    "Administrator",
    "Agent",
    "AgentMemory",
    "AsyncAgentMemory",
    "Checkpoint",
    "ConnectionFailed",
    "Context",
    "Due",
    "ErasedAgent",
    "MadeToken",
    "MemoirError",
    "Memory",
    "Misfit",
    "NewMemory",
    "Obstacle",
    "OpenSession",
    "Outcome",
    "Problem",
    "Record",
    "RehearsedChange",
    "Reply",
    "Rewound",
    "SavedMemory",
    "Session",
    "Setting",
    "SettingVersion",
    "Stats",
    "Tool",
    "ToolCall",
    "Turn",
    "Usage",
    "Verified",
]
