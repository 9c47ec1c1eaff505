"""Chat templates for models that come without one, by name: `--template NAME`.

The wording is the published prompt format of each family, written as Jinja.
"""

from chatcli.core.errors import UsageError
from chatcli.paths import expanded

_MAX_CHARACTERS = 1_000_000
"""The longest template known has 100,000; /dev/zero has no end."""

_CHATML = """\
{% for message in messages %}
{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{% if add_generation_prompt %}
{{ '<|im_start|>assistant\\n' }}
{%- endif %}
"""

_LLAMA2 = """\
{% set ns = namespace(system='') %}
{% for message in messages %}
{% if message.role == 'system' %}
{% set ns.system = '<<SYS>>\\n' + message.content + '\\n<</SYS>>\\n\\n' %}
{% elif message.role == 'assistant' %}
{{ ' ' + message.content + ' ' + eos_token }}
{%- else %}
{{ bos_token + '[INST] ' + ns.system + message.content + ' [/INST]' }}
{%- set ns.system = '' %}
{% endif %}
{% endfor %}
"""

_LLAMA3 = """\
{{ bos_token }}
{%- for message in messages %}
{{ '<|start_header_id|>' + message.role + '<|end_header_id|>\\n\\n' }}
{{- message.content + '<|eot_id|>' }}
{%- endfor %}
{% if add_generation_prompt %}
{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""

_GEMMA = """\
{{ bos_token }}
{%- for message in messages %}
{% if message.role == 'system' %}
{{ raise_exception('there is no system role') }}
{% endif %}
{{ '<start_of_turn>' + ('model' if message.role == 'assistant' else message.role) + '\\n' }}
{{- message.content + '<end_of_turn>\\n' }}
{%- endfor %}
{% if add_generation_prompt %}
{{ '<start_of_turn>model\\n' }}
{%- endif %}
"""

_MISTRAL = """\
{{ bos_token }}
{%- for message in messages %}
{% if message.role == 'system' %}
{{ raise_exception('there is no system role') }}
{% elif message.role == 'assistant' %}
{{ ' ' + message.content + eos_token }}
{%- else %}
{{ '[INST] ' + message.content + ' [/INST]' }}
{%- endif %}
{% endfor %}
"""

_ALPACA = """\
{% for message in messages %}
{% if message.role == 'system' %}
{{ message.content + '\\n\\n' }}
{%- elif message.role == 'assistant' %}
{{ '### Response:\\n' + message.content + eos_token + '\\n\\n' }}
{%- else %}
{{ '### Instruction:\\n' + message.content + '\\n\\n' }}
{%- endif %}
{% endfor %}
{% if add_generation_prompt %}
{{ '### Response:\\n' }}
{%- endif %}
"""

_VICUNA = """\
{% for message in messages %}
{% if message.role == 'system' %}
{{ message.content + '\\n\\n' }}
{%- elif message.role == 'assistant' %}
{{ 'ASSISTANT: ' + message.content + eos_token + '\\n' }}
{%- else %}
{{ 'USER: ' + message.content + '\\n' }}
{%- endif %}
{% endfor %}
{% if add_generation_prompt %}
{{ 'ASSISTANT:' }}
{%- endif %}
"""

_PLAIN = """\
{% for message in messages %}
{% if message.role == 'system' %}
{{ message.content + '\\n\\n' }}
{%- else %}
{{ ('Assistant: ' if message.role == 'assistant' else 'User: ') + message.content + '\\n\\n' }}
{%- endif %}
{% endfor %}
{% if add_generation_prompt %}
{{ 'Assistant:' }}
{%- endif %}
"""

BUILTIN = {
    "chatml": _CHATML,
    "llama2": _LLAMA2,
    "llama3": _LLAMA3,
    "gemma": _GEMMA,
    "mistral": _MISTRAL,
    "alpaca": _ALPACA,
    "vicuna": _VICUNA,
    "plain": _PLAIN,
}


def builtin_template(name: str) -> str:
    """Return the source of a built-in template, or of the Jinja file that `name` points to.

    Raises:
        UsageError: neither a known name nor a readable file.
    """
    if name in BUILTIN:
        return BUILTIN[name]
    try:
        with expanded(name).open(encoding="utf-8") as file:
            source = file.read(_MAX_CHARACTERS + 1)
    except (OSError, ValueError) as error:
        raise _unknown(name) from error
    if len(source) > _MAX_CHARACTERS:
        raise _unknown(name)
    return source


def _unknown(name: str) -> UsageError:
    known = ", ".join(BUILTIN)
    return UsageError(
        f"there is no chat template {name!r}", f"Use one of {known}, or the path of a Jinja file."
    )
