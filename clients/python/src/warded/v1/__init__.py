"""The messages and stubs of warded.v1, generated from proto/warded/v1/*.proto."""

# ruff: noqa: F403  # all that the schema has
from warded.v1.audit_wd import *
from warded.v1.health_wd import *
from warded.v1.observation_wd import *
from warded.v1.options_wd import *
from warded.v1.reset_wd import *
from warded.v1.rpc_wd import *
from warded.v1.step_wd import *
from warded.v1.token_wd import *
