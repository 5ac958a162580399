"""Prints an exported log after a change, for the tests of the verifier.

    forge.py VERIFIER FILE CHANGE [rehash]

CHANGE is Python over the lines of the file: `lines`, and those of one kind. With `rehash` all that can be computed from
the file is computed anew, as one would who has the file and the database.
"""

import importlib.machinery
import importlib.util
import json
import sys

verifier, file, change, *mode = sys.argv[1:]
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("verify_log", verifier)
v = importlib.util.module_from_spec(importlib.util.spec_from_loader("verify_log", loader))
loader.exec_module(v)

with open(file, encoding="utf-8") as read:
    lines = [json.loads(line) for line in read]


def of(kind):
    return [line for line in lines if line["type"] == kind]


records, memories, own, others = of("record"), of("memory"), of("leaf"), of("leaves")
log, end = lines[0], lines[-1]


def doing(action, nth=0):
    """The nth record of an action."""
    return [record for record in records if record["action"] == action][nth]


def edit(record, change):
    """Changes the text of a record."""
    text = json.loads(record["text"])
    change(text)
    record["text"] = json.dumps(text, ensure_ascii=False)


def insert(after, record):
    """A copy of a record behind another one."""
    lines.insert(lines.index(after) + 1, json.loads(json.dumps(record)))


def rehash():
    scope = v.part(v.identifier(log["account"])) + v.part(v.identifier(log["agent"]))
    previous, heads = v.genesis(scope), {}
    for seq, record in enumerate(of("record"), 1):
        record["seq"] = seq
        if record["text_version"] == 1:
            record["text_commitment"] = v.sha256(v.sealed(record["text"].encode(), record["seal"])).hex()
        previous = v.record_hash(scope, previous, record)
        record["hash"] = heads[seq] = previous.hex()
    for leaf in of("leaf"):
        leaf["head"] = heads[leaf["seq"]]
    end.update(records=len(heads), head=previous.hex(), memories=len(of("memory")))


exec(change)
if mode:
    rehash()
for line in lines:
    print(line if isinstance(line, str) else json.dumps(line, ensure_ascii=False))
