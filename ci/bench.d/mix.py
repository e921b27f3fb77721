"""The calls of an assistant's session, which memory is measured after."""

INFO = ("tools/call", {"name": "system.get_basic_info", "arguments": {}})

# A typical session of an assistant, with valid and invalid calls; a health snapshot samples for 250 ms, so it is rare.
OUR_MIX = [
    INFO,
    ("tools/call", {"name": "system.get_clock", "arguments": {}}),
    ("tools/list", {}),
    ("tools/call", {"name": "system.get_capabilities", "arguments": {}}),
    ("system.get_basic_info", {}),
    ("tools/call", {"name": "system.get_basic_info", "arguments": {"no_such_argument": 1}}),
    ("tools/call", {"name": "no.such_tool", "arguments": {}}),
    ("tools/call", {"name": "manage.get_server_status", "arguments": {}}),
    ("tools/call", {"name": "logs.get_recent_app_logs", "arguments": {"limit": 5}}),
    ("tools/call", {"name": "tools.search", "arguments": {"query": "health"}}),
]
