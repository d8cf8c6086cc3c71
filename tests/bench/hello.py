"""The smallest FastMCP server there is, to compare with."""

from fastmcp import FastMCP

server = FastMCP("hello")


@server.tool
def hello(name: str) -> str:
    """Greets."""
    return f"hello, {name}"


server.run(show_banner=False, log_level="ERROR")
