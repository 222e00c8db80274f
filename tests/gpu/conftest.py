from datasets.conftest import played

__all__ = ["played"]
