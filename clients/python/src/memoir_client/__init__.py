"""Client of Memoir, the long-term memory of LLM agents.

`AgentMemory` is what an agent's runtime needs, `AsyncAgentMemory` the same for asyncio, and
`Administrator` manages the agents of an account without seeing their words.
"""

from .administrator import Administrator
from .agent import AgentMemory, NewMemory
from .aio import AsyncAgentMemory
from .errors import ConnectionFailed, MemoirError, Problem
from .live import LiveEvent, Watch
from .models import (
    AccessRequest,
    Actor,
    Agent,
    Checkpoint,
    Context,
    Due,
    ErasedAgent,
    HandedOver,
    LiveRecord,
    LiveSession,
    MadeToken,
    Memory,
    Message,
    Misfit,
    Obstacle,
    OpenSession,
    Record,
    Reflection,
    RehearsedChange,
    Rewound,
    SavedMemory,
    Session,
    Setting,
    SettingVersion,
    Stats,
    Tool,
    Transcripts,
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
    "HandedOver",
    "LiveEvent",
    "LiveRecord",
    "LiveSession",
    "MadeToken",
    "MemoirError",
    "Memory",
    "Message",
    "Misfit",
    "NewMemory",
    "Obstacle",
    "OpenSession",
    "Outcome",
    "Problem",
    "Record",
    "Reflection",
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
    "Transcripts",
    "Turn",
    "Usage",
    "Verified",
    "Watch",
]
