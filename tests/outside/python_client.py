"""Lists and calls the tools with the Python SDK's client, in both protocol eras.

Arguments: a JSON object with `command`, `arguments` and `environment`. Prints one
line an era. Any warning, from Python or from the SDK's log, is a failure.
"""

import asyncio
import json
import logging
import sys
import warnings

from mcp import StdioServerParameters
from mcp.client import Client

ERAS = {"legacy": "2025-11-25", "auto": "2026-07-28"}
CALLS = {
    "search": ("how long are backups kept", "operations.md"),
    "deep_search": ("when do spring tides come", "tides.md"),
    "deep_research": ("when do spring tides come", "tides.md"),
}


class Complaints(logging.Handler):
    """Keeps what the SDK has to say at the level of a warning and above."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.lines = []

    def emit(self, record):
        self.lines.append(f"{record.name}: {record.getMessage()}")


def check(condition, message):
    if not condition:
        raise SystemExit(f"failed: {message}")


async def look_after(client):
    """The tools that tell of what the others did."""
    listed = await called(client, "list_research", {"query": "backups"})
    task = {"task_id": listed["tasks"][0]["task_id"]}
    told = await called(client, "check_research_status", task)
    check(told["status"] == "completed", f"the task is {told['status']}")
    results = await called(client, "get_research_results", task)
    check("35 days" in results["report"], f"the report is {results['report']}")
    saved = await called(client, "save_research_to_markdown", task)
    check(saved["file_path"].endswith(".md"), f"it was saved as {saved['file_path']}")
    estimate = await called(client, "estimate_research_cost", {"query": "why tides?"})
    check(estimate["query_complexity"] == "simple", f"the estimate is {estimate}")


async def called(client, name, arguments):
    result = await client.call_tool(name, arguments)
    text = "\n".join(block.text for block in result.content if block.type == "text")
    check(not result.is_error, f"{name}: {text}")
    return result.structured_content


async def visit(server, mode, version):
    async with Client(server, mode=mode) as client:
        check(
            client.protocol_version == version,
            f"mode {mode} gave {client.protocol_version}, not {version}",
        )
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        check(set(CALLS) <= set(tools), f"the tools are {sorted(tools)}")
        for name, (query, file) in CALLS.items():
            check(tools[name].output_schema, f"{name} has no output schema")
            told = []

            async def progress(done, total, message):
                told.append(done)

            # The client itself checks structured content against the schema.
            result = await client.call_tool(name, {"query": query}, progress_callback=progress)
            text = "\n".join(block.text for block in result.content if block.type == "text")
            check(not result.is_error, f"{name}: {text}")
            check(result.structured_content, f"{name}: no structured content")
            check(file in text, f"{name}: {file} is not in: {text}")
            check(told == sorted(set(told)), f"{name}: progress fell: {told}")
        await look_after(client)
    print(f"{mode}: {version}, {', '.join(sorted(tools))}")


def main():
    wanted = json.loads(sys.argv[1])
    server = StdioServerParameters(
        command=wanted["command"], args=wanted["arguments"], env=wanted["environment"]
    )
    complaints = Complaints()
    logging.getLogger().addHandler(complaints)
    # Only what is said while our server is spoken to counts.
    warnings.simplefilter("error")
    for mode, version in ERAS.items():
        asyncio.run(asyncio.wait_for(visit(server, mode, version), timeout=120))
    check(not complaints.lines, "the SDK complained: " + "; ".join(complaints.lines))


main()
