"""What OpenAI's client for Python makes of one conversation, as JSON: `python say.py URL`, the request on stdin."""

import json
import sys

import openai

client = openai.OpenAI(base_url=f"{sys.argv[1]}/v1", api_key="none", max_retries=0)
request = json.load(sys.stdin)
whole = client.chat.completions.create(**request)
chunks = list(client.chat.completions.create(**request, stream=True, stream_options={"include_usage": True}))
said = {
    "whole": whole.choices[0].message.content,
    "streamed": [chunk.choices[0].delta.content for chunk in chunks[:-1]],
    "finish_reason": whole.choices[0].finish_reason,
    "usage": whole.usage.model_dump(include={"prompt_tokens", "completion_tokens", "total_tokens"}),
    "usage_streamed": chunks[-1].usage.model_dump(include={"prompt_tokens", "completion_tokens", "total_tokens"}),
}
sys.stdout.write(json.dumps(said))
