"""rowhop answers questions in plain language from tables, databases and graphs.

Every answer is the result of a program that ran, or of a path that was walked, over your data.
Importing this package reads nothing, prints nothing and imports no pandas.
"""

from __future__ import annotations

__version__ = "0.1.0"
