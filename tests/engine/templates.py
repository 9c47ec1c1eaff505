"""Small chat templates of each kind that models have."""

from chatcli.engine.builtin import BUILTIN

CHATML = BUILTIN["chatml"]

DATED = """\
{{ bos_token }}
{%- if not date_string is defined %}
{% set date_string = strftime_now('%d %b %Y') %}
{% endif %}
{{ '<|system|>Today: ' + date_string + '\\n' }}
{%- if messages[0].role == 'system' %}
{{ messages[0].content }}
{%- set messages = messages[1:] %}
{% endif %}
{{ '<|end|>' }}
{%- for m in messages %}
{{ '<|' + m.role + '|>' + (m.content | trim) + '<|end|>' }}
{%- endfor %}
{% if add_generation_prompt %}
{{ '<|assistant|>' }}
{%- endif %}
"""

STRICT = """\
{{ bos_token }}
{%- for m in messages %}
{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}
{{ raise_exception('roles must alternate user/assistant/user/assistant/...') }}
{% endif %}
{% if m.role == 'user' %}
{{ '[INST] ' + m.content + ' [/INST]' }}
{%- else %}
{{ ' ' + m.content + eos_token }}
{%- endif %}
{% endfor %}
"""

STRIPPING = """\
{% for m in messages %}
{{ '<|im_start|>' + m.role + '\\n' }}
{%- set content = m.content %}
{% if m.role == 'assistant' and '</think>' in content %}
{% set content = content.split('</think>')[-1].lstrip('\\n') %}
{% endif %}
{{ content + '<|im_end|>\\n' }}
{%- endfor %}
{% if add_generation_prompt %}
{{ '<|im_start|>assistant\\n' }}
{%- if enable_thinking is defined and enable_thinking is false %}
{{ '<think>\\n\\n</think>\\n\\n' }}
{%- endif %}
{% endif %}
"""

THINKING = """\
{% for m in messages %}
{{ '<|im_start|>' + m.role + '\\n' }}
{%- if m.role == 'assistant' %}
{{ '<think>\\n' + (m.reasoning_content or '') + '\\n</think>\\n\\n' }}
{%- endif %}
{{ m.content + '<|im_end|>\\n' }}
{%- endfor %}
{% if add_generation_prompt %}
{{ '<|im_start|>assistant\\n<think>\\n' }}
{%- endif %}
"""

LATE_THINKING = """\
{% set ns = namespace(last=-1) %}
{% for m in messages %}
{% if m.role == 'user' %}
{% set ns.last = loop.index0 %}
{% endif %}
{% endfor %}
{% for m in messages %}
{{ '<|im_start|>' + m.role + '\\n' }}
{%- if m.role == 'assistant' and loop.index0 > ns.last and m.reasoning_content %}
{{ '<think>\\n' + m.reasoning_content.strip('\\n') + '\\n</think>\\n\\n' }}
{%- endif %}
{{ m.content + '<|im_end|>\\n' }}
{%- endfor %}
{% if add_generation_prompt %}
{{ '<|im_start|>assistant\\n' }}
{%- endif %}
"""

DEEPSEEK = """\
{{ bos_token }}
{%- for m in messages %}
{% if m.role == 'system' %}
{{ m.content }}
{%- elif m.role == 'user' %}
{{ '<|User|>' + m.content }}
{%- else %}
{% set content = m.content.split('</think>')[-1] %}
{{ '<|Assistant|>' + content + '<|end|>' }}
{%- endif %}
{% endfor %}
{% if add_generation_prompt %}
{{ '<|Assistant|><think>\\n' }}
{%- endif %}
"""

HARMONY = """\
{% for m in messages %}
{% if m.role == 'assistant' %}
{{ '<|start|>assistant<|channel|>final<|message|>' + m.content + '<|end|>' }}
{%- else %}
{{ '<|start|>' + m.role + '<|message|>' + m.content + '<|end|>' }}
{%- endif %}
{% endfor %}
{% if add_generation_prompt %}
{{ '<|start|>assistant' }}
{%- endif %}
"""

CURIOUS = """\
{% for m in messages %}
{{ '<|' + m.role + '|>' }}
{%- if m.role == 'user' and m.content.startswith('/') %}
{{ '(command ' + (m.content | length | string) + ')' }}
{%- endif %}
{{ m.content + '<|end|>' }}
{%- endfor %}
{% if add_generation_prompt %}
{{ '<|assistant|>' }}
{%- endif %}
"""

CONTROLS = (
    "<s>",
    "</s>",
    "<|im_start|>",
    "<|im_end|>",
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "<|User|>",
    "<|Assistant|>",
    "<|end|>",
    "<think>",
    "</think>",
    "<|start|>",
    "<|channel|>",
    "<|message|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<start_of_turn>",
    "<end_of_turn>",
)
