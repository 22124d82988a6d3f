# SPDX-License-Identifier: Apache-2.0
"""One module per surface that a stranger can reach; each registers its cases when it is imported."""

import importlib
import pkgutil


def load_all():
    for module in sorted(found.name for found in pkgutil.iter_modules(__path__)):
        importlib.import_module(f"{__name__}.{module}")
