"""Every error of rowhop, sorted by who can do something about it.

    RowhopError
    ├── UserError                 the person asking can mend it
    │   ├── ConfigError             a setting, an option, a file of settings
    │   ├── SourceError             a table, database or graph that cannot be read as given
    │   ├── ModelError              a model that does not exist or refuses the request
    │   └── MissingExtra            an optional package is not installed
    ├── OperatorError             the machine or a service must be mended
    │   ├── ModelUnavailable        endpoint down, weights not to be had
    │   ├── SourceUnavailable       database or endpoint down, locked, too slow
    │   └── SandboxUnavailable      programs cannot be run safely here
    ├── ReplyError                the model: its message is the text that is sent back to it
    └── RunEnded                  the run stops with the best answer so far
        └── BudgetSpent             a limit on calls, tokens, seconds or money is reached

Wording: what was tried, with what, what to do. A secret (password, key) never stands in a message.

    try:
        answer = rowhop.ask("How many orders in May?", ["orders.csv"])
    except rowhop.RowhopError as error:
        print(error)
"""

from __future__ import annotations


class RowhopError(Exception):
    """Root of all errors that rowhop raises on purpose."""


class UserError(RowhopError):
    """The person asking can mend this: a path, a name, an option."""


class ConfigError(UserError):
    """A setting is missing, unknown or contradicts another."""


class SourceError(UserError):
    """A source cannot be read as given, or does not hold what was asked of it."""


class ModelError(UserError):
    """The model is unknown, or the endpoint refused the request (wrong key, wrong name)."""


class MissingExtra(UserError):
    """An optional package is needed; the message names the command that installs it."""


class OperatorError(RowhopError):
    """The machine or a service has to be mended; the question itself is fine."""


class ModelUnavailable(OperatorError):
    """The model could not be reached or loaded."""


class SourceUnavailable(OperatorError):
    """The database or endpoint is down, locked or too slow."""


class SandboxUnavailable(OperatorError):
    """Programs cannot be run safely on this machine; never shown to a model as a program's fault."""


class ReplyError(RowhopError):
    """A model's reply cannot be used; the message is written to the model and sent back to it."""


class RunEnded(RowhopError):
    """The run is over; what was found so far becomes the answer."""


class BudgetSpent(RunEnded):
    """A limit on calls, tokens, seconds or money is reached."""
