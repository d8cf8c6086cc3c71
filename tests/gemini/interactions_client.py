"""Drives the stand-in of the Interactions API with Google's own SDK.

Argument: the base URL. Starts, polls, cancels and deletes interactions as a user of
the SDK would, and reads every answer through the SDK's own types, so that a field of
the wrong name or type is a failure.
"""

import sys

from google import genai
from google.genai import types

AGENT = "deep-research-preview-04-2026"
CONFIG = {
    "type": "deep-research",
    "thinking_summaries": "auto",
    "visualization": "off",
    "collaborative_planning": False,
}


def unknown(value, path="interaction"):
    """The places that the SDK's types do not know."""
    found = [path] if type(value).__name__.startswith("Unknown") else []
    extra = getattr(value, "model_extra", None) or {}
    found += [f"{path}.{name}" for name in extra if name != "object"]
    fields = getattr(type(value), "model_fields", {})
    for name in fields:
        item = getattr(value, name, None)
        if isinstance(item, list):
            for index, one in enumerate(item):
                found += unknown(one, f"{path}.{name}[{index}]")
        else:
            found += unknown(item, f"{path}.{name}")
    return found


def main(url):
    client = genai.Client(http_options=types.HttpOptions(base_url=url))
    api = client.interactions

    def create(text):
        return api.create(
            agent=AGENT, input=text, background=True, store=True, agent_config=CONFIG
        )

    # From start to report.
    started = create("history of TPUs stand-in:polls=3 stand-in:rounds=2")
    assert started.status == "in_progress", started
    assert started.agent == AGENT and started.id.startswith("v1_"), started
    seen = []
    for _ in range(4):
        interaction = api.get(started.id)
        assert not unknown(interaction), unknown(interaction)
        assert interaction.id == started.id
        seen.append(len(interaction.steps or []))
    assert seen == sorted(seen) and seen[0] < seen[-1], seen
    assert interaction.status == "completed", interaction
    kinds = [step.type for step in interaction.steps]
    assert kinds[:5] == [
        "thought",
        "google_search_call",
        "google_search_result",
        "url_context_call",
        "url_context_result",
    ], kinds
    assert kinds[-1] == "model_output", kinds
    assert interaction.steps[0].summary[0].text.startswith("**Looking into part 1**")
    assert interaction.steps[1].arguments.queries[0].endswith(" 1")
    assert interaction.steps[4].result[0].status == "success"
    content = interaction.steps[-1].content[0]
    assert interaction.output_text == content.text and content.text.startswith("# history")
    text = content.text.encode()
    for annotation in content.annotations:
        words = text[annotation.start_index : annotation.end_index].decode()
        assert words.startswith("Finding ") and words.endswith(" well supported"), words
        assert annotation.type == "url_citation" and annotation.title, annotation
        assert annotation.url.startswith("https://vertexaisearch.cloud.google.com/")
    usage = interaction.usage
    assert usage.total_input_tokens == 250000 and usage.total_thought_tokens == 10000, usage
    assert usage.grounding_tool_count[0].count == 4, usage
    api.delete(started.id)
    refused(lambda: api.get(started.id), 404)

    # Cancelled on the way.
    started = create("another stand-in:never")
    assert api.cancel(started.id).status == "cancelled"
    assert api.get(started.id).status == "cancelled"

    # Failed by itself.
    started = create("a third stand-in:polls=0 stand-in:failed")
    failed = api.get(started.id)
    assert not unknown(failed), unknown(failed)
    assert failed.status == "failed", failed
    assert (failed.errors[0].code, failed.errors[0].message) == ("internal_error", "It broke.")
    print("ok")


def refused(call, status):
    try:
        call()
    except Exception as error:  # The SDK's errors have no base of their own.
        code = getattr(error, "code", None) or getattr(error, "status_code", None)
        assert code == status, (type(error), error)
    else:
        raise AssertionError("it was not refused")


main(sys.argv[1])
